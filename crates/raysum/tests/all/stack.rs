//! Everything that a model can do, a stack of models can do too: files, updates, functions, weights,
//! known noise, checkpoints, and the same bits on any number of threads.

use crate::common::{normals, with};
use raysum::error::StackError;
use raysum::metrics::rmse;
use raysum::settings::EngineChoice;
use raysum::{Checkpoint, Config, Dataset, Effort, Error, Intervals, Matrix, Stack, StackFit};
use std::ops::ControlFlow;
use std::path::Path;

/// Rows of two columns whose target is a smooth function with noise.
fn rows(count: usize, seed: u64) -> (Matrix, Vec<f64>) {
    let mut normal = normals(seed, 1);
    let x = Matrix::from_fn(count, 2, |_, _| normal());
    let y = (0..count).map(|i| truth(x.row(i)) + 0.3 * normal()).collect();
    (x, y)
}

fn truth(x: &[f64]) -> f64 {
    (1.5 * x[0]).sin() + 0.5 * x[1]
}

fn auto(effort: Effort, data: &Dataset<'_>) -> Stack {
    StackFit::auto(effort).run(data).unwrap().remove(0)
}

fn quick(data: &Dataset<'_>) -> Stack {
    auto(Effort::Quick, data)
}

fn bytes(stack: &Stack) -> Vec<u8> {
    Stack::to_bytes([stack]).unwrap()
}

