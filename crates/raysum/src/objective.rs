//! The function that a fit minimises: minus log marginal likelihood and noise prior over θ, value
//! and gradient together.
//!
//! θ = (log length-scales, log variances, log(σ² − lowest noise), c). Which length-scales and
//! variances there are depends on the model; see [`Layout`]. Learned directions are in θ as the
//! entries of W over their prior's standard deviations, in place of the length-scales, and their
//! Gaussian prior is in the value.

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
/// A learned direction may look along a column that the plain model found no use for; its prior
/// there is this much narrower than along the average column.
const NARROWEST: f64 = 0.1;

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
    /// τ_c, one per column, if directions are learned: the prior of W's entries is N(0, τ_c²).
    entry_scales: Option<Vec<f64>>,
}

impl Layout {
    /// The layout of `config` over these projections. If directions are learned these are the
    /// start, and the prior of their entries is as wide as the start's own.
    pub fn new(config: &Config, projections: Projections) -> Result<Self> {
        for &degree in projections.degrees() {
            config.kernel.check_degree(degree)?;
        }
        let columns = projections.views().columns();
        let entry = 0.5 / (columns as f64).sqrt();
        Ok(Self {
            projections,
            sub_kernel: config.kernel,
            ard: config.ard,
            learn_weights: config.learn_weights,
            noise_bounds: config.noise_bounds,
            entry_scales: config.learn_directions.then(|| vec![entry; columns]),
        })
    }

    /// This layout, of learned directions, at a fitted model of the same projections that had a
    /// length-scale per column, and the θ which stands for that model here.
    ///
    /// Random directions behind such length-scales have entries N(0, 1/σ_c²): the prior of learned
    /// ones is the one that random ones are drawn from.
    pub fn learning_from(&self, plain: &Layout, h: &Hyperparameters) -> Result<(Self, Vec<f64>)> {
        let views = plain.prior(h).kernel.views.to_matrix();
        let mut squares = vec![0.0; views.columns()];
        for r in 0..views.rows() {
            squares.iter_mut().zip(views.row(r)).for_each(|(s, w)| *s += w * w);
        }
        let mean = (squares.iter().sum::<f64>() / squares.len() as f64).max(f64::MIN_POSITIVE);
        let least = NARROWEST * NARROWEST * mean;
        let scale = |s: &f64| (s.max(least) / views.rows() as f64).sqrt();
        let entry_scales = Some(squares.iter().map(scale).collect());
        let (projections, length_scales) = unit_rows(&views, &self.projections);
        let layout = Self { projections, entry_scales, ..self.clone() };
        let h = Hyperparameters { column_length_scales: Vec::new(), length_scales, ..h.clone() };
        let theta = layout.theta(&h)?;
        Ok((layout, theta))
    }

    /// The projections.
    pub fn projections(&self) -> &Projections {
        &self.projections
    }

