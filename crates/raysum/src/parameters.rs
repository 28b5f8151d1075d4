//! The parameters of a model: θ ↔ hyperparameters ↔ prior, and the chain rule between them.
//!
//! θ = (log length-scales and log variances of each term, log(σ² − lowest noise), c). Which
//! length-scales and variances there are depends on the term and on the freedom they have.
//! Learned directions are in θ as the entries of W over their prior's standard deviations, in place
//! of the length-scales.

mod freedom;
mod hyperparameters;
mod log_prior;
mod term;

pub(crate) use freedom::Freedom;
pub use hyperparameters::{Hyperparameters, TermHyperparameters};

use crate::config::Config;
use crate::engine::{AdditiveKernel, Evaluation, Prior};
use crate::error::{Error, Result};
use crate::kernel::Shape;
use crate::project::Projections;
use crate::views::Views;
use log_prior::smoothed_box;
use term::{TermParameters, TermSlopes};

/// Logarithms are clipped to this: e^±20 length-scales act like 0 and ∞, and without a prior the
/// search may drift there along an irrelevant column.
const LARGEST_LOG: f64 = 20.0;
/// A learned direction may use a column that is irrelevant in the plain model; its prior
/// there is this much narrower than along the average column.
const NARROWEST: f64 = 0.1;
/// How much longer the length-scales of a term are that a search holds back, in logarithms, and its share
/// of the variance that it has otherwise.
const HELD_BACK: (f64, f64) = (3.0, 0.01);

/// How the hyperparameters of one model are laid out in θ, and how θ becomes a prior.
#[derive(Clone, Debug)]
pub(crate) struct Parameters {
    terms: Vec<TermParameters>,
    freedom: Freedom,
    noise_bounds: (f64, f64),
    /// How much longer than usual length-scales are where a search starts, in logarithms.
    longer: f64,
    /// A term that a search leaves as it starts: so smooth and small that it hardly counts.
    held_back: Option<usize>,
}

impl Parameters {
    /// The parameters of `config` over the projections of each term. If directions are learned
    /// these are the start.
    pub(crate) fn new(config: &Config, projections: Vec<Projections>) -> Result<Self> {
        if projections.len() != config.terms.len() {
            return Err(Error::HyperparameterCount {
                name: "projections of terms",
                expected: config.terms.len(),
                found: projections.len(),
            });
        }
        let term = |(term, projections)| TermParameters::new(term, config.prior, projections);
        let terms = config.terms.iter().zip(projections).map(term).collect::<Result<_>>()?;
        let (freedom, noise_bounds) = (Freedom::Free, config.noise_bounds);
        Ok(Self { terms, freedom, noise_bounds, longer: 0.0, held_back: None })
    }

    /// The same parameters with more or less freedom. Learned directions have a prior of their own.
    #[must_use]
    pub(crate) fn with(&self, freedom: Freedom) -> Self {
        Self { freedom, ..self.clone() }
    }

    /// The same parameters, whose search starts with length-scales longer by this, in logarithms.
    #[must_use]
    pub(crate) fn starting_longer(self, longer: f64) -> Self {
        Self { longer, ..self }
    }

    /// The same parameters whose search leaves the term with the most functions aside; `None` unless
    /// several terms have functions that can be rough.
    pub(crate) fn without_largest(&self) -> Option<Self> {
        let rough = |(_, term): &(usize, &TermParameters)| term.shape != Shape::Linear;
        let each = || self.terms.iter().enumerate().filter(rough);
        let largest = each().max_by_key(|(_, term)| term.projections.degrees().len())?.0;
        (each().count() > 1).then(|| Self { held_back: Some(largest), ..self.clone() })
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
        let each = self.terms.iter().zip(&plain.terms).zip(&h.terms);
        let (terms, of_terms) = each.map(|((own, plain), h)| own.learning_from(plain, h)).unzip();
        let learning = Self { terms, freedom: Freedom::Free, ..self.clone() };
        let theta = learning.theta(&Hyperparameters { terms: of_terms, ..h.clone() })?;
        Ok((learning, theta))
    }