/// The largest difference between the means and standard deviations of two stacks.
fn difference(a: &Stack, b: &Stack, x: &Matrix) -> f64 {
    let (a, b) = (a.predict(x).unwrap(), b.predict(x).unwrap());
    let (of_a, of_b) = ([a.mean.clone(), a.std()].concat(), [b.mean.clone(), b.std()].concat());
    of_a.iter().zip(of_b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn shares_add_up_and_predictions_are_those_of_the_members() {
    let (x, y) = rows(80, 1);
    let stack = auto(Effort::Normal, &Dataset::new(&x, &y).unwrap());
    assert!(stack.members().len() > 1 && stack.single().is_none());
    let sum = |of: fn(&raysum::stack::Share) -> f64| -> f64 {
        stack.members().iter().map(|member| of(&member.share)).sum()
    };
    assert!((sum(|share| share.mean) - 1.0).abs() < 1e-9);
    assert!((sum(|share| share.spread) - 1.0).abs() < 1e-9);
    assert!(stack.members().is_sorted_by(|a, b| a.share.mean >= b.share.mean));
    let (new, _) = rows(30, 2);
    let p = stack.predict(&new).unwrap();
    let only_means = stack.predict_mean(&new).unwrap();
    assert!(p.mean.iter().zip(&only_means).all(|(a, b)| (a - b).abs() < 1e-9));
    // A slope is what a small step does.
    let step = 1e-5;
    let moved = Matrix::from_fn(30, 2, |i, j| new[(i, j)] + if j == 0 { step } else { 0.0 });
    let slopes = stack.mean_gradient(&new).unwrap();
    for (i, after) in stack.predict_mean(&moved).unwrap().iter().enumerate() {
        let expected = (after - only_means[i]) / step;
        assert!((slopes[(i, 0)] - expected).abs() < 2e-3, "{} {expected}", slopes[(i, 0)]);
    }
    assert!((stack.relevance().iter().sum::<f64>() - 1.0).abs() < 1e-9);
}

#[test]
fn quantiles_rise_and_lead_back() {
    let (x, y) = rows(80, 1);
    let data = Dataset::new(&x, &y).unwrap();
    let (new, _) = rows(20, 3);
    for intervals in [Intervals::Calibrated, Intervals::Gaussian] {
        let stack = StackFit::auto(Effort::Normal).intervals(intervals).run(&data).unwrap();
        assert_eq!(stack[0].calibration().is_some(), intervals == Intervals::Calibrated);
        let p = stack[0].predict(&new).unwrap();
        let levels = [1e-4, 0.01, 0.05, 0.3, 0.5, 0.7, 0.95, 0.99, 0.9999];
        let quantiles = levels.map(|level| p.quantile(level).unwrap());
        for (level, pair) in levels[1..].iter().zip(quantiles.windows(2)) {
            assert!(pair[0].iter().zip(&pair[1]).all(|(a, b)| a < b), "{intervals:?}, {level}");
        }
        for (level, values) in levels.iter().zip(&quantiles) {
            for found in p.cdf(values).unwrap() {
                assert!((found - level).abs() < 1e-6, "{intervals:?}: {found} and {level}");
            }
        }
        let (lower, upper) = p.interval(0.9).unwrap();
        assert_eq!((lower, upper), (p.quantile(0.05).unwrap(), p.quantile(0.95).unwrap()));
        assert!(p.quantile(0.0).is_err() && p.quantile(1.0).is_err());
    }
}

#[test]
fn a_stack_comes_back_from_its_file() {
    let (x, y) = rows(60, 4);
    // A skewed target, so that a transformed one is among the members.
    let y: Vec<f64> = y.iter().map(|y| y.exp()).collect();
    let mut stack = auto(Effort::Normal, &Dataset::new(&x, &y).unwrap());
    stack.set_column_names(&["a".into(), "b".into()]).unwrap();
    stack.set_target_name("y");
    assert!(stack.members().iter().any(|m| m.model.target_transformation().is_some()));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.raysum");
    stack.save(&path).unwrap();
    let back = Stack::load(&path).unwrap();
    assert_eq!(back.predict(&x).unwrap(), stack.predict(&x).unwrap());
    assert_eq!(back.calibration(), stack.calibration());
    let (found, expected) = (back.held_out().unwrap(), stack.held_out().unwrap());
    assert_eq!((found.scores, found.rows), (expected.scores, expected.rows));
    assert_eq!((found.constant, found.ridge), (expected.constant, expected.ridge));
    let names = |stack: &Stack| -> Vec<(String, raysum::stack::Share)> {
        stack.members().iter().map(|m| (m.name.clone(), m.share)).collect()
    };
    assert_eq!(names(&back), names(&stack));
    assert_eq!(back.first().target_name(), Some("y"));
    assert!(std::fs::read(&path).unwrap() == bytes(&back) && bytes(&back) == bytes(&stack));
    // It is no single model.
    let e = raysum::Model::load(&path).unwrap_err().to_string();
    let members = stack.members().len();
    assert!(e.ends_with(&format!("it holds a mixture of {members} models; read it as a stack")));
    let e = stack.require_single("statistics of shards").unwrap_err();
    assert!(matches!(e, Error::Stack(StackError::SeveralMembers { .. })), "{e}");
}

#[test]
fn copies_of_rows_are_one_row_of_more_weight() {
    let (x, y) = rows(50, 5);
    let thrice: Vec<usize> = (0..150).map(|i| i % 50).collect();
    let (copies, of_copies) = (x.gather(&thrice), thrice.iter().map(|i| y[*i]).collect::<Vec<_>>());
    let found = quick(&Dataset::new(&copies, &of_copies).unwrap());
    let weights = [3.0; 50];
    let weighted = quick(&Dataset::new(&x, &y).unwrap().weighted(&weights).unwrap());
    let (new, _) = rows(40, 6);
    let gap = difference(&found, &weighted, &new);
    assert!(gap < 1e-9, "{gap}");
    // Scores count every row once.
    let scores = |stack: &Stack| stack.held_out().unwrap().clone();
    assert_eq!((scores(&found).rows, scores(&weighted).rows), (50, 50));
    let gap = scores(&found).scores.rmse - scores(&weighted).scores.rmse;
    assert!(gap.abs() < 1e-9, "{gap}");
}

#[test]
fn threads_do_not_change_a_bit() {
    let (x, y) = rows(60, 7);
    let data = Dataset::new(&x, &y).unwrap();
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| bytes(&auto(Effort::Normal, &data)))
    };
    let one = on(1);
    assert!(one == on(2) && one == on(3));
}

/// A mixture with this seed, or one model.
fn start<'p>(config: Option<&Config>, seed: u64) -> StackFit<'_, 'p> {
    match config {
        Some(config) => StackFit::one("gam", config),
        None => StackFit::auto(Effort::Quick).seed(seed),
    }
}

