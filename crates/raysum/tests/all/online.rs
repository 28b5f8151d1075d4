//! Rows that come and go after the fit, in one process or many: the same as a fit on what is there.

use crate::common::{normals, with};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use raysum::error::UpdateError;
use raysum::settings::EngineChoice;
use raysum::{Config, Dataset, Error, Fit, Matrix, Model, Prediction, Shard};
use std::sync::LazyLock;

const COLUMNS: usize = 3;
const ROWS: usize = 120;

fn rows(seed: u64, n: usize) -> (Matrix, Vec<f64>) {
    let mut normal = normals(seed, 0);
    let x = Matrix::from_fn(n, COLUMNS, |_, _| normal());
    let y = (0..n).map(|i| 7.0 + 3.0 * (x[(i, 0)] - x[(i, 2)]).sin() + 0.3 * normal()).collect();
    (x, y)
}

fn config(engine: EngineChoice) -> Config {
    let degrees = "6x1".parse().unwrap();
    with(Config::default(), |c| {
        c.engine = engine;
        c.terms[0].degrees = degrees;
        c.max_evaluations = Some(10);
    })
}

struct Data {
    x: Matrix,
    y: Vec<f64>,
    weights: Vec<f64>,
    noise: Vec<f64>,
}

impl Data {
    fn new(seed: u64, n: usize) -> Self {
        let (x, y) = rows(seed, n);
        let weights = (0..n).map(|i| 0.5 + (i % 4) as f64).collect();
        let noise = (0..n).map(|i| 0.2 * (i % 3) as f64).collect();
        Self { x, y, weights, noise }
    }

    fn gather(&self, rows: &[usize]) -> Self {
        let pick = |values: &[f64]| rows.iter().map(|&i| values[i]).collect();
        let (y, weights, noise) = (pick(&self.y), pick(&self.weights), pick(&self.noise));
        Self { x: self.x.gather(rows), y, weights, noise }
    }

    fn set(&self) -> Dataset<'_> {
        let data = Dataset::rows_of(&self.x, &[&self.y]).unwrap();
        data.weighted(&self.weights).unwrap().with_noise_std(&self.noise).unwrap()
    }
}

fn fitted(engine: EngineChoice, data: &Data) -> Model {
    config(engine).fit(&data.set()).unwrap()
}

/// The largest difference in mean and standard deviation, in standard deviations of the target.
fn difference(a: &Model, b: &Model, x: &Matrix) -> f64 {
    let (p, q): (Prediction, Prediction) = (a.predict(x).unwrap(), b.predict(x).unwrap());
    let std = a.target_scale().std;
    let gap = |a: &[f64], b: &[f64]| {
        a.iter().zip(b).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs() / std))
    };
    gap(&p.mean, &q.mean).max(gap(&p.std(), &q.std()))
}

/// A model of all rows, by features and by the kernel matrix.
static WHOLE: LazyLock<[Model; 2]> = LazyLock::new(|| {
    let all = Data::new(1, ROWS);
    [EngineChoice::Weight, EngineChoice::Dense].map(|engine| fitted(engine, &all))
});

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, rng_seed: RngSeed::Fixed(0), ..ProptestConfig::default() })]

    /// Whatever comes and goes in whatever order: what is there at the end decides.
    #[test]
    fn order_does_not_matter(owner in prop::collection::vec(0_usize..4, ROWS), dense: bool) {
        let all = Data::new(1, ROWS);
        let whole = &WHOLE[usize::from(dense)];
        let new = rows(2, 30).0;
        let shards: Vec<Data> = (0..4)
            .map(|k| all.gather(&(0..ROWS).filter(|i| owner[*i] == k).collect::<Vec<_>>()))
            .collect();
        // Out and in again, in another order.
        let mut model = whole.clone();
        for k in [2, 0, 1] {
            model.remove(&shards[k].set()).unwrap();
        }
        prop_assert_eq!(model.report().rows, shards[3].y.len());
        for k in [1, 2, 0] {
            model.update(&shards[k].set()).unwrap();
        }
        prop_assert!(difference(&model, whole, &new) < 1e-9);
        prop_assert!((model.log_marginal_likelihood() - whole.log_marginal_likelihood()).abs() < 1e-6);
        // The statistics of all shards in place of everything.
        let taken: Vec<Shard> = shards.iter().rev().map(|s| whole.shard(&s.set()).unwrap()).collect();
        let mut merged = whole.clone();
        merged.replace(&taken).unwrap();
        prop_assert!(difference(&merged, whole, &new) < 1e-9);
        // A model without a shard equals a fit without it, at the same hyperparameters and scales.
        let mut less = whole.clone();
        less.remove(&shards[0].set()).unwrap();
        let mut only = whole.clone();
        only.replace(&taken[..3]).unwrap();
        prop_assert!(difference(&less, &only, &new) < 1e-9);
    }
}

