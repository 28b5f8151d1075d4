//! What each column contributes to a prediction.
//!
//! The contributions are integrated gradients (Sundararajan, Taly and Yan 2017) of the predicted mean m
//! along the straight line from a baseline b, the row of the columns' means, to the row x, both on the
//! scales that the model sees:
//!
//! ```text
//! contribution of column c = (x_c − b_c) ∫₀¹ ∂m/∂x_c (b + t (x − b)) dt
//! ```
//!
//! They add up to m(x) − m(b). Of a function of one projection, f(w'x), the integral is known: its
//! change f(w'x) − f(w'b), shared by the columns in proportion to w_c (x_c − b_c). So models that add up
//! functions of columns or of projections are explained exactly; other kernels, and transformed targets,
//! by quadrature. What quadrature leaves over is shared in proportion to the sizes of the contributions.

use super::{Model, require};
use crate::data::{Matrix, MatrixRef};
use crate::engine::Marginals;
use crate::error::{Error, Result};

/// Nodes and weights of Gauss and Legendre's rule on [0, 1].
const RULE: [(f64, f64); 4] = [
    (0.069_431_844_202_973_71, 0.173_927_422_568_726_93),
    (0.330_009_478_207_571_9, 0.326_072_577_431_273_07),
    (0.669_990_521_792_428_1, 0.326_072_577_431_273_07),
    (0.930_568_155_797_026_3, 0.173_927_422_568_726_93),
];
/// Numbers of equal parts of the line, tried one after another until the contributions add up.
const PARTS: [usize; 4] = [2, 8, 32, 96];
/// The largest gap that counts as adding up, in standard deviations of the target.
const GAP: f64 = 1e-4;
/// A projection along which row and baseline are closer than this share of what its columns differ by
/// does not change between them.
const SAME: f64 = 1e-6;

/// What each column contributes to predictions, in the target's units.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The prediction at the row of the columns' means.
    pub baseline: f64,
    /// A row per row explained, and a column per original column, as [`Model::relevance`] counts them:
    /// with the baseline they add up to the predicted mean.
    pub contributions: Matrix,
}

/// A function of a row: its change from the baseline, and that by columns of X.
struct Changes {
    total: Vec<f64>,
    by_column: Matrix,
}

impl Model {
    /// What each column contributes to the predicted mean at each row of `x`.
    pub fn explain<'a>(&self, x: impl Into<MatrixRef<'a>>) -> Result<Explanation> {
        self.explain_inflated(x.into(), 1.0)
    }

    /// The same of a member whose standard deviations are multiplied by a factor: the mean of a
    /// transformed target depends on them.
    pub(crate) fn explain_inflated(&self, x: MatrixRef<'_>, factor: f64) -> Result<Explanation> {
        let x = self.check(x)?;
        require(x, "explanations", &[&[x.rows(), x.columns() + self.groups.len(), 2]])?;
        let mean_row = Matrix::from_fn(1, self.columns(), |_, c| self.scaler.x[c].mean);
        let from = self.standardised((&mean_row).into())?;
        let base_level = self.noise_levels((&mean_row).into())?.map(|levels| levels[0]);
        let levels = self.noise_levels(x)?;
        let blocks = self.by_range(x, |range, rows| {
            let line = BaselineLine { model: self, from: &from, to: rows, factor };
            match &levels {
                Some(levels) => line.changes(&levels[range], base_level.unwrap_or(1.0)),
                None => line.changes(&[], 1.0),
            }
        })?;
        let noise = self.noise_variance(base_level.as_ref().map(std::slice::from_ref), 0);
        let baseline = self.value(&self.posterior.marginals(&from), 0, factor, noise);
        let mut all = Matrix::zeros(x.rows(), self.features_of_table());
        let rows = blocks.iter().flat_map(|changes| {
            (0..changes.total.len()).map(move |i| (changes.total[i], changes.by_column.row(i)))
        });
        for (i, (total, by_column)) in rows.enumerate() {
            if !total.is_finite() {
                return Err(Error::NotFinitePrediction { row: i });
            }
            for (c, own) in by_column.iter().enumerate() {
                let group = self.groups.get(c).copied().unwrap_or(c);
                all[(i, group)] += own;
            }
        }
        Ok(Explanation { baseline, contributions: all })
    }

    /// Number of original columns.
    fn features_of_table(&self) -> usize {
        self.groups.last().map_or(self.columns(), |last| last + 1)
    }

    /// The predicted mean in the target's units, from that of f and its variance and noise.
    fn value(&self, f: &Marginals, row: usize, factor: f64, noise: f64) -> f64 {
        let std = if self.scaler.power.is_some() {
            factor * (f.variance[row] + noise).sqrt()
        } else {
            0.0
        };
        self.scaler.undo_moments(f.mean[row], std).0.clamp(f64::MIN, f64::MAX)
    }
}

