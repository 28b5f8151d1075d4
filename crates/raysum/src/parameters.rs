//! The parameters of a model: θ ↔ hyperparameters ↔ prior, and the chain rule between them.
//!
//! θ = (log length-scales, log variances, log(σ² − lowest noise), c). Which length-scales and
//! variances there are depends on the model and on the freedom they have; see [`Parameters`].
//! Learned directions are in θ as the entries of W over their prior's standard deviations, in place
//! of the length-scales.

mod freedom;
mod hyperparameters;
mod log_prior;

pub(crate) use freedom::Freedom;
pub use hyperparameters::Hyperparameters;

use crate::config::Config;
use crate::data::Matrix;
use crate::engine::{AdditiveKernel, Evaluation, Prior};
use crate::error::{Error, Result};
use crate::kernel::SubKernel;
use crate::project::Projections;
use log_prior::{cauchy, smoothed_box};

/// Logarithms beyond this are taken for it: e^±20 length-scales are as good as 0 and ∞, and the
/// search may drift there along a column that does not matter.
const LARGEST_LOG: f64 = 20.0;
/// A learned direction may look along a column that the plain model found no use for; its prior
/// there is this much narrower than along the average column.
const NARROWEST: f64 = 0.1;

/// What a search learns of the length-scales; they multiply into W = diag(1/ℓ) P diag(1/σ).
#[derive(Clone, Debug, PartialEq)]
enum Scales {
    /// σ_c, one per column.
    Columns,
    /// ℓ_r, one per row of P.
    Rows,
    /// Every entry of W, under the prior N(0, τ_c²): learned directions.
    Entries(Vec<f64>),
}

/// How the hyperparameters of one model are laid out in θ, and how θ becomes a prior.
#[derive(Clone, Debug)]
pub(crate) struct Parameters {
    projections: Projections,
    sub_kernel: SubKernel,
    scales: Scales,
    learn_weights: bool,
    freedom: Freedom,
    noise_bounds: (f64, f64),
}

impl Parameters {
    /// The parameters of `config` over these projections. If directions are learned these are the
    /// start, and the prior of their entries is as wide as the start's own.
    pub(crate) fn new(config: &Config, projections: Projections) -> Result<Self> {
        for &degree in projections.degrees() {
            config.kernel.check_degree(degree)?;
        }
        let columns = projections.views().columns();
        let scales = if config.learn_directions {
            Scales::Entries(vec![0.5 / (columns as f64).sqrt(); columns])
        } else if config.ard {
            Scales::Columns
        } else {
            Scales::Rows
        };
        Ok(Self {
            projections,
            sub_kernel: config.kernel,
            scales,
            learn_weights: config.learn_weights,
            freedom: Freedom::Free,
            noise_bounds: config.noise_bounds,
        })
    }

    /// The same parameters with more or less freedom. Learned directions have a prior of their own.
    #[must_use]
    pub(crate) fn with(&self, freedom: Freedom) -> Self {
        Self { freedom, ..self.clone() }
    }

    /// Learned directions from a fitted model of the same projections that had a length-scale per
    /// column, and the θ which stands for that model here.
    ///
    /// Random directions behind such length-scales have entries N(0, 1/σ_c²): the prior of learned
    /// ones is the one that random ones are drawn from.
    pub(crate) fn learning_from(
        &self,
        plain: &Parameters,
        h: &Hyperparameters,
    ) -> Result<(Self, Vec<f64>)> {
        let views = plain.prior(h).kernel.views.to_matrix();
        let mut squares = vec![0.0; views.columns()];
        for r in 0..views.rows() {
            squares.iter_mut().zip(views.row(r)).for_each(|(s, w)| *s += w * w);
        }
        let mean = (squares.iter().sum::<f64>() / squares.len() as f64).max(f64::MIN_POSITIVE);
        let least = NARROWEST * NARROWEST * mean;
        let scale = |s: &f64| (s.max(least) / views.rows() as f64).sqrt();
        let scales = Scales::Entries(squares.iter().map(scale).collect());
        let (projections, length_scales) = unit_rows(&views, &self.projections);
        let learning = Self { projections, scales, freedom: Freedom::Free, ..self.clone() };
        let h = Hyperparameters { column_length_scales: Vec::new(), length_scales, ..h.clone() };
        let theta = learning.theta(&h)?;
        Ok((learning, theta))
    }