#[test]
fn rows_where_none_was_before_are_answered_as_a_refit_answers_them() {
    // Far to the side of everything seen, and so near each other that they form an own cluster.
    let (seen, mut beyond) = (Data::new(3, 200), Data::new(4, 40));
    for i in 0..40 {
        beyond.x.row_mut(i).iter_mut().for_each(|v| *v += 9.0);
    }
    let mut weight = fitted(EngineChoice::Weight, &seen);
    let h = weight.hyperparameters().clone();
    let mut dense =
        Fit::new(&config(EngineChoice::Dense)).condition(&seen.set(), &h).unwrap().remove(0);
    let features = weight.features().unwrap();
    let shard = weight.shard(&beyond.set()).unwrap();
    assert!(shard.rows() == 40 && shard.rows_beyond() > 20);
    for model in [&mut weight, &mut dense] {
        model.update(&beyond.set()).unwrap();
        assert_eq!(model.report().rows, 240);
    }
    assert!(weight.features().unwrap() > features);
    for x in [&seen.x, &beyond.x] {
        let gap = difference(&weight, &dense, x);
        assert!(gap < 1e-4, "{gap}");
    }
    let gap = weight.log_marginal_likelihood() - dense.log_marginal_likelihood();
    assert!(gap.abs() < 1e-2, "{gap}");
    // And gone again.
    weight.remove(&beyond.set()).unwrap();
    dense.remove(&beyond.set()).unwrap();
    assert!(difference(&weight, &dense, &seen.x) < 1e-4);
}

#[test]
fn more_rows_from_the_same_place_equal_a_refit() {
    let (all, few) = (Data::new(5, 300), (0..150).collect::<Vec<_>>());
    let more: Vec<usize> = (150..300).collect();
    for (engine, tolerance) in [(EngineChoice::Dense, 1e-9), (EngineChoice::Weight, 1e-4)] {
        let mut model = fitted(engine, &all.gather(&few));
        model.update(&all.gather(&more).set()).unwrap();
        // A refit keeps hyperparameters, not scales: so it is a model whose rows were replaced.
        let (few, h) = (all.gather(&few), model.hyperparameters().clone());
        let mut whole =
            Fit::new(&config(EngineChoice::Dense)).condition(&few.set(), &h).unwrap().remove(0);
        let shard = whole.shard(&all.set()).unwrap();
        whole.replace(&[shard]).unwrap();
        let gap = difference(&model, &whole, &rows(6, 40).0);
        assert!(gap < tolerance, "{engine:?}: {gap}");
    }
}

