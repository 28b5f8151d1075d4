//! Jobs against fits on one machine.

use super::*;
use crate::config::{ColumnsScale, Config, Noise, TargetScale};
use crate::data::{Dataset, Labels, Matrix};
use crate::model::Model;
use crate::rng::{Purpose, stream};
use rand_distr::{Distribution, StandardNormal};

struct Rows {
    x: Matrix,
    labels: Labels<Vec<f64>>,
}

fn rows(n: usize) -> Rows {
    let mut rng = stream(3, Purpose::Samples, 0);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let x = Matrix::from_fn(n, 3, |_, _| normal());
    let f = |i: usize| 5.0 + (2.0 * x[(i, 0)]).sin() + 0.5 * x[(i, 1)].powi(2);
    let y: Vec<f64> = (0..n).map(|i| f(i) + 0.2 * normal()).collect();
    Rows { x, labels: Labels::of_targets(vec![y]) }
}

/// Runs a job over rows that are cut at these numbers.
fn fitted(config: &Config, rows: &Rows, cuts: &[usize]) -> crate::Result<Vec<Model>> {
    let options = JobOptions {
        targets: rows.labels.targets.len(),
        weighted: rows.labels.sample_weights.is_some(),
        known_noise: rows.labels.noise.is_some(),
        sample: 400,
        ..JobOptions::default()
    };
    let mut job = Job::new(config.clone(), options, None)?;
    let mut rounds = 0;
    while let Some(task) = job.task()? {
        rounds += 1;
        job.answer(&merge_all(answers(&task, rows, cuts)?)?)?;
    }
    assert!((4..30).contains(&rounds), "{rounds} rounds");
    job.models()
}

fn answers(task: &[u8], rows: &Rows, cuts: &[usize]) -> crate::Result<Vec<Vec<u8>>> {
    let ends = cuts.iter().copied().chain([rows.x.rows()]);
    let starts = [0].into_iter().chain(cuts.iter().copied());
    let part = |(number, (start, end)): (usize, (usize, usize))| {
        let chosen: Vec<usize> = (start..end).collect();
        let (x, labels) = (rows.x.gather(&chosen), rows.labels.gather(&chosen));
        let data = labels.dataset(&x, 0..labels.targets.len())?;
        run(task, number as u64, &data)
    };
    starts.zip(ends).enumerate().map(part).collect()
}

fn bits(models: &[Model]) -> Vec<u8> {
    Model::to_bytes(models).unwrap()
}

#[test]
fn a_job_finds_what_a_fit_on_one_machine_finds() {
    let rows = rows(400);
    let data = Dataset::labelled(&rows.x, rows.labels.as_slices()).unwrap();
    let mut config = Config::preset("gam").unwrap();
    config.engine = crate::config::EngineChoice::Weight;
    let alone = config.fit(&data).unwrap();
    let jobs = fitted(&config, &rows, &[150, 150, 290]).unwrap();
    let (mine, theirs) =
        (alone.report().log_marginal_likelihood, jobs[0].report().log_marginal_likelihood);
    assert!((mine - theirs).abs() < 0.5, "{mine} and {theirs}");
    let (a, b) = (alone.predict(&rows.x).unwrap(), jobs[0].predict(&rows.x).unwrap());
    for i in 0..rows.x.rows() {
        assert!((a.mean[i] - b.mean[i]).abs() < 0.08, "{} and {}", a.mean[i], b.mean[i]);
        assert!((a.std()[i] - b.std()[i]).abs() < 0.03);
    }
    assert_eq!(jobs[0].report().rows, 400);
    assert_eq!(jobs[0].engine(), "weight");
}

#[test]
fn every_additive_model_and_every_label_has_jobs_that_repeat_to_the_bit() {
    let mut rows = rows(130);
    let second: Vec<f64> = rows.labels.targets[0].iter().map(|y| 3.0 - 2.0 * y).collect();
    for name in ["dpa-ard", "rpa-1", "ppr", "linear", "gam+linear"] {
        let Ok(mut config) = Config::preset(name) else { panic!("no preset {name}") };
        config.max_evaluations = Some(8);
        if ["dpa-ard", "rpa-1", "ppr"].contains(&name) {
            config.terms[0].degrees = "6x1".parse().unwrap();
        }
        let first = fitted(&config, &rows, &[50]).unwrap();
        assert_eq!(bits(&first), bits(&fitted(&config, &rows, &[50]).unwrap()), "{name}");
    }
    let mut config = Config::preset("gam").unwrap();
    config.max_evaluations = Some(12);
    rows.labels.noise = Some((0..130).map(|i| 0.1 + f64::from(i % 3)).collect());
    assert_eq!(fitted(&config, &rows, &[50]).unwrap().len(), 1);
    rows.labels.noise = None;
    rows.labels.sample_weights = Some((0..130).map(|i| 0.5 + f64::from(i % 4)).collect());
    rows.labels.targets.push(second);
    config.columns_scale = ColumnsScale::Ranks;
    config.target_scale = TargetScale::YeoJohnson;
    let both = fitted(&config, &rows, &[15, 100]).unwrap();
    assert_eq!(both.len(), 2);
    assert!(both.iter().all(|m| m.report().log_marginal_likelihood.is_finite()));
}

