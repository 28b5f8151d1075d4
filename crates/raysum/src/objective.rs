//! The function that a fit minimises: minus log marginal likelihood and noise prior over θ, value
//! and gradient together.
//!
//! θ = (log length-scales, log variances, log(σ² − lowest noise), c). Which length-scales and
//! variances there are depends on the model; see [`Layout`].

use crate::config::Config;
use crate::data::Matrix;
use crate::engine::{AdditiveKernel, Engine, Evaluation, Prior};
use crate::error::{Error, Result};
use crate::kernel::SubKernel;
use crate::project::Projections;
use serde::{Deserialize, Serialize};

/// Logarithms beyond this are taken for it: e^±20 length-scales are as good as 0 and ∞, and the
/// search may drift there along a column that does not matter.
const LARGEST_LOG: f64 = 20.0;
/// Width of the noise prior's edges, as in the paper.
const NOISE_EDGE: f64 = 0.01;

/// The hyperparameters of a model, in standardised units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hyperparameters {
    /// σ_c, one per column of X, if the model scales columns before projecting; else empty.
    pub column_length_scales: Vec<f64>,
    /// ℓ, one per row of every projection, if the model does not; else empty.
    pub length_scales: Vec<f64>,
    /// λ_j = s·α_j, one per sub-kernel.
    pub variances: Vec<f64>,
    /// σ².
    pub noise_variance: f64,
    /// The constant mean c.
    pub mean: f64,
}

impl Hyperparameters {
    /// The scale s = Σ λ_j.
    pub fn scale(&self) -> f64 {
        self.variances.iter().sum()
    }
}

/// How θ is laid out for one model, and how it becomes a prior.
#[derive(Clone, Debug)]
pub struct Layout {
    projections: Projections,
    sub_kernel: SubKernel,
    ard: bool,
    learn_weights: bool,
    noise_bounds: (f64, f64),
}

impl Layout {
    /// The layout of `config` over these projections.
    pub fn new(config: &Config, projections: Projections) -> Result<Self> {
        for &degree in projections.degrees() {
            config.kernel.check_degree(degree)?;
        }
        Ok(Self {
            projections,
            sub_kernel: config.kernel,
            ard: config.ard,
            learn_weights: config.learn_weights,
            noise_bounds: config.noise_bounds,
        })
    }

    /// The projections.
    pub fn projections(&self) -> &Projections {
        &self.projections
    }

    /// Number of length-scales in θ.
    fn scales(&self) -> usize {
        let p = self.projections.matrix();
        if self.ard { p.columns() } else { p.rows() }
    }

    /// Number of variances in θ.
    fn variances(&self) -> usize {
        if self.learn_weights { self.projections.degrees().len() } else { 1 }
    }

    /// Number of entries of θ.
    pub fn len(&self) -> usize {
        self.scales() + self.variances() + 2
    }

    /// Whether θ is empty: never.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Where a search starts: distances of about half a length-scale in every sub-kernel, all of
    /// the variance of y explained, a tenth of it noise. Smooth starts end in better optima than
    /// rough ones do.
    pub fn start(&self) -> Vec<f64> {
        let p = self.projections.matrix();
        let mut row = 0;
        let mut squares = Vec::new();
        for &degree in self.projections.degrees() {
            let square: f64 =
                (row..row + degree).flat_map(|r| p.row(r)).map(|v| v * v).sum::<f64>();
            squares.extend(std::iter::repeat_n(square.max(f64::MIN_POSITIVE), degree));
            row += degree;
        }
        let mut theta: Vec<f64> = if self.ard {
            let mean = squares.iter().sum::<f64>() / squares.len() as f64;
            vec![0.5 * (4.0 * mean).ln(); p.columns()]
        } else {
            squares.iter().map(|s| 0.5 * (4.0 * s).ln()).collect()
        };
        let each = if self.learn_weights { 1.0 / self.variances() as f64 } else { 1.0 };
        theta.extend(vec![each.ln(); self.variances()]);
        theta.push((0.1_f64).max(0.1 * self.noise_bounds.0).ln());
        theta.push(0.0);
        theta
    }

    /// The hyperparameters that θ stands for.
    pub fn hyperparameters(&self, theta: &[f64]) -> Hyperparameters {
        let theta: Vec<f64> = theta.iter().map(|t| t.clamp(-LARGEST_LOG, LARGEST_LOG)).collect();
        let (scales, rest) = theta.split_at(self.scales());
        let (variances, rest) = rest.split_at(self.variances());
        let scales: Vec<f64> = scales.iter().map(|t| t.exp()).collect();
        let (column_length_scales, length_scales) =
            if self.ard { (scales, Vec::new()) } else { (Vec::new(), scales) };
        let j = self.projections.degrees().len();
        let variances = if self.learn_weights {
            variances.iter().map(|t| t.exp()).collect()
        } else {
            vec![variances[0].exp() / j as f64; j]
        };
        let noise_variance = self.noise_bounds.0 + rest[0].exp();
        Hyperparameters {
            column_length_scales,
            length_scales,
            variances,
            noise_variance,
            mean: rest[1],
        }
    }

