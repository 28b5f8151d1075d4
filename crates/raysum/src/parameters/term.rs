//! The parameters of one term: its part of θ ↔ its hyperparameters ↔ its part of the kernel.

use super::hyperparameters::TermHyperparameters;
use super::log_prior::{cauchy, normal};
use super::{Freedom, LARGEST_LOG, NARROWEST};
use crate::config::{LengthScalePrior, LengthScales, Term};
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::kernel::Shape;
use crate::project::Projections;
use crate::views::Views;

/// How much longer than the start the middle of the log-normal prior of length-scales is, and its
/// width: e^√2 times the root of the number of columns in a kernel, and √3 (Hvarfner, Hellsten and
/// Nardi 2024).
const LONGER: f64 = std::f64::consts::SQRT_2 - std::f64::consts::LN_2;
const WIDTH: f64 = 1.732_050_807_568_877_2;

/// The learned length-scales, which multiply into W = diag(1/ℓ) P diag(1/σ).
#[derive(Clone, Debug, PartialEq)]
enum Scales {
    /// σ_c, one per column.
    Columns,
    /// ℓ_r, one per row of P.
    Rows,
    /// ℓ, one for all.
    One,
    /// Nothing: W = P.
    Fixed,
    /// Every entry of W, under the prior N(0, τ_c²): learned directions.
    Entries(Vec<f64>),
}

/// How the hyperparameters of a term are laid out in its part of θ: length-scales, then variances.
#[derive(Clone, Debug)]
pub(super) struct TermParameters {
    pub(super) projections: Projections,
    pub(super) shape: Shape,
    scales: Scales,
    learn_weights: bool,
    prior: LengthScalePrior,
}

/// The slopes of the likelihood with respect to a term's part of the kernel.
pub(super) struct TermSlopes<'s> {
    /// The weights of the views, and ∂/∂W.
    pub(super) weights: (&'s [f64], &'s [f64]),
    /// λ_j, and ∂/∂λ_j.
    pub(super) variances: (&'s [f64], &'s [f64]),
}

impl TermParameters {
    /// The parameters of `term` over these projections. If directions are learned these are the
    /// start, and the prior of their entries is as wide as the start's own.
    pub(super) fn new(
        term: &Term,
        prior: LengthScalePrior,
        projections: Projections,
    ) -> Result<Self> {
        for &degree in projections.degrees() {
            term.kernel.check_degree(degree)?;
        }
        let columns = projections.views().columns();
        let scales = match term.length_scales {
            LengthScales::Columns => Scales::Columns,
            LengthScales::Projections => Scales::Rows,
            LengthScales::Common => Scales::One,
            LengthScales::Fixed => Scales::Fixed,
            LengthScales::Directions => {
                Scales::Entries(vec![0.5 / (columns as f64).sqrt(); columns])
            }
        };
        let (shape, learn_weights) = (term.kernel, term.learn_weights);
        Ok(Self { projections, shape, scales, learn_weights, prior })
    }

    /// This term with learned directions, from the same term fitted with a length-scale per column:
    /// see [`Parameters::learning_from`](super::Parameters::learning_from).
    pub(super) fn learning_from(
        &self,
        plain: &Self,
        h: &TermHyperparameters,
    ) -> (Self, TermHyperparameters) {
        if !matches!(self.scales, Scales::Entries(_)) {
            return (self.clone(), h.clone());
        }
        let views = plain.views(h).to_matrix();
        let mut squares = vec![0.0; views.columns()];
        for r in 0..views.rows() {
            squares.iter_mut().zip(views.row(r)).for_each(|(s, w)| *s += w * w);
        }
        let mean = (squares.iter().sum::<f64>() / squares.len() as f64).max(f64::MIN_POSITIVE);
        let least = NARROWEST * NARROWEST * mean;
        let scale = |s: &f64| (s.max(least) / views.rows() as f64).sqrt();
        let scales = Scales::Entries(squares.iter().map(scale).collect());
        let (projections, length_scales) = unit_rows(&views, &self.projections);
        let learning = Self { projections, scales, ..self.clone() };
        let h =
            TermHyperparameters { column_length_scales: Vec::new(), length_scales, ..h.clone() };
        (learning, h)
    }