#[test]
fn weights_and_targets_match_those_of_one_machine() {
    let mut rows = rows(300);
    rows.labels.sample_weights = Some((0..300).map(|i| 0.5 + f64::from(i % 4)).collect());
    let data = Dataset::labelled(&rows.x, rows.labels.as_slices()).unwrap();
    let mut config = Config::preset("gam").unwrap();
    config.engine = crate::config::EngineChoice::Weight;
    let alone = config.fit(&data).unwrap();
    let job = fitted(&config, &rows, &[11, 100]).unwrap();
    let (a, b) = (alone.predict(&rows.x).unwrap(), job[0].predict(&rows.x).unwrap());
    let worst = a.mean.iter().zip(&b.mean).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst < 0.03, "{worst}");
    let worst = a.std().iter().zip(b.std()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst < 0.02, "{worst}");
}

#[test]
fn settings_that_need_all_rows_are_refused() {
    let refused = |config: Config, options: JobOptions| {
        Job::new(config, options, None).unwrap_err().to_string()
    };
    let config = || Config::preset("gam").unwrap();
    let noisy = Config { noise: Noise::Columns, ..config() };
    assert_eq!(
        refused(noisy, JobOptions::default()),
        "noise that depends on the columns needs all rows on one machine; use constant noise"
    );
    let dense = Config { engine: crate::config::EngineChoice::Dense, ..config() };
    assert!(refused(dense, JobOptions::default()).starts_with("the dense engine needs all rows"));
    let few = JobOptions { sample: 5, ..JobOptions::default() };
    assert!(refused(config(), few).contains("at least 100"));
    // A product of many dimensions has no features.
    let rows = rows(120);
    let error = fitted(&Config::preset("matern52").unwrap(), &rows, &[50]).unwrap_err();
    assert!(error.to_string().contains("weight"), "{error}");
}

#[test]
fn answers_to_other_tasks_are_refused() {
    let rows = rows(120);
    let mut job = Job::new(Config::preset("gam").unwrap(), JobOptions::default(), None).unwrap();
    let first = job.task().unwrap().unwrap();
    assert_eq!(job.task().unwrap().unwrap(), first);
    let of_first = merge_all(answers(&first, &rows, &[10, 60]).unwrap()).unwrap();
    assert!(job.answer(&first).unwrap_err().to_string().starts_with("the answer cannot be read"));
    job.answer(&of_first).unwrap();
    let second = job.task().unwrap().unwrap();
    assert_ne!(first, second);
    let message = "the answer is to another task";
    assert!(job.answer(&of_first).unwrap_err().to_string().starts_with(message));
    let of_second = answers(&second, &rows, &[10]).unwrap();
    assert!(merge(&of_first, &of_second[0]).unwrap_err().to_string().starts_with(message));
    let (mut cut, narrow) = (second.clone(), Matrix::zeros(3, 2));
    cut.truncate(200);
    let data = Dataset::rows_of(&narrow, &[&[1.0, 2.0, 3.0]]).unwrap();
    assert!(run(&cut, 0, &data).is_err());
    assert_eq!(
        run(&second, 0, &data).unwrap_err().to_string(),
        "X has 2 columns, but the model was fitted on 3"
    );
}

#[test]
fn a_stopped_driver_continues_from_its_checkpoint() {
    let rows = rows(200);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("job.checkpoint");
    let config = Config::preset("gam").unwrap();
    let run_job = |most: usize| {
        let kept = crate::Checkpoint::open(&path).unwrap();
        let options = JobOptions { sample: 150, ..JobOptions::default() };
        let mut job = Job::new(config.clone(), options, Some(kept)).unwrap();
        let mut rounds = 0;
        while let Some(task) = job.task().unwrap() {
            if rounds == most {
                return (rounds, None);
            }
            rounds += 1;
            job.answer(&merge_all(answers(&task, &rows, &[90]).unwrap()).unwrap()).unwrap();
        }
        (rounds, Some(bits(&job.models().unwrap())))
    };
    let (all, whole) = run_job(usize::MAX);
    assert!(!path.exists());
    assert_eq!(run_job(7), (7, None));
    // The driver's thread ends when its job is gone, and with it the lock of the file.
    std::thread::sleep(std::time::Duration::from_millis(300));
    let (again, resumed) = run_job(usize::MAX);
    assert!(again < all, "{again} of {all} rounds");
    assert!(whole == resumed && whole.is_some());
}