    /// The θ that stands for these hyperparameters, as nearly as the model can.
    pub fn theta(&self, h: &Hyperparameters) -> Result<Vec<f64>> {
        self.check(h)?;
        let scales = if self.ard { &h.column_length_scales } else { &h.length_scales };
        let mut theta: Vec<f64> = scales.iter().map(|s| s.ln()).collect();
        if self.learn_weights {
            theta.extend(h.variances.iter().map(|v| v.ln()));
        } else {
            theta.push(h.scale().ln());
        }
        theta.push((h.noise_variance - self.noise_bounds.0).max(1e-9 * self.noise_bounds.0).ln());
        theta.push(h.mean);
        Ok(theta.into_iter().map(|t| t.clamp(-LARGEST_LOG, LARGEST_LOG)).collect())
    }

    /// Fails unless there is a finite positive number for everything the model has.
    pub fn check(&self, h: &Hyperparameters) -> Result<()> {
        let p = self.projections.matrix();
        let (columns, rows) = if self.ard { (p.columns(), 0) } else { (0, p.rows()) };
        for (name, values, expected) in [
            ("column length-scales", &h.column_length_scales, columns),
            ("length-scales", &h.length_scales, rows),
            ("variances", &h.variances, self.projections.degrees().len()),
        ] {
            if values.len() != expected {
                return Err(Error::HyperparameterCount { name, expected, found: values.len() });
            }
            if let Some(&value) = values.iter().find(|v| !(v.is_finite() && **v > 0.0)) {
                return Err(Error::OutOfRange { name, value, rule: "finite and above 0" });
            }
        }
        if !(h.noise_variance.is_finite() && h.noise_variance > 0.0) {
            let rule = "finite and above 0";
            return Err(Error::OutOfRange {
                name: "the noise variance",
                value: h.noise_variance,
                rule,
            });
        }
        if !h.mean.is_finite() {
            return Err(Error::OutOfRange { name: "the mean", value: h.mean, rule: "finite" });
        }
        Ok(())
    }

    /// The prior with these hyperparameters: W = diag(1/ℓ) P diag(1/σ).
    pub fn prior(&self, h: &Hyperparameters) -> Prior {
        let p = self.projections.matrix();
        let views = Matrix::from_fn(p.rows(), p.columns(), |r, c| {
            p[(r, c)] / if self.ard { h.column_length_scales[c] } else { h.length_scales[r] }
        });
        Prior {
            kernel: AdditiveKernel {
                sub_kernel: self.sub_kernel,
                degrees: self.projections.degrees().to_vec(),
                views,
                variances: h.variances.clone(),
            },
            noise_variance: h.noise_variance,
            mean: h.mean,
        }
    }

    /// The value to minimise at θ; writes its gradient. ∞ where the prior cannot be evaluated.
    pub fn evaluate(
        &self,
        engine: &mut dyn Engine,
        theta: &[f64],
        gradient: &mut [f64],
    ) -> Result<f64> {
        let prior = self.prior(&self.hyperparameters(theta));
        let evaluation = match engine.evaluate(&prior) {
            Ok(evaluation) => evaluation,
            Err(e) if e.is_recoverable() => return Ok(f64::INFINITY),
            Err(e) => return Err(e),
        };
        let (log_noise_prior, noise_slope) = smoothed_box(prior.noise_variance, self.noise_bounds);
        self.chain_rule(&prior, &evaluation, noise_slope, gradient);
        // Beyond the largest logarithm the value is constant.
        for (slope, t) in gradient.iter_mut().zip(theta) {
            if t.abs() > LARGEST_LOG {
                *slope = 0.0;
            }
        }
        Ok(-evaluation.log_marginal_likelihood - log_noise_prior)
    }

    fn chain_rule(&self, prior: &Prior, e: &Evaluation, noise_slope: f64, gradient: &mut [f64]) {
        gradient.fill(0.0);
        let (scales, rest) = gradient.split_at_mut(self.scales());
        let (variances, rest) = rest.split_at_mut(self.variances());
        // W ∝ 1/scale, so ∂W/∂ log scale = −W; the minus of the minimised value cancels it.
        let views = &prior.kernel.views;
        for r in 0..views.rows() {
            for c in 0..views.columns() {
                scales[if self.ard { c } else { r }] += e.views[(r, c)] * views[(r, c)];
            }
        }
        for (j, (slope, variance)) in e.variances.iter().zip(&prior.kernel.variances).enumerate() {
            variances[if self.learn_weights { j } else { 0 }] -= slope * variance;
        }
        rest[0] = -(e.noise_variance + noise_slope) * (prior.noise_variance - self.noise_bounds.0);
        rest[1] = -e.mean;
    }
}