    /// τ, the widths of the prior of learned directions.
    #[cfg(test)]
    pub(super) fn entry_widths(&self) -> Option<&[f64]> {
        if let Scales::Entries(tau) = &self.scales { Some(tau) } else { None }
    }

    /// Number of length-scales, or of entries of W, that the term has.
    fn all_scales(&self) -> usize {
        let p = self.projections.views();
        match self.scales {
            Scales::Columns => p.columns(),
            Scales::Rows => p.rows(),
            Scales::One => 1,
            Scales::Fixed => 0,
            Scales::Entries(_) => p.rows() * p.columns(),
        }
    }

    /// Whether all length-scales are one parameter.
    fn is_common(&self, freedom: Freedom) -> bool {
        let several = matches!(self.scales, Scales::Columns | Scales::Rows);
        freedom == Freedom::Common && several
    }

    /// Number of length-scales in θ.
    fn scales(&self, freedom: Freedom) -> usize {
        if self.is_common(freedom) { 1 } else { self.all_scales() }
    }

    /// Number of variances in θ.
    fn variances(&self, freedom: Freedom) -> usize {
        let common = freedom == Freedom::Common && !matches!(self.scales, Scales::Entries(_));
        let each = self.learn_weights && !common;
        if each { self.projections.degrees().len() } else { 1 }
    }

    /// Number of entries of θ.
    pub(super) fn len(&self, freedom: Freedom) -> usize {
        self.scales(freedom) + self.variances(freedom)
    }

    /// Number of weights that its views keep.
    pub(super) fn weights(&self) -> usize {
        match self.scales {
            Scales::Entries(_) => self.all_scales(),
            _ => self.projections.views().weights().len(),
        }
    }