    /// Number of length-scales, or of entries of W, in θ.
    fn scales(&self) -> usize {
        let p = self.projections.views();
        match (&self.entry_scales, self.ard) {
            (Some(_), _) => p.rows() * p.columns(),
            (None, true) => p.columns(),
            (None, false) => p.rows(),
        }
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
        let p = self.projections.views();
        let mut row = 0;
        let mut squares = Vec::new();
        for &degree in self.projections.degrees() {
            let square: f64 = (row..row + degree).map(|r| p.squared_length(r)).sum();
            squares.extend(std::iter::repeat_n(square.max(f64::MIN_POSITIVE), degree));
            row += degree;
        }
        let mut theta: Vec<f64> = if let Some(tau) = &self.entry_scales {
            let entry = |r: usize, c: usize| p[(r, c)] / (2.0 * squares[r].sqrt() * tau[c]);
            (0..p.rows())
                .flat_map(|r| (0..p.columns()).map(move |c| (r, c)))
                .map(|(r, c)| entry(r, c))
                .collect()
        } else if self.ard {
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

    /// W with the entries that θ has, if directions are learned.
    fn learned_views(&self, theta: &[f64]) -> Option<Matrix> {
        let tau = self.entry_scales.as_ref()?;
        let (rows, columns) = (self.projections.views().rows(), tau.len());
        let entry =
            |r: usize, c: usize| theta[r * columns + c].clamp(-LARGEST_LOG, LARGEST_LOG) * tau[c];
        Some(Matrix::from_fn(rows, columns, entry))
    }

    /// This layout over the projections that θ stands for: if directions are learned, rows of
    /// length 1.
    #[must_use]
    pub fn settled(&self, theta: &[f64]) -> Self {
        let views = self.learned_views(theta);
        let learned = views.map(|w| unit_rows(&w, &self.projections).0);
        Self { projections: learned.unwrap_or_else(|| self.projections.clone()), ..self.clone() }
    }

    /// The hyperparameters that θ stands for. If directions are learned they are those of
    /// [`Layout::settled`].
    pub fn hyperparameters(&self, theta: &[f64]) -> Hyperparameters {
        let learned = self.learned_views(theta).map(|w| unit_rows(&w, &self.projections).1);
        let theta: Vec<f64> = theta.iter().map(|t| t.clamp(-LARGEST_LOG, LARGEST_LOG)).collect();
        let (scales, rest) = theta.split_at(self.scales());
        let (variances, rest) = rest.split_at(self.variances());
        let scales = learned.unwrap_or_else(|| scales.iter().map(|t| t.exp()).collect());
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
        let mut theta: Vec<f64> = if let Some(tau) = &self.entry_scales {
            let p = self.projections.views();
            let entry = |r, (c, t): (usize, &f64)| p[(r, c)] / h.length_scales[r] / t;
            (0..p.rows())
                .flat_map(|r| tau.iter().enumerate().map(move |column| (r, column)))
                .map(|(r, column)| entry(r, column))
                .collect()
        } else {
            let scales = if self.ard { &h.column_length_scales } else { &h.length_scales };
            scales.iter().map(|s| s.ln()).collect()
        };
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
        let p = self.projections.views();
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
        let scale = |r, c| if self.ard { h.column_length_scales[c] } else { h.length_scales[r] };
        let views = self.projections.views().map(|r, c, p: f64| p / scale(r, c));
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

    /// The prior at θ.
    pub fn prior_at(&self, theta: &[f64]) -> Prior {
        let mut prior = self.prior(&self.hyperparameters(theta));
        if let Some(views) = self.learned_views(theta) {
            prior.kernel.views = views.into();
        }
        prior
    }

    /// The value to minimise at θ; writes its gradient.
    pub fn evaluate(
        &self,
        engine: &mut dyn Engine,
        theta: &[f64],
        gradient: &mut [f64],
    ) -> Result<f64> {
        let prior = self.prior_at(theta);
        let evaluation = engine.evaluate(&prior)?;
        let (log_noise_prior, noise_slope) = smoothed_box(prior.noise_variance, self.noise_bounds);
        self.chain_rule(&prior, &evaluation, noise_slope, gradient);
        let mut log_prior = log_noise_prior;
        if self.entry_scales.is_some() {
            for (slope, u) in gradient.iter_mut().zip(&theta[..self.scales()]) {
                let u = u.clamp(-LARGEST_LOG, LARGEST_LOG);
                log_prior -= 0.5 * u * u;
                *slope += u;
            }
        }
        // Beyond the largest logarithm the value is constant.
        for (slope, t) in gradient.iter_mut().zip(theta) {
            if t.abs() > LARGEST_LOG {
                *slope = 0.0;
            }
        }
        Ok(-evaluation.log_marginal_likelihood - log_prior)
    }

    fn chain_rule(&self, prior: &Prior, e: &Evaluation, noise_slope: f64, gradient: &mut [f64]) {
        gradient.fill(0.0);
        let (scales, rest) = gradient.split_at_mut(self.scales());
        let (variances, rest) = rest.split_at_mut(self.variances());
        // W ∝ 1/scale, so ∂W/∂ log scale = −W; the minus of the minimised value cancels it.
        let views = &prior.kernel.views;
        let weights = views.weights().iter().zip(e.views.weights());
        for ((r, c), (weight, slope)) in views.places().zip(weights) {
            match &self.entry_scales {
                Some(tau) => scales[r * tau.len() + c] = -slope * tau[c],
                None => scales[if self.ard { c } else { r }] += slope * weight,
            }
        }
        for (j, (slope, variance)) in e.variances.iter().zip(&prior.kernel.variances).enumerate() {
            variances[if self.learn_weights { j } else { 0 }] -= slope * variance;
        }
        rest[0] = -(e.noise_variance + noise_slope) * (prior.noise_variance - self.noise_bounds.0);
        rest[1] = -e.mean;
    }
}

/// W as rows of length 1 and the length-scales that divide them. A row of W that is as good as 0
/// points nowhere: the one of `otherwise` stands in, with a length-scale to match.
fn unit_rows(views: &Matrix, otherwise: &Projections) -> (Projections, Vec<f64>) {
    let shortest = (-LARGEST_LOG).exp();
    let length = |r: usize| views.row(r).iter().map(|w| w * w).sum::<f64>().sqrt();
    let lengths: Vec<f64> = (0..views.rows()).map(length).collect();
    let matrix = Matrix::from_fn(views.rows(), views.columns(), |r, c| {
        if lengths[r] > shortest { views[(r, c)] / lengths[r] } else { otherwise.views()[(r, c)] }
    });
    let scales = lengths.iter().map(|l| 1.0 / l.max(shortest)).collect();
    (otherwise.with_matrix(matrix), scales)
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
mod tests;