    /// The projections.
    pub(crate) fn projections(&self) -> &Projections {
        &self.projections
    }

    fn is_common(&self) -> bool {
        self.freedom == Freedom::Common
    }

    /// Number of length-scales, or of entries of W, that the model has.
    fn all_scales(&self) -> usize {
        let p = self.projections.views();
        match self.scales {
            Scales::Columns => p.columns(),
            Scales::Rows => p.rows(),
            Scales::Entries(_) => p.rows() * p.columns(),
        }
    }

    /// Number of them in θ.
    fn scales(&self) -> usize {
        if self.is_common() { 1 } else { self.all_scales() }
    }

    /// Number of variances in θ.
    fn variances(&self) -> usize {
        let each = self.learn_weights && !self.is_common();
        if each { self.projections.degrees().len() } else { 1 }
    }

    /// Number of entries of θ.
    pub(crate) fn len(&self) -> usize {
        self.scales() + self.variances() + 2
    }

    /// Whether there is anything that [`Freedom`] makes a difference to.
    pub(crate) fn is_shrinkable(&self) -> bool {
        let entries = matches!(self.scales, Scales::Entries(_));
        let several =
            self.all_scales() > 1 || (self.learn_weights && self.projections.degrees().len() > 1);
        !entries && several
    }

    /// Logarithms of the length-scales that a search starts from: distances of about half a
    /// length-scale in every sub-kernel. Smooth starts end in better optima than rough ones do.
    fn start_scales(&self) -> Vec<f64> {
        let p = self.projections.views();
        let mut row = 0;
        let mut squares = Vec::new();
        for &degree in self.projections.degrees() {
            let square: f64 = (row..row + degree).map(|r| p.squared_length(r)).sum();
            squares.extend(std::iter::repeat_n(square.max(f64::MIN_POSITIVE), degree));
            row += degree;
        }
        match &self.scales {
            Scales::Entries(tau) => {
                let entry = |r: usize, c: usize| p[(r, c)] / (2.0 * squares[r].sqrt() * tau[c]);
                let places = (0..p.rows()).flat_map(|r| (0..p.columns()).map(move |c| (r, c)));
                places.map(|(r, c)| entry(r, c)).collect()
            }
            Scales::Columns => {
                let mean = squares.iter().sum::<f64>() / squares.len() as f64;
                vec![0.5 * (4.0 * mean).ln(); p.columns()]
            }
            Scales::Rows => squares.iter().map(|s| 0.5 * (4.0 * s).ln()).collect(),
        }
    }

    /// Where a search starts: all of the variance of y explained, a tenth of it noise.
    pub(crate) fn start(&self) -> Vec<f64> {
        self.start_at(0.0, 0.1)
    }

    /// Like [`Parameters::start`], with length-scales so much longer, in logarithms, and this share
    /// of the variance as noise.
    pub(crate) fn start_at(&self, longer: f64, noise: f64) -> Vec<f64> {
        let mut theta = match self.freedom {
            Freedom::Common => vec![longer],
            _ => self.start_scales().iter().map(|s| s + longer).collect(),
        };
        let each = 1.0 / self.variances() as f64;
        theta.extend(vec![each.ln(); self.variances()]);
        theta.push(noise.max(noise * self.noise_bounds.0).ln());
        theta.push(0.0);
        theta
    }

    /// W with the entries that θ has, if directions are learned.
    fn learned_views(&self, theta: &[f64]) -> Option<Matrix> {
        let Scales::Entries(tau) = &self.scales else { return None };
        let (rows, columns) = (self.projections.views().rows(), tau.len());
        let entry =
            |r: usize, c: usize| theta[r * columns + c].clamp(-LARGEST_LOG, LARGEST_LOG) * tau[c];
        Some(Matrix::from_fn(rows, columns, entry))
    }