/// The paper's smoothed box prior on σ²: flat on [low, high], with Gaussian edges. The log density
/// up to a constant, and its slope.
fn smoothed_box(value: f64, (low, high): (f64, f64)) -> (f64, f64) {
    let outside = if value > high {
        value - high
    } else if value < low {
        value - low
    } else {
        0.0
    };
    let variance = NOISE_EDGE * NOISE_EDGE;
    (-0.5 * outside * outside / variance, -outside / variance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::dense::Dense;
    use rand_distr::{Distribution, StandardNormal};

    fn rows(n: usize, d: usize) -> (Matrix, Vec<f64>) {
        let mut rng = crate::rng::stream(3, crate::rng::Purpose::Samples, 0);
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let x = Matrix::from_fn(n, d, |_, _| normal());
        let y = (0..n).map(|i| (x[(i, 0)] + x[(i, 1)]).sin() + 0.3 * normal()).collect();
        (x, y)
    }

    /// Largest difference between the gradient and central differences, over the largest entry.
    fn gradient_error(config: &Config) -> f64 {
        let (x, y) = rows(40, 6);
        let p = Projections::choose(config.directions, &config.degrees.resolve(6), 6, 7).unwrap();
        let layout = Layout::new(config, p).unwrap();
        let mut engine = Dense::new(x, y);
        let mut rng = crate::rng::stream(8, crate::rng::Purpose::Starts, 0);
        let theta: Vec<f64> = layout
            .start()
            .iter()
            .map(|t| t + 0.3 * Distribution::<f64>::sample(&StandardNormal, &mut rng))
            .collect();
        let mut gradient = vec![0.0; layout.len()];
        layout.evaluate(&mut engine, &theta, &mut gradient).unwrap();
        let largest = gradient.iter().fold(0.0_f64, |m, g| m.max(g.abs()));
        let mut unused = vec![0.0; layout.len()];
        let mut worst = 0.0_f64;
        for i in 0..theta.len() {
            let mut at = |step: f64| {
                let mut moved = theta.clone();
                moved[i] += step;
                layout.evaluate(&mut engine, &moved, &mut unused).unwrap()
            };
            // Fourth-order differences, so that the step's own error stays below 1e-9; but short
            // ones for Matérn 1/2, so that no two rows change sides at its kink.
            let h = if config.kernel == SubKernel::Matern12 { 1e-6 } else { 1e-3 };
            let slope = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
            worst = worst.max((slope - gradient[i]).abs() / largest);
        }
        worst
    }

    #[test]
    fn gradients_match_differences_for_every_model_and_kernel() {
        for (name, _) in Config::presets() {
            for (kernel_name, kernel) in SubKernel::ALL {
                let config = Config { kernel, ..Config::preset(name).unwrap() };
                if kernel == SubKernel::Cosine && config.degrees.resolve(6).iter().any(|d| *d > 1) {
                    continue;
                }
                let error = gradient_error(&config);
                assert!(error < 1e-6, "{name} with {kernel_name}: {error}");
            }
        }
    }

    #[test]
    fn the_noise_prior_is_part_of_value_and_gradient() {
        let config = Config { noise_bounds: (1e-4, 0.05), ..Config::default() };
        assert!(gradient_error(&config) < 1e-6);
        assert_eq!(smoothed_box(0.5, (1e-4, 10.0)), (0.0, 0.0));
        assert_eq!(smoothed_box(10.01, (1e-4, 10.0)).0, -0.5 * (10.01_f64 - 10.0).powi(2) / 1e-4);
        assert!(smoothed_box(1e-5, (1e-4, 10.0)).1 > 0.0);
    }

    #[test]
    fn theta_and_hyperparameters_round_trip() {
        for (name, _) in Config::presets() {
            let config = Config::preset(name).unwrap();
            let p =
                Projections::choose(config.directions, &config.degrees.resolve(6), 6, 7).unwrap();
            let layout = Layout::new(&config, p).unwrap();
            let theta: Vec<f64> = (0..layout.len()).map(|i| 0.1 * i as f64 - 0.5).collect();
            let back = layout.theta(&layout.hyperparameters(&theta)).unwrap();
            for (a, b) in theta.iter().zip(&back) {
                assert!((a - b).abs() < 1e-12, "{name}: {theta:?} {back:?}");
            }
        }
    }

    #[test]
    fn a_theta_out_of_range_is_flat() {
        let (x, y) = rows(10, 2);
        let config = Config::preset("gam").unwrap();
        let p = Projections::choose(config.directions, &[1, 1], 2, 7).unwrap();
        let layout = Layout::new(&config, p).unwrap();
        let mut engine = Dense::new(x, y);
        let mut theta = layout.start();
        let mut gradient = [0.0; 5];
        theta[0] = 50.0;
        let value = layout.evaluate(&mut engine, &theta, &mut gradient).unwrap();
        theta[0] = 20.0;
        assert_eq!(value, layout.evaluate(&mut engine, &theta, &mut [0.0; 5]).unwrap());
        assert!(value.is_finite() && gradient[0] == 0.0 && gradient[1] != 0.0);
    }
}