#[test]
fn shards_go_through_files_and_know_their_model() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shard");
    for engine in [EngineChoice::Dense, EngineChoice::Weight] {
        let data = Data::new(7, 80);
        let mut model = fitted(engine, &data);
        let mut more = Data::new(8, 30);
        more.x.row_mut(0)[0] = 40.0;
        let shard = model.shard(&more.set()).unwrap();
        Shard::save_all(&[shard], &path).unwrap();
        let [back] = &Shard::load_all(&path).unwrap()[..] else { panic!("one shard") };
        assert_eq!(back.rows(), 30);
        let mut other = fitted(engine, &more);
        let back = std::slice::from_ref(back);
        assert!(matches!(other.merge(back), Err(Error::NotForThisModel { shard: Some(0) })));
        let e = Model::load(&path).unwrap_err().to_string();
        assert!(e.ends_with("this is a raysum file, but it holds a shard"), "{e}");
        let mut again = fitted(engine, &data);
        again.merge(back).unwrap();
        model.update(&more.set()).unwrap();
        assert!(difference(&model, &again, &data.x) < 1e-12);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        assert!(Shard::load_all(&path).is_err());
        // An updated model is saved and loaded like any other.
        model.save(&path).unwrap();
        assert!(difference(&Model::load(&path).unwrap(), &model, &data.x) < 1e-12);
    }
}

#[test]
fn what_cannot_be_done_is_said_and_changes_nothing() {
    let data = Data::new(9, 60);
    for engine in [EngineChoice::Dense, EngineChoice::Weight] {
        let mut model = fitted(engine, &data);
        let before = model.predict(&data.x).unwrap();
        let e = model.remove(&data.set()).unwrap_err();
        assert!(matches!(e, Error::Update(UpdateError::NoRowsLeft)), "{e}");
        let (narrow, y) = (Matrix::zeros(1, 2), [1.0]);
        let e = model.update(&Dataset::rows_of(&narrow, &[&y]).unwrap()).unwrap_err();
        assert_eq!(e.to_string(), "X has 2 columns, but the model was fitted on 3");
        // Rows that weigh a thousand times what the model has seen.
        let mut heavy = data.gather(&(0..30).collect::<Vec<_>>());
        heavy.weights.iter_mut().for_each(|w| *w *= 1e3);
        let e = model.remove(&heavy.set()).unwrap_err();
        assert!(matches!(e, Error::NotTrainingRows { .. }), "{e}");
        // Rows with targets that none of the model's can have had.
        let mut strange = data.gather(&[3, 4]);
        strange.y[1] = 1e6;
        let e = model.remove(&strange.set()).unwrap_err();
        assert!(matches!(e, Error::NotTrainingRows { .. }), "{e}");
        if engine == EngineChoice::Dense {
            let stranger = Data::new(10, 1);
            let e = model.remove(&stranger.set()).unwrap_err();
            assert!(matches!(e, Error::NotTrainingRows { row: Some(0) }), "{e}");
        }
        assert_eq!(model.predict(&data.x).unwrap(), before);
        assert_eq!(model.report().rows, 60);
    }
}

#[test]
fn where_features_cannot_be_extended_a_refit_is_due() {
    let data = Data::new(12, 100);
    let mut far = Data::new(13, 1);
    // Products of features are not extended; nor is a lattice, to the end of the world.
    for (degrees, place) in [("2x1,1x2", 9.0), ("6x1", 1e8)] {
        let degrees = degrees.parse().unwrap();
        let engine = EngineChoice::Weight;
        let config = with(config(engine), |c| c.terms[0].degrees = degrees);
        let mut model = config.fit(&data.set()).unwrap();
        let before = model.predict(&data.x).unwrap();
        far.x.row_mut(0).fill(place);
        let e = model.update(&far.set()).unwrap_err();
        assert!(matches!(e, Error::RefitDue), "{e}");
        assert_eq!(model.predict(&data.x).unwrap(), before);
    }
}

#[test]
fn models_of_several_targets_share_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.raysum");
    let (x, a) = rows(11, 150);
    let b: Vec<f64> = (0..150).map(|i| x[(i, 1)] - a[i]).collect();
    for engine in [EngineChoice::Dense, EngineChoice::Weight] {
        let data = Dataset::with_targets(&x, &[&a, &b]).unwrap();
        let models = Fit::new(&config(engine)).shared(true).run(&data).unwrap();
        models[0].save(&path).unwrap();
        let one = std::fs::metadata(&path).unwrap().len();
        Model::save_all(&models, &path).unwrap();
        assert!(std::fs::metadata(&path).unwrap().len() < one + one / 2);
        let back = Model::load_all(&path).unwrap();
        assert_eq!(back.len(), 2);
        for (a, b) in back.iter().zip(&models) {
            assert_eq!(a.predict(&x).unwrap(), b.predict(&x).unwrap());
        }
        let e = Model::load(&path).unwrap_err().to_string();
        assert!(e.ends_with("m.raysum: holds models of 2 targets, not of one"), "{e}");
    }
}