    /// These parameters over the projections that θ stands for: if directions are learned, rows of
    /// length 1.
    #[must_use]
    pub(crate) fn settled(&self, theta: &[f64]) -> Self {
        let views = self.learned_views(theta);
        let learned = views.map(|w| unit_rows(&w, &self.projections).0);
        Self { projections: learned.unwrap_or_else(|| self.projections.clone()), ..self.clone() }
    }

    /// The hyperparameters that θ stands for. If directions are learned they are those of
    /// [`Parameters::settled`].
    pub(crate) fn hyperparameters(&self, theta: &[f64]) -> Hyperparameters {
        let learned = self.learned_views(theta).map(|w| unit_rows(&w, &self.projections).1);
        let theta: Vec<f64> = theta.iter().map(|t| t.clamp(-LARGEST_LOG, LARGEST_LOG)).collect();
        let (scales, rest) = theta.split_at(self.scales());
        let (variances, rest) = rest.split_at(self.variances());
        let scales = match self.freedom {
            Freedom::Common => {
                self.start_scales().iter().map(|start| (start + scales[0]).exp()).collect()
            }
            _ => learned.unwrap_or_else(|| scales.iter().map(|t| t.exp()).collect()),
        };
        let (column_length_scales, length_scales) = match self.scales {
            Scales::Columns => (scales, Vec::new()),
            Scales::Rows | Scales::Entries(_) => (Vec::new(), scales),
        };
        let j = self.projections.degrees().len();
        let variances = match variances {
            [all] => vec![all.exp() / j as f64; j],
            each => each.iter().map(|t| t.exp()).collect(),
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

    /// The θ that stands for these hyperparameters, as nearly as it can.
    pub(crate) fn theta(&self, h: &Hyperparameters) -> Result<Vec<f64>> {
        self.check(h)?;
        let own = match self.scales {
            Scales::Columns => &h.column_length_scales,
            Scales::Rows | Scales::Entries(_) => &h.length_scales,
        };
        let mut theta: Vec<f64> = match &self.scales {
            Scales::Entries(tau) => {
                let p = self.projections.views();
                let entry = |r, (c, t): (usize, &f64)| p[(r, c)] / h.length_scales[r] / t;
                let places =
                    (0..p.rows()).flat_map(|r| tau.iter().enumerate().map(move |at| (r, at)));
                places.map(|(r, column)| entry(r, column)).collect()
            }
            _ if self.is_common() => {
                let longer = own.iter().zip(self.start_scales()).map(|(s, start)| s.ln() - start);
                vec![longer.sum::<f64>() / own.len() as f64]
            }
            _ => own.iter().map(|s| s.ln()).collect(),
        };
        match self.variances() {
            1 => theta.push(h.scale().ln()),
            _ => theta.extend(h.variances.iter().map(|v| v.ln())),
        }
        theta.push((h.noise_variance - self.noise_bounds.0).max(1e-9 * self.noise_bounds.0).ln());
        theta.push(h.mean);
        Ok(theta.into_iter().map(|t| t.clamp(-LARGEST_LOG, LARGEST_LOG)).collect())
    }

    /// Fails unless there is a finite positive number for everything the model has.
    pub(crate) fn check(&self, h: &Hyperparameters) -> Result<()> {
        let p = self.projections.views();
        let ard = self.scales == Scales::Columns;
        let (columns, rows) = if ard { (p.columns(), 0) } else { (0, p.rows()) };
        for (name, values, expected) in [
            ("column length-scales", &h.column_length_scales, columns),
            ("length-scales", &h.length_scales, rows),
            ("variances", &h.variances, self.projections.degrees().len()),
        ] {
            if values.len() != expected {
                return Err(Error::HyperparameterCount { name, expected, found: values.len() });
            }
            if let Some(&value) = values.iter().find(|v| !(v.is_finite() && **v > 0.0)) {
                return Err(Error::OutOfRange { name, value, rule: "finite and above 0".into() });
            }
        }
        if !(h.noise_variance.is_finite() && h.noise_variance > 0.0) {
            let rule = "finite and above 0".into();
            return Err(Error::OutOfRange {
                name: "the noise variance",
                value: h.noise_variance,
                rule,
            });
        }
        if !h.mean.is_finite() {
            let rule = "finite".into();
            return Err(Error::OutOfRange { name: "the mean", value: h.mean, rule });
        }
        Ok(())
    }

    /// The prior with these hyperparameters.
    pub(crate) fn prior(&self, h: &Hyperparameters) -> Prior {
        let ard = self.scales == Scales::Columns;
        let scale = |r, c| if ard { h.column_length_scales[c] } else { h.length_scales[r] };
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
    pub(crate) fn prior_at(&self, theta: &[f64]) -> Prior {
        let mut prior = self.prior(&self.hyperparameters(theta));
        if let Some(views) = self.learned_views(theta) {
            prior.kernel.views = views.into();
        }
        prior
    }

    /// The value to minimise at θ, minus the log likelihood and the log prior of θ, from the
    /// likelihood's own value and derivatives there; writes its gradient.
    pub(crate) fn minimised(
        &self,
        theta: &[f64],
        prior: &Prior,
        likelihood: &Evaluation,
        gradient: &mut [f64],
    ) -> f64 {
        let (log_noise_prior, noise_slope) = smoothed_box(prior.noise_variance, self.noise_bounds);
        self.chain_rule(prior, likelihood, noise_slope, gradient);
        let log_prior = log_noise_prior + self.log_prior(theta, gradient);
        // Beyond the largest logarithm the value is constant.
        for (slope, t) in gradient.iter_mut().zip(theta) {
            if t.abs() > LARGEST_LOG {
                *slope = 0.0;
            }
        }
        -likelihood.log_marginal_likelihood - log_prior
    }

    /// The log prior of length-scales and variances; its slopes are taken off the gradient.
    fn log_prior(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let (scales, variances) = (self.scales(), self.variances());
        match (&self.scales, self.freedom) {
            (Scales::Entries(_), _) => {
                let mut log_prior = 0.0;
                for (slope, u) in gradient.iter_mut().zip(&theta[..scales]) {
                    let u = u.clamp(-LARGEST_LOG, LARGEST_LOG);
                    log_prior -= 0.5 * u * u;
                    *slope += u;
                }
                log_prior
            }
            (Scales::Columns | Scales::Rows, Freedom::Shrunk(width)) => {
                let start = self.start_scales();
                let clamped = |t: &f64| t.clamp(-LARGEST_LOG, LARGEST_LOG);
                let longer: Vec<f64> =
                    theta.iter().zip(&start).map(|(t, s)| clamped(t) - s).collect();
                let others = scales..scales + variances;
                cauchy(&longer, width, &mut gradient[..scales])
                    + cauchy(&theta[others.clone()], width, &mut gradient[others])
            }
            (Scales::Columns | Scales::Rows, Freedom::Common | Freedom::Free) => 0.0,
        }
    }

    fn chain_rule(&self, prior: &Prior, e: &Evaluation, noise_slope: f64, gradient: &mut [f64]) {
        gradient.fill(0.0);
        let (scales, rest) = gradient.split_at_mut(self.scales());
        let (variances, rest) = rest.split_at_mut(self.variances());
        // W ∝ 1/scale, so ∂W/∂ log scale = −W; the minus of the minimised value cancels it.
        let views = &prior.kernel.views;
        let weights = views.weights().iter().zip(e.views.weights());
        for ((r, c), (weight, slope)) in views.places().zip(weights) {
            match &self.scales {
                Scales::Entries(tau) => scales[r * tau.len() + c] = -slope * tau[c],
                _ if self.is_common() => scales[0] += slope * weight,
                Scales::Columns => scales[c] += slope * weight,
                Scales::Rows => scales[r] += slope * weight,
            }
        }
        let each = variances.len() > 1;
        for (j, (slope, variance)) in e.variances.iter().zip(&prior.kernel.variances).enumerate() {
            variances[if each { j } else { 0 }] -= slope * variance;
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

#[cfg(test)]
mod tests;