    /// Whether there is anything that [`Freedom`] makes a difference to.
    pub(super) fn is_shrinkable(&self) -> bool {
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
            let own = (row..row + degree).map(|r| p.squared_length(r));
            let square = if self.shape.is_taxicab() {
                own.map(f64::sqrt).sum::<f64>().powi(2)
            } else {
                own.sum()
            };
            squares.extend(std::iter::repeat_n(square.max(f64::MIN_POSITIVE), degree));
            row += degree;
        }
        let mean = || 0.5 * (4.0 * squares.iter().sum::<f64>() / squares.len() as f64).ln();
        match &self.scales {
            Scales::Entries(tau) => {
                let entry = |r: usize, c: usize| p[(r, c)] / (2.0 * squares[r].sqrt() * tau[c]);
                let places = (0..p.rows()).flat_map(|r| (0..p.columns()).map(move |c| (r, c)));
                places.map(|(r, c)| entry(r, c)).collect()
            }
            Scales::Columns => vec![mean(); p.columns()],
            Scales::One => vec![mean()],
            Scales::Rows => squares.iter().map(|s| 0.5 * (4.0 * s).ln()).collect(),
            Scales::Fixed => Vec::new(),
        }
    }

    /// Where a search starts, with length-scales so much longer than usual, in logarithms, and this
    /// variance in all.
    pub(super) fn start(&self, freedom: Freedom, longer: f64, variance: f64) -> Vec<f64> {
        let mut theta = if self.is_common(freedom) {
            vec![longer]
        } else {
            self.start_scales().iter().map(|s| s + longer).collect()
        };
        let variances = self.variances(freedom);
        theta.extend(vec![(variance / variances as f64).ln(); variances]);
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

    /// The term over the projections that θ stands for: if directions are learned, rows of length
    /// 1.
    pub(super) fn settled(&self, theta: &[f64]) -> Self {
        let views = self.learned_views(theta);
        let learned = views.map(|w| unit_rows(&w, &self.projections).0);
        Self { projections: learned.unwrap_or_else(|| self.projections.clone()), ..self.clone() }
    }

    /// The hyperparameters that θ stands for.
    pub(super) fn hyperparameters(&self, freedom: Freedom, theta: &[f64]) -> TermHyperparameters {
        let learned = self.learned_views(theta).map(|w| unit_rows(&w, &self.projections).1);
        let theta: Vec<f64> = theta.iter().map(|t| t.clamp(-LARGEST_LOG, LARGEST_LOG)).collect();
        let (scales, variances) = theta.split_at(self.scales(freedom));
        let scales = if self.is_common(freedom) {
            self.start_scales().iter().map(|start| (start + scales[0]).exp()).collect()
        } else {
            learned.unwrap_or_else(|| scales.iter().map(|t| t.exp()).collect())
        };
        let (column_length_scales, length_scales) = match self.scales {
            Scales::Columns => (scales, Vec::new()),
            _ => (Vec::new(), scales),
        };
        let j = self.projections.degrees().len();
        let variances = match variances {
            [all] => vec![all.exp() / j as f64; j],
            each => each.iter().map(|t| t.exp()).collect(),
        };
        TermHyperparameters { column_length_scales, length_scales, variances }
    }

    /// The θ closest to these hyperparameters.
    pub(super) fn theta(&self, freedom: Freedom, h: &TermHyperparameters) -> Vec<f64> {
        let own = match self.scales {
            Scales::Columns => &h.column_length_scales,
            _ => &h.length_scales,
        };
        let mut theta: Vec<f64> = match &self.scales {
            Scales::Entries(tau) => {
                let p = self.projections.views();
                let entry = |r, (c, t): (usize, &f64)| p[(r, c)] / h.length_scales[r] / t;
                let places =
                    (0..p.rows()).flat_map(|r| tau.iter().enumerate().map(move |at| (r, at)));
                places.map(|(r, column)| entry(r, column)).collect()
            }
            _ if self.is_common(freedom) => {
                let longer = own.iter().zip(self.start_scales()).map(|(s, start)| s.ln() - start);
                vec![longer.sum::<f64>() / own.len() as f64]
            }
            _ => own.iter().map(|s| s.ln()).collect(),
        };
        match self.variances(freedom) {
            1 => theta.push(h.variances.iter().sum::<f64>().ln()),
            _ => theta.extend(h.variances.iter().map(|v| v.ln())),
        }
        theta
    }

    /// Fails unless there is a finite positive number for everything the term has.
    pub(super) fn check(&self, h: &TermHyperparameters) -> Result<()> {
        let p = self.projections.views();
        let (columns, others) = match self.scales {
            Scales::Columns => (p.columns(), 0),
            Scales::Rows | Scales::Entries(_) => (0, p.rows()),
            Scales::One => (0, 1),
            Scales::Fixed => (0, 0),
        };
        for (name, values, expected) in [
            ("column length-scales", &h.column_length_scales, columns),
            ("length-scales", &h.length_scales, others),
            ("variances", &h.variances, self.projections.degrees().len()),
        ] {
            if values.len() != expected {
                return Err(Error::HyperparameterCount { name, expected, found: values.len() });
            }
            if let Some(&value) = values.iter().find(|v| !(v.is_finite() && **v > 0.0)) {
                return Err(Error::OutOfRange { name, value, rule: "finite and above 0".into() });
            }
        }
        Ok(())
    }

    /// W with these hyperparameters.
    pub(super) fn views(&self, h: &TermHyperparameters) -> Views {
        let scale = |r: usize, c: usize| match self.scales {
            Scales::Columns => h.column_length_scales[c],
            Scales::Rows | Scales::Entries(_) => h.length_scales[r],
            Scales::One => h.length_scales[0],
            Scales::Fixed => 1.0,
        };
        self.projections.views().map(|r, c, p: f64| p / scale(r, c))
    }

    /// W at θ, which for learned directions has the very entries.
    pub(super) fn views_at(&self, theta: &[f64], h: &TermHyperparameters) -> Views {
        self.learned_views(theta).map_or_else(|| self.views(h), Views::from)
    }

    /// The log-normal prior of length-scales, if they have one; its slopes are taken off the gradient.
    /// It goes on beyond the largest logarithm: a search that steps there is drawn back.
    pub(super) fn log_normal(&self, freedom: Freedom, theta: &[f64], gradient: &mut [f64]) -> f64 {
        if self.prior != LengthScalePrior::LogNormal || matches!(self.scales, Scales::Entries(_)) {
            return 0.0;
        }
        let start = if self.is_common(freedom) { vec![0.0] } else { self.start_scales() };
        let longer: Vec<f64> = theta.iter().zip(&start).map(|(t, s)| t - s).collect();
        normal(&longer, LONGER, WIDTH, &mut gradient[..self.scales(freedom)])
    }

    /// The log prior that ties length-scales and variances to their means, or that of directions; its
    /// slopes are taken off the gradient.
    pub(super) fn log_prior(&self, freedom: Freedom, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let scales = self.scales(freedom);
        if let Scales::Entries(_) = self.scales {
            let mut log_prior = 0.0;
            for (slope, u) in gradient.iter_mut().zip(&theta[..scales]) {
                let u = u.clamp(-LARGEST_LOG, LARGEST_LOG);
                log_prior -= 0.5 * u * u;
                *slope += u;
            }
            return log_prior;
        }
        // By how much longer than at the start they are.
        let start = if self.is_common(freedom) { vec![0.0] } else { self.start_scales() };
        let clamped = |t: &f64| t.clamp(-LARGEST_LOG, LARGEST_LOG);
        let longer: Vec<f64> = theta.iter().zip(&start).map(|(t, s)| clamped(t) - s).collect();
        let (of_scales, of_variances) = gradient.split_at_mut(scales);
        let mut log_prior = 0.0;
        if let Freedom::Shrunk(width) = freedom
            && self.is_shrinkable()
        {
            log_prior += cauchy(&longer, width, of_scales);
            log_prior += cauchy(&theta[scales..], width, of_variances);
        }
        log_prior
    }

    /// The gradient of the value to minimise with respect to the term's part of θ.
    pub(super) fn chain_rule(&self, freedom: Freedom, of: &TermSlopes<'_>, gradient: &mut [f64]) {
        let common = self.is_common(freedom);
        let (scales, variances) = gradient.split_at_mut(self.scales(freedom));
        let (weights, slopes) = of.weights;
        if let Scales::Entries(tau) = &self.scales {
            for (k, (gradient, slope)) in scales.iter_mut().zip(slopes).enumerate() {
                *gradient = -slope * tau[k % tau.len()];
            }
        } else {
            // W ∝ 1/scale, so ∂W/∂ log scale = −W; the minus of the minimised value cancels it.
            let entries = self.projections.views().entries();
            for ((r, c), (weight, slope)) in entries.zip(weights.iter().zip(slopes)) {
                match self.scales {
                    Scales::Fixed | Scales::Entries(_) => {}
                    _ if common => scales[0] += slope * weight,
                    Scales::One => scales[0] += slope * weight,
                    Scales::Columns => scales[c] += slope * weight,
                    Scales::Rows => scales[r] += slope * weight,
                }
            }
        }
        let each = variances.len() > 1;
        for (j, (variance, slope)) in of.variances.0.iter().zip(of.variances.1).enumerate() {
            variances[if each { j } else { 0 }] -= slope * variance;
        }
    }
}

/// W as rows of length 1 and the length-scales that divide them. A row of W that is nearly 0
/// has no direction: that of `otherwise` is used, with a matching length-scale.
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