    /// The projections of each term.
    pub(crate) fn projections(&self) -> Vec<Projections> {
        self.terms.iter().map(|term| term.projections.clone()).collect()
    }

    /// Number of entries of θ.
    pub(crate) fn len(&self) -> usize {
        self.terms.iter().map(|term| term.len(self.freedom)).sum::<usize>() + 2
    }

    /// Whether there is anything that [`Freedom`] makes a difference to.
    pub(crate) fn is_shrinkable(&self) -> bool {
        self.terms.iter().any(TermParameters::is_shrinkable)
    }

    /// The part of θ that each term has.
    fn parts<'t>(
        &'t self,
        theta: &'t [f64],
    ) -> impl Iterator<Item = (&'t TermParameters, &'t [f64])> {
        self.terms.iter().scan(theta, |rest, term| {
            let (own, others) = rest.split_at(term.len(self.freedom));
            *rest = others;
            Some((term, own))
        })
    }

    /// Where a search starts: all of the variance of y explained, a tenth of it noise.
    pub(crate) fn start(&self) -> Vec<f64> {
        self.start_at(0.0, 0.1)
    }

    /// Like [`Parameters::start`], with length-scales so much longer, in logarithms, and this share
    /// of the variance as noise.
    pub(crate) fn start_at(&self, longer: f64, noise: f64) -> Vec<f64> {
        let variance = 1.0 / self.terms.len() as f64;
        let longer = self.longer + longer;
        let start = |(index, term): (usize, &TermParameters)| {
            let (even_longer, share) =
                if self.held_back == Some(index) { HELD_BACK } else { (0.0, 1.0) };
            term.start(self.freedom, longer + even_longer, share * variance)
        };
        let mut theta: Vec<f64> = self.terms.iter().enumerate().flat_map(start).collect();
        theta.push(noise.max(noise * self.noise_bounds.0).ln());
        theta.push(0.0);
        theta
    }

    /// These parameters over the projections that θ stands for: if directions are learned, rows of
    /// length 1.
    #[must_use]
    pub(crate) fn settled(&self, theta: &[f64]) -> Self {
        let terms = self.parts(theta).map(|(term, theta)| term.settled(theta)).collect();
        Self { terms, ..self.clone() }
    }

    /// The hyperparameters that θ stands for. If directions are learned they are those of
    /// [`Parameters::settled`].
    pub(crate) fn hyperparameters(&self, theta: &[f64]) -> Hyperparameters {
        let parts = self.parts(theta);
        let terms = parts.map(|(term, theta)| term.hyperparameters(self.freedom, theta)).collect();
        let rest = theta[theta.len() - 2..].iter().map(|t| t.clamp(-LARGEST_LOG, LARGEST_LOG));
        let rest: Vec<f64> = rest.collect();
        let noise_variance = self.noise_bounds.0 + rest[0].exp();
        Hyperparameters { terms, noise_variance, mean: rest[1] }
    }

    /// The θ closest to these hyperparameters.
    pub(crate) fn theta(&self, h: &Hyperparameters) -> Result<Vec<f64>> {
        self.check(h)?;
        let each = self.terms.iter().zip(&h.terms);
        let mut theta: Vec<f64> = each.flat_map(|(term, h)| term.theta(self.freedom, h)).collect();
        theta.push((h.noise_variance - self.noise_bounds.0).max(1e-9 * self.noise_bounds.0).ln());
        theta.push(h.mean);
        Ok(theta.into_iter().map(|t| t.clamp(-LARGEST_LOG, LARGEST_LOG)).collect())
    }

    /// Fails unless there is a finite positive number for everything the model has.
    pub(crate) fn check(&self, h: &Hyperparameters) -> Result<()> {
        let (expected, found) = (self.terms.len(), h.terms.len());
        if found != expected {
            return Err(Error::HyperparameterCount { name: "terms", expected, found });
        }
        self.terms.iter().zip(&h.terms).try_for_each(|(term, h)| term.check(h))?;
        if !(h.noise_variance.is_finite() && h.noise_variance > 0.0) {
            let rule = "finite and above 0".into();
            return Err(Error::OutOfRange {
                name: "the noise variance",
                value: h.noise_variance,
                rule,
            });
        }
        if !h.mean.is_finite() {
            return Err(Error::OutOfRange {
                name: "the mean",
                value: h.mean,
                rule: "finite".into(),
            });
        }
        Ok(())
    }

    /// The prior with these hyperparameters.
    pub(crate) fn prior(&self, h: &Hyperparameters) -> Prior {
        let each = self.terms.iter().zip(&h.terms);
        self.prior_of(h, each.map(|(term, h)| term.views(h)))
    }

    /// The prior at θ.
    pub(crate) fn prior_at(&self, theta: &[f64]) -> Prior {
        let h = self.hyperparameters(theta);
        let each = self.parts(theta).zip(&h.terms);
        self.prior_of(&h, each.map(|((term, theta), h)| term.views_at(theta, h)))
    }

    fn prior_of(&self, h: &Hyperparameters, views: impl Iterator<Item = Views>) -> Prior {
        let (mut shapes, mut degrees, mut variances) = (Vec::new(), Vec::new(), Vec::new());
        for (term, h) in self.terms.iter().zip(&h.terms) {
            let own = term.projections.degrees();
            shapes.extend(own.iter().map(|degree| term.shape.in_dimensions(*degree)));
            degrees.extend_from_slice(own);
            variances.extend_from_slice(&h.variances);
        }
        Prior {
            kernel: AdditiveKernel { shapes, degrees, views: Views::stacked(views), variances },
            noise_variance: h.noise_variance,
            mean: h.mean,
        }
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
        let log_prior =
            log_noise_prior + self.log_prior(theta, gradient, TermParameters::log_prior);
        // Beyond the largest logarithm this much is constant.
        for (slope, t) in gradient.iter_mut().zip(theta) {
            if t.abs() > LARGEST_LOG {
                *slope = 0.0;
            }
        }
        let log_normal = self.log_prior(theta, gradient, TermParameters::log_normal);
        if let Some(held_back) = self.held_back {
            let lengths = self.terms.iter().map(|term| term.len(self.freedom));
            let from = lengths.clone().take(held_back).sum();
            let own = gradient[from..].iter_mut().take(self.terms[held_back].len(self.freedom));
            own.for_each(|slope| *slope = 0.0);
        }
        -likelihood.log_marginal_likelihood - log_prior - log_normal
    }

    /// A log prior of all terms; its slopes are taken off the gradient.
    fn log_prior(
        &self,
        theta: &[f64],
        gradient: &mut [f64],
        of: impl Fn(&TermParameters, Freedom, &[f64], &mut [f64]) -> f64,
    ) -> f64 {
        let mut rest = gradient;
        let mut log_prior = 0.0;
        for (term, theta) in self.parts(theta) {
            let (own, others) = rest.split_at_mut(theta.len());
            log_prior += of(term, self.freedom, theta, own);
            rest = others;
        }
        log_prior
    }

    fn chain_rule(&self, prior: &Prior, e: &Evaluation, noise_slope: f64, gradient: &mut [f64]) {
        gradient.fill(0.0);
        let (views, slopes) = (prior.kernel.views.weights(), e.views.weights());
        let (mut weight, mut sub_kernel) = (0, 0);
        let mut rest = gradient;
        for term in &self.terms {
            let (own, others) = rest.split_at_mut(term.len(self.freedom));
            let weights = weight..weight + term.weights();
            let kernels = sub_kernel..sub_kernel + term.projections.degrees().len();
            (weight, sub_kernel) = (weights.end, kernels.end);
            let of = TermSlopes {
                weights: (&views[weights.clone()], &slopes[weights]),
                variances: (&prior.kernel.variances[kernels.clone()], &e.variances[kernels]),
            };
            term.chain_rule(self.freedom, &of, own);
            rest = others;
        }
        rest[0] = -(e.noise_variance + noise_slope) * (prior.noise_variance - self.noise_bounds.0);
        rest[1] = -e.mean;
    }
}

#[cfg(test)]
mod tests;