/// Fits with a checkpoint, and ends the fit after a number of evaluations of its own.
fn in_pieces(
    config: Option<&Config>,
    seed: u64,
    data: &Dataset<'_>,
    path: &Path,
    most: usize,
) -> Option<Vec<u8>> {
    let mut checkpoint = Checkpoint::open(path).unwrap();
    let allowed = checkpoint.evaluations() + most;
    let mut seen = 0;
    let progress = &mut |_: &_| {
        seen += 1;
        if seen < allowed { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let fit = start(config, seed).progress(progress).checkpoint(&mut checkpoint);
    match fit.run(data) {
        Ok(stacks) => Some(Stack::to_bytes(&stacks).unwrap()),
        Err(Error::Cancelled { .. }) => None,
        Err(e) => panic!("{e}"),
    }
}

#[test]
fn a_fit_in_pieces_is_the_fit_in_one() {
    let (x, y) = rows(40, 8);
    let z: Vec<f64> = y.iter().map(|y| y * y).collect();
    let both = [y.as_slice(), z.as_slice()];
    let data = Dataset::with_targets(&x, &both).unwrap();
    let gam = Config::preset("gam").unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (name, config, seed) in
        [("auto", None, 0), ("another seed", None, 5), ("gam", Some(&gam), 0)]
    {
        let whole = Stack::to_bytes(&start(config, seed).run(&data).unwrap()).unwrap();
        let path = folder.path().join(name);
        let (mut pieces, mut last) = (0, None);
        // Ended after 1, 38, 75, … further evaluations.
        while last.is_none() {
            last = in_pieces(config, seed, &data, &path, 1 + 37 * pieces);
            pieces += 1;
        }
        assert!(pieces >= 3, "{name}: {pieces} pieces");
        assert!(last == Some(whole), "{name}: other bits after {pieces} pieces");
    }
}

#[test]
fn rows_come_and_go() {
    let (x, y) = rows(70, 9);
    let mut stack = auto(Effort::Normal, &Dataset::new(&x, &y).unwrap());
    let before = stack.clone();
    let (more, of_more) = rows(15, 10);
    let more_data = Dataset::new(&more, &of_more).unwrap();
    stack.update(&more_data).unwrap();
    assert_eq!((stack.rows(), before.rows()), (85, 70));
    let (new, _) = rows(30, 11);
    assert!(difference(&stack, &before, &new) > 1e-3);
    stack.remove(&more_data).unwrap();
    let gap = difference(&stack, &before, &new);
    assert!(gap < 1e-6, "{gap}");
    // What fails for one member changes none of them.
    let wrong = Matrix::zeros(3, 5);
    assert!(stack.update(&Dataset::new(&wrong, &[0.0, 1.0, 2.0]).unwrap()).is_err());
    assert_eq!(stack.rows(), 70);
}

#[test]
fn each_target_has_a_stack_of_its_own() {
    let (x, y) = rows(50, 12);
    let z: Vec<f64> = (0..50).map(|i| x[(i, 1)] - 2.0 * x[(i, 0)]).collect();
    let both = [y.as_slice(), z.as_slice()];
    let stacks = StackFit::auto(Effort::Quick);
    let stacks = stacks.run(&Dataset::with_targets(&x, &both).unwrap()).unwrap();
    assert_eq!(stacks.len(), 2);
    for (stack, target) in stacks.iter().zip(both) {
        assert!(bytes(stack) == bytes(&quick(&Dataset::new(&x, target).unwrap())));
    }
    let back = Stack::from_bytes(&Stack::to_bytes(&stacks).unwrap()).unwrap();
    assert_eq!(back[1].predict(&x).unwrap(), stacks[1].predict(&x).unwrap());
}

#[test]
fn known_noise_keeps_the_target_as_it_is() {
    let (x, y) = rows(60, 13);
    let y: Vec<f64> = y.iter().map(|y| y.exp()).collect();
    let noise: Vec<f64> = (0..60).map(|i| 0.1 + 0.4 * f64::from(i % 2)).collect();
    let data = Dataset::new(&x, &y).unwrap().with_noise_std(&noise).unwrap();
    let stack = auto(Effort::Normal, &data);
    assert!(stack.members().iter().all(|m| m.model.target_transformation().is_none()));
    let tried = &stack.held_out().unwrap().tried;
    assert!(tried.iter().all(|tried| !tried.name.contains("power")), "{tried:?}");
    let without = auto(Effort::Normal, &Dataset::new(&x, &y).unwrap());
    assert!(without.held_out().unwrap().tried.iter().any(|tried| tried.name.contains("power")));
    // A row of known noise has a wider interval.
    let [low, high] = [0.0, 1.0].map(|noise| {
        let p = stack.predict_with_noise(&x, &[noise; 60]).unwrap();
        let (lower, upper) = p.interval(0.9).unwrap();
        upper[0] - lower[0]
    });
    assert!(high > 1.2 * low, "{low} {high}");
}

#[test]
fn functions_scatter_around_the_mixture() {
    let (x, y) = rows(60, 14);
    // With known noise, though it is none, no member transforms the target.
    let data = Dataset::new(&x, &y).unwrap().with_noise_std(&[0.0; 60]).unwrap();
    let stack = auto(Effort::Normal, &data);
    assert!(stack.members().len() > 1);
    let (new, _) = rows(10, 15);
    let functions = stack.functions(400, 3).unwrap();
    let values = functions.evaluate(&new).unwrap();
    assert_eq!((values.rows(), values.columns()), (400, 10));
    let mut centre = [0.0; 10];
    for member in stack.members() {
        let own = member.model.predict_mean(&new).unwrap();
        centre.iter_mut().zip(own).for_each(|(c, own)| *c += member.share.spread * own);
    }
    let (_, covariance) = stack.joint(&new).unwrap();
    for (i, centre) in centre.iter().enumerate() {
        let mean = (0..400).map(|k| values[(k, i)]).sum::<f64>() / 400.0;
        let error = 5.0 * (covariance[(i, i)] / 400.0).sqrt() + 1e-3;
        assert!((mean - centre).abs() < error, "{mean} {centre} {error}");
    }
    // Function k does not depend on how many there are.
    let few = stack.functions(7, 3).unwrap().evaluate(&new).unwrap();
    assert!((0..7).all(|k| few.row(k) == values.row(k)));
}

#[test]
fn rows_of_more_weight_count_more() {
    let (x, _) = rows(120, 16);
    let mut normal = normals(17, 0);
    let weights: Vec<f64> = (0..120).map(|i| if i % 2 == 0 { 0.1 } else { 10.0 }).collect();
    let y: Vec<f64> =
        (0..120).map(|i| truth(x.row(i)) + 0.3 * normal() / weights[i].sqrt()).collect();
    let data = Dataset::new(&x, &y).unwrap();
    let (new, _) = rows(200, 18);
    let expected: Vec<f64> = (0..200).map(|i| truth(new.row(i))).collect();
    let error = |stack: &Stack| rmse(&expected, &stack.predict_mean(&new).unwrap());
    let weighted = error(&quick(&data.clone().weighted(&weights).unwrap()));
    let plain = error(&quick(&data));
    assert!(weighted < 0.8 * plain, "{weighted} {plain}");
}

#[test]
fn too_few_rows_are_a_sentence_or_no_calibration() {
    let (x, y) = rows(9, 19);
    let data = Dataset::new(&x, &y).unwrap();
    let e = StackFit::auto(Effort::Quick).run(&data).unwrap_err();
    assert!(matches!(e, Error::Stack(StackError::TooFewRows { rows: 9 })), "{e}");
    assert!(e.to_string().contains("at least 10 distinct rows, but there are 9"), "{e}");
    let config = with(Config::preset("gam").unwrap(), |c| c.engine = EngineChoice::Dense);
    let stack = StackFit::one("gam", &config).run(&data).unwrap().remove(0);
    assert!(stack.held_out().is_none() && stack.calibration().is_none());
    let alone = config.fit(&data).unwrap();
    assert_eq!(stack.predict(&x).unwrap(), alone.predict(&x).unwrap());
}

#[test]
fn one_model_is_calibrated_too() {
    let (x, y) = rows(100, 20);
    let data = Dataset::new(&x, &y).unwrap();
    let config = Config::preset("gam").unwrap();
    let stack = StackFit::one("gam", &config).run(&data).unwrap().remove(0);
    let (alone, model) = (config.fit(&data).unwrap(), stack.single().unwrap());
    // The model is the one that is fitted without held-out rows.
    assert_eq!(model.hyperparameters(), alone.hyperparameters());
    assert_eq!(stack.predict(&x).unwrap().mean, alone.predict(&x).unwrap().mean);
    assert_eq!(stack.held_out().unwrap().folds, 5);
    assert!(stack.calibration().is_some());
    let gaussian = StackFit::one("gam", &config).intervals(Intervals::Gaussian);
    let gaussian = gaussian.run(&data).unwrap().remove(0);
    assert_eq!(gaussian.predict(&x).unwrap(), alone.predict(&x).unwrap());
    let plain = StackFit::one("gam", &config).held_out(false).run(&data).unwrap().remove(0);
    assert!(plain.held_out().is_none());
    assert!(bytes(&plain) == bytes(&Stack::from(with_preset(alone))));
}

fn with_preset(mut model: raysum::Model) -> raysum::Model {
    model.set_preset("gam");
    model
}

/// A model of all rows, with the hyperparameters of a search on some, reports that search.
#[test]
fn the_search_on_a_subset_is_reported() {
    let (x, y) = rows(120, 9);
    let data = Dataset::new(&x, &y).unwrap();
    let report = |subset| {
        let config = with(Config::preset("gam").unwrap(), |c| c.subset = subset);
        let stack = StackFit::one("gam", &config).run(&data).unwrap().remove(0);
        let report = stack.single().unwrap().report();
        (report.rows, report.evaluations)
    };
    let (rows, evaluations) = report(Some(60));
    assert!(rows == 120 && evaluations > 0, "{evaluations}");
    // A subset of all rows is none.
    let whole = report(None);
    assert_eq!(report(Some(120)), whole);
    assert_eq!(report(Some(5_000)), whole);
}
