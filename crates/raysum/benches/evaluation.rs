//! One value-and-gradient evaluation of the weight engine, and its share of the flop floor 3np².

#![allow(missing_docs, reason = "criterion's macros make public items")]
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use faer::{Accum, Mat, Par, linalg::matmul::matmul};
use rand_distr::{Distribution, StandardNormal};
use raysum::engine::weight::{Use, Weight};
use raysum::engine::{AdditiveKernel, Engine, Prior};
use raysum::rng::{Purpose, stream};
use raysum::{Directions, Matrix, Projections, Scaler, StandardRows, SubKernel};
use std::time::{Duration, Instant};

/// The rate of f64 matrix products on all threads, in flops per second.
fn machine_rate() -> f64 {
    let n = 1500;
    let a = Mat::<f64>::from_fn(n, n, |i, j| ((i * 7 + j) % 11) as f64);
    let mut c = Mat::<f64>::zeros(n, n);
    let mut product =
        || matmul(c.as_mut(), Accum::Replace, a.as_ref(), a.as_ref(), 1.0, Par::rayon(0));
    2.0 * (n as f64).powi(3) / best_of(5, &mut product)
}

/// Seconds of the fastest of some runs.
fn best_of(runs: usize, mut run: impl FnMut()) -> f64 {
    let seconds = |_| {
        let clock = Instant::now();
        run();
        clock.elapsed().as_secs_f64()
    };
    (0..runs).map(seconds).fold(f64::MAX, f64::min)
}

/// 20 views of 20 columns; `scale` stretches them, and with it the number of features.
fn prior(scale: f64) -> Prior {
    let p = Projections::choose(Directions::Diverse, &[1; 20], 20, 0).unwrap();
    Prior {
        kernel: AdditiveKernel {
            sub_kernel: SubKernel::Rbf,
            degrees: vec![1; 20],
            views: Matrix::from_fn(20, 20, |i, j| scale * p.matrix()[(i, j)]),
            variances: vec![0.05; 20],
        },
        noise_variance: 0.1,
        mean: 0.0,
    }
}

fn evaluation(criterion: &mut Criterion) {
    let rate = machine_rate();
    println!("matrix products: {:.0} GFlop/s", rate / 1e9);
    let mut group = criterion.benchmark_group("evaluation");
    group.sample_size(10).warm_up_time(Duration::from_millis(500));
    for rows in [10_000, 100_000] {
        let mut rng = stream(0, Purpose::Samples, 0);
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let x = Matrix::from_fn(rows, 20, |_, _| normal());
        let y: Vec<f64> = (0..rows).map(|i| x[(i, 0)].sin() + normal()).collect();
        let scaler = Scaler::fit((&x).into(), &y);
        let y = scaler.apply_y(&y);
        let mut engine = Weight::new(StandardRows::new((&x).into(), &scaler), y);
        for (name, scale) in [("p200", 0.3), ("p600", 1.8)] {
            let prior = prior(scale);
            let p = engine.feature_map(&prior, Use::Likelihood).unwrap().len();
            let floor = 3.0 * rows as f64 * (p as f64).powi(2) / rate;
            let share = floor / best_of(5, || drop(engine.evaluate(&prior).unwrap()));
            println!("n = {rows}, p = {p}: {:.0} % of the flop floor", 100.0 * share);
            group.throughput(Throughput::Elements(rows as u64));
            group.bench_function(format!("{rows}/{name}"), |b| {
                b.iter(|| engine.evaluate(&prior).unwrap());
            });
        }
    }
    group.finish();
}

criterion_group!(benches, evaluation);
criterion_main!(benches);