/// The lines from the baseline to some rows, all standardised.
struct BaselineLine<'a> {
    model: &'a Model,
    from: &'a Matrix,
    to: &'a Matrix,
    factor: f64,
}

impl BaselineLine<'_> {
    /// The changes of the prediction in the target's units, where the noise has these levels at the
    /// rows and at the baseline; no levels, if they do not vary.
    fn changes(&self, levels: &[f64], base_level: f64) -> Changes {
        let model = self.model;
        let unit = model.scaler.unit();
        if model.scaler.power.is_some() {
            let noise = |i: usize, t: f64| {
                let level = levels.get(i).map(|level| base_level.powf(1.0 - t) * level.powf(t));
                model.noise_variance(level.as_ref().map(std::slice::from_ref), 0)
            };
            return self.transformed(&noise);
        }
        let (start, end) = (model.posterior.mean(self.from)[0], model.posterior.mean(self.to));
        let total: Vec<f64> = end.iter().map(|end| finite((end - start) * unit)).collect();
        let exact = self.secants();
        let slopes = |_: f64, rows: &[usize], points: &Matrix| {
            let mut slopes = model.posterior.mean_slopes(points);
            if let Some(exact) = &exact {
                for (k, row) in rows.iter().enumerate() {
                    let each = slopes.row_mut(k).iter_mut().zip(exact.row(*row));
                    each.filter(|(_, known)| !known.is_nan()).for_each(|(s, known)| *s = *known);
                }
            }
            let mut along = model.prior().kernel.views.along_columns(&slopes);
            along.as_mut_slice().iter_mut().for_each(|slope| *slope *= unit);
            along
        };
        let all_known = exact.as_ref().is_some_and(|e| e.as_slice().iter().all(|s| !s.is_nan()));
        self.integrated(total, all_known, slopes)
    }

    /// The changes where the target is transformed: its mean depends on the spread too.
    fn transformed(&self, noise: &dyn Fn(usize, f64) -> f64) -> Changes {
        let model = self.model;
        let Some(power) = model.scaler.power else {
            return Changes { total: Vec::new(), by_column: Matrix::zeros(0, 0) };
        };
        let start = model.posterior.marginals(self.from);
        let end = model.posterior.marginals(self.to);
        let total = |i: usize| {
            finite(
                model.value(&end, i, self.factor, noise(i, 1.0))
                    - model.value(&start, 0, self.factor, noise(i, 0.0)),
            )
        };
        let slopes = |t: f64, rows: &[usize], points: &Matrix| {
            let views = &model.prior().kernel.views;
            let f = model.posterior.marginals(points);
            let mut of_mean = views.along_columns(&model.posterior.mean_slopes(points));
            let of_variance = model.posterior.variance_slopes();
            let of_variance =
                of_variance.map(|v| views.along_columns(&v.slopes_of_variance(points)));
            for (k, row) in rows.iter().enumerate() {
                let std = (f.variance[k] + noise(*row, t)).sqrt();
                let (by_mean, by_std) = power.mean_slopes(f.mean[k], self.factor * std);
                for (c, slope) in of_mean.row_mut(k).iter_mut().enumerate() {
                    let of_std = of_variance.as_ref().map_or(0.0, |v| v[(k, c)] / (2.0 * std));
                    *slope = by_mean * *slope + by_std * self.factor * of_std;
                }
            }
            of_mean
        };
        self.integrated((0..self.to.rows()).map(total).collect(), false, slopes)
    }

    /// The mean slope along each view between the baseline and the rows, where it is known without
    /// quadrature; the others are NaN.
    fn secants(&self) -> Option<Matrix> {
        let (posterior, kernel) = (&self.model.posterior, &self.model.prior().kernel);
        let functions = posterior.components()?;
        let (start, end) = (functions.means_of_each(self.from)?, functions.means_of_each(self.to)?);
        let local = posterior.mean_slopes(self.to);
        let size = kernel.views.map(|_, _, weight| weight.abs());
        let (rows, columns) = (self.to.rows(), self.to.columns());
        let changes = Matrix::from_fn(rows, columns, |i, c| self.to[(i, c)] - self.from[(0, c)]);
        let sizes = Matrix::from_fn(rows, columns, |i, c| changes[(i, c)].abs());
        let (steps, largest) = (kernel.views.project_each(&changes), size.project_each(&sizes));
        let views = kernel.views.rows();
        let mut known = Matrix::from_fn(rows, views, |_, _| f64::NAN);
        for (j, block) in kernel.blocks().enumerate().filter(|(_, block)| block.len() == 1) {
            let view = block.start;
            for i in 0..rows {
                let (step, largest) = (steps[view * rows + i], largest[view * rows + i]);
                known[(i, view)] = if step.abs() <= SAME * largest || step == 0.0 {
                    local[(i, view)]
                } else {
                    (end[j][i] - start[j][0]) / step
                };
            }
        }
        Some(known)
    }

    /// The integral of slopes along columns, which are those at parameter t of some rows, at these
    /// points. `constant` says that they are the same for all t.
    fn integrated(
        &self,
        total: Vec<f64>,
        constant: bool,
        slopes: impl Fn(f64, &[usize], &Matrix) -> Matrix,
    ) -> Changes {
        let (from, to) = (self.from.row(0), self.to);
        let mut by_column = Matrix::zeros(to.rows(), to.columns());
        let mut left: Vec<usize> = (0..to.rows()).collect();
        let most = GAP * self.model.scaler.y.std;
        let attempts = if constant { &[1] } else { &PARTS[..] };
        for &parts in attempts {
            left.iter().for_each(|row| by_column.row_mut(*row).fill(0.0));
            let rule: &[(f64, f64)] = if constant { &[(1.0, 1.0)] } else { &RULE };
            for part in 0..parts {
                for (node, weight) in rule {
                    let t = (part as f64 + node) / parts as f64;
                    let point = |k: usize, c: usize| from[c] + t * (to[(left[k], c)] - from[c]);
                    let points = Matrix::from_fn(left.len(), to.columns(), point);
                    let along = slopes(t, &left, &points);
                    for (k, &row) in left.iter().enumerate() {
                        let each = by_column.row_mut(row).iter_mut().zip(along.row(k)).enumerate();
                        for (c, (sum, slope)) in each {
                            let gap = to[(row, c)] - from[c];
                            // A slope of 0 at a distance beyond all numbers is still 0.
                            let own = if *slope == 0.0 { 0.0 } else { slope * gap };
                            *sum = finite(*sum + weight / parts as f64 * finite(own));
                        }
                    }
                }
            }
            let gap = |row: usize| (total[row] - by_column.row(row).iter().sum::<f64>()).abs();
            left.retain(|row| gap(*row) > most + 1e-6 * total[*row].abs());
            if left.is_empty() {
                break;
            }
        }
        for (row, total) in total.iter().enumerate() {
            share_rest(by_column.row_mut(row), *total, |c| (to[(row, c)] - from[c]).abs());
        }
        Changes { total, by_column }
    }
}

/// Cut to the largest number there is.
fn finite(value: f64) -> f64 {
    value.clamp(f64::MIN, f64::MAX)
}

/// Shares what contributions leave over of a total in proportion to their sizes, or where all are 0 in
/// proportion to the columns' distances from the baseline.
fn share_rest(contributions: &mut [f64], total: f64, distance: impl Fn(usize) -> f64) {
    let rest = total - contributions.iter().sum::<f64>();
    let size: f64 = contributions.iter().map(|own| own.abs()).sum();
    let far: f64 = (0..contributions.len()).map(&distance).sum();
    for (c, own) in contributions.iter_mut().enumerate() {
        let share = if size > 0.0 { own.abs() / size } else { distance(c) / far };
        if (rest * share).is_finite() {
            *own = finite(*own + rest * share);
        }
    }
}