#[test]
fn no_row_counts_twice_by_mistake() {
    for engine in [EngineChoice::Dense, EngineChoice::Weight] {
        let data = Data::new(14, 80);
        let mut model = fitted(engine, &data);
        let (a, b) = (Data::new(15, 30), Data::new(16, 30));
        let shard = |model: &Model, data: &Data| model.shard(&data.set()).unwrap();
        let (one, two) = (shard(&model, &a), shard(&model, &b));
        // The order of the rows does not make other rows of them.
        let shuffled = shard(&model, &a.gather(&(0..30).map(|i| i * 7 % 30).collect::<Vec<_>>()));
        for shards in [[&one, &two, &one], [&two, &one, &shuffled]] {
            let shards: Vec<Shard> = shards.into_iter().cloned().collect();
            for merge in [Model::merge, Model::replace] {
                let e = merge(&mut model, &shards).unwrap_err();
                assert!(matches!(e, Error::RepeatedShard { shard: 2, same_as: Some(_) }), "{e}");
            }
        }
        assert_eq!(model.report().rows, 80);
        model.merge(&[two.clone(), one.clone()]).unwrap();
        assert_eq!(model.report().rows, 140);
        let e = model.merge(std::slice::from_ref(&one)).unwrap_err();
        assert!(matches!(e, Error::RepeatedShard { shard: 0, same_as: None }), "{e}");
        let says = "the rows of shard 0 (counted from 0) are in the model already";
        assert!(e.to_string().starts_with(says), "{e}");
        // It is remembered in the file, and through further rows and shards of other kinds.
        let back = |model: &Model| Model::from_bytes(&Model::to_bytes([model]).unwrap()).unwrap();
        let mut later = back(&model).pop().unwrap();
        later.update(&Data::new(17, 5).set()).unwrap();
        let again = shard(&later, &a);
        assert!(matches!(later.merge(&[again]), Err(Error::RepeatedShard { shard: 0, .. })));
        // What was taken out may come again, and what is meant to count twice does.
        model.remove(&a.set()).unwrap();
        // Features may have been added for the rows, so shards are made for the model as it is now.
        let (one, two) = (shard(&model, &a), shard(&model, &b));
        model.merge(std::slice::from_ref(&one)).unwrap();
        model.merge_repeated(&[one.clone(), one.clone()]).unwrap();
        assert_eq!(model.report().rows, 200);
        model.replace_repeated(&[two.clone(), two.clone()]).unwrap();
        assert_eq!(model.report().rows, 60);
        // All that was there before has gone.
        model.merge(&[one]).unwrap();
        assert!(matches!(model.merge(&[two]), Err(Error::RepeatedShard { same_as: None, .. })));
    }
}

#[test]
fn rows_that_are_merged_in_two_states_of_a_model_are_known() {
    // New rows extend the features, so that shards have to be made anew; the rows are the same.
    let mut far = Data::new(19, 20);
    (0..20).for_each(|i| far.x.row_mut(i).iter_mut().for_each(|v| *v += 9.0));
    let mut model = fitted(EngineChoice::Weight, &Data::new(18, 100));
    let shard = model.shard(&far.set()).unwrap();
    model.merge(std::slice::from_ref(&shard)).unwrap();
    assert!(matches!(model.merge(&[shard]), Err(Error::RepeatedShard { shard: 0, same_as: None })));
    let again = model.shard(&far.set()).unwrap();
    assert!(matches!(model.merge(&[again]), Err(Error::RepeatedShard { shard: 0, same_as: None })));
}
