//! The likelihood of rows in their order, each given its neighbours among the earlier ones.

use super::graph::Graph;
use super::group::{Group, Source};
use super::lanes::{LANES, Lane, add_product, map};
use crate::data::Matrix;
use crate::engine::streams::in_streams;
use crate::engine::{AdditiveKernel, Evaluation, Observations, Prior};
use crate::error::{Error, Result};
use crate::views::Views;
use rayon::prelude::*;
use std::f64::consts::TAU;

/// Rows that a stream takes at a time, and the number of streams. Both are fixed, so that sums have
/// the same bits on any number of threads.
const BLOCK: usize = 16 * LANES;
const STREAMS: usize = 32;
/// Rows that one task projects.
const PROJECTED: usize = 1024;

/// Rows in the order in which they are conditioned, standardised.
#[derive(Debug)]
pub(super) struct Ordered {
    pub(super) x: Matrix,
    pub(super) observations: Observations,
}

/// Rows under one prior.
struct RowsUnderPrior<'a> {
    rows: &'a Ordered,
    prior: &'a Prior,
    graph: &'a Graph,
    z: Vec<f64>,
    noise: Vec<(f64, f64)>,
    residuals: Vec<Vec<f64>>,
}

/// Sums over the rows of a stream.
struct Sums {
    group: Group,
    /// One per target.
    values: Vec<f64>,
    slopes: Option<SlopeSums>,
}

struct SlopeSums {
    variances: Vec<Lane>,
    noise: Lane,
    mean: Lane,
    of_views: OfViews,
    /// ∂/∂u of each target.
    of_u: Vec<Lane>,
}

/// ∂/∂W.
enum OfViews {
    /// Along the axes z = W x, so (∂/∂z) x is (∂/∂z) z / W: Σ (∂/∂z) z of each view.
    Axes(Vec<Lane>),
    /// In any direction: the sum itself, and memory for ∂/∂z and X of a group, row by row.
    Full { sum: Views, slopes: Vec<f64>, x: Matrix },
}

/// z = W x of all rows, row by row, on all threads.
pub(super) fn project(kernel: &AdditiveKernel, x: &Matrix) -> Vec<f64> {
    let (views, columns) = (kernel.views.rows(), x.columns());
    let mut out = vec![0.0; x.rows() * views];
    let chunks = x.as_slice().par_chunks((PROJECTED * columns).max(1));
    chunks.zip(out.par_chunks_mut((PROJECTED * views).max(1))).for_each(|(x, out)| {
        let rows = out.len() / views;
        let x = Matrix::from_fn(rows, columns, |i, j| x[i * columns + j]);
        let z = kernel.views.project_each(&x);
        for (view, run) in z.chunks(rows).enumerate() {
            run.iter().enumerate().for_each(|(i, z)| out[i * views + view] = *z);
        }
    });
    out
}

/// The noise v/w of each row, and its slope 1/w.
pub(super) fn noise(of: &Observations, prior: &Prior) -> Vec<(f64, f64)> {
    let noise = |i: usize| {
        let weight = of.weight(i);
        (of.variance(i, prior.noise_variance) / weight, 1.0 / weight)
    };
    (0..of.rows()).map(noise).collect()
}

/// y − c, of each target.
pub(super) fn residuals(of: &Observations, prior: &Prior) -> Vec<Vec<f64>> {
    let each = |y: &Vec<f64>| y.iter().map(|y| y - prior.mean).collect();
    of.targets.iter().map(each).collect()
}

impl Ordered {
    /// The neighbours under this prior.
    pub(super) fn graph(&self, prior: &Prior, neighbors: usize) -> Graph {
        Graph::new(&prior.kernel, &project(&prior.kernel, &self.x), neighbors)
    }

    /// Value and gradient, summed over targets.
    pub(super) fn evaluate(&self, prior: &Prior, graph: &Graph) -> Result<Evaluation> {
        let projected = RowsUnderPrior::new(self, prior, graph);
        let (mut values, mut total) = (0.0, SlopeSums::new(prior, 1, 0, 0));
        for part in projected.sums(true)? {
            values += part.values.iter().sum::<f64>();
            total.add(&part);
        }
        let sum = |lane: &Lane| lane.iter().sum::<f64>();
        Ok(Evaluation {
            log_marginal_likelihood: values,
            views: total.of_views(&prior.kernel.views),
            variances: total.variances.iter().map(sum).collect(),
            noise_variance: sum(&total.noise),
            mean: sum(&total.mean),
        })
    }

    /// The value of each target.
    pub(super) fn values(&self, prior: &Prior, graph: &Graph) -> Result<Vec<f64>> {
        let mut total = vec![0.0; self.observations.targets.len()];
        for part in RowsUnderPrior::new(self, prior, graph).sums(false)? {
            total.iter_mut().zip(&part.values).for_each(|(total, value)| *total += value);
        }
        Ok(total)
    }
}

impl<'a> RowsUnderPrior<'a> {
    fn new(rows: &'a Ordered, prior: &'a Prior, graph: &'a Graph) -> Self {
        Self {
            rows,
            prior,
            graph,
            z: project(&prior.kernel, &rows.x),
            noise: noise(&rows.observations, prior),
            residuals: residuals(&rows.observations, prior),
        }
    }

    fn source(&self) -> Source<'_> {
        let views = self.prior.kernel.views.rows();
        Source { z: &self.z, views, noise: &self.noise, residuals: &self.residuals }
    }

    /// Sums over the rows, in a fixed number of parts.
    fn sums(&self, with_slopes: bool) -> Result<Vec<Sums>> {
        let (size, views) = (self.graph.most(), self.prior.kernel.views.rows());
        let targets = self.residuals.len();
        let start = || {
            let slopes = || SlopeSums::new(self.prior, size + 1, self.rows.x.columns(), targets);
            Sums {
                group: Group::new(size, views, targets, with_slopes),
                values: vec![0.0; targets],
                slopes: with_slopes.then(slopes),
            }
        };
        in_streams(self.graph.walk.len(), BLOCK, STREAMS, start, |sums, range| {
            self.graph.walk[range].chunks(LANES).try_for_each(|rows| self.add(sums, rows))
        })
    }

    /// Adds the rows of up to eight groups.
    fn add(&self, sums: &mut Sums, rows: &[u32]) -> Result<()> {
        let Sums { group, values, slopes } = sums;
        // Groups that are left over repeat the first one, and do not count.
        let row = |lane: usize| rows.get(lane).copied().unwrap_or(rows[0]) as usize;
        let source = self.source();
        for lane in 0..LANES {
            let row = row(lane);
            group.place(lane, source, self.graph.of(row), (source.row(row), self.noise[row]));
        }
        let positive = |v: &f64| *v > 0.0;
        match group.condition(&self.prior.kernel) {
            Ok(()) if group.variance.iter().all(positive) => {}
            Ok(()) => return Err(Error::NotPositiveDefinite { pivot: group.points() - 1 }),
            Err(pivot) => return Err(Error::NotPositiveDefinite { pivot }),
        }
        let v = group.variance;
        let mut g = [0.0; LANES];
        let off = |target: usize, lane: usize| {
            self.residuals[target][row(lane)] - group.means[target][lane]
        };
        for (target, value) in values.iter_mut().enumerate() {
            for lane in 0..rows.len() {
                let (u, v) = (off(target, lane), v[lane]);
                *value -= 0.5 * (u * u / v + (TAU * v).ln());
                g[lane] += 0.5 * (u * u / v - 1.0) / v;
            }
        }
        let Some(slopes) = slopes else { return Ok(()) };
        for (target, of_u) in slopes.of_u.iter_mut().enumerate() {
            *of_u = map(|lane| if lane < rows.len() { -off(target, lane) / v[lane] } else { 0.0 });
        }
        group.differentiate(&slopes.of_u);
        group.add_slopes(&self.prior.kernel, &g, &mut slopes.variances);
        let total = map(|lane| slopes.of_u.iter().map(|of_u| of_u[lane]).sum());
        add_product(&mut slopes.mean, &total, &group.weight_sum());
        let noise = group.noise_slope(&g);
        slopes.noise = map(|lane| slopes.noise[lane] + noise[lane]);
        slopes.take(group, |lane, point| {
            let own = row(lane);
            self.rows.x.row(self.graph.of(own).get(point).map_or(own, |row| *row as usize))
        });
        Ok(())
    }
}

impl SlopeSums {
    fn new(prior: &Prior, points: usize, columns: usize, targets: usize) -> Self {
        let views = &prior.kernel.views;
        let of_views = if views.are_axes() {
            OfViews::Axes(vec![[0.0; LANES]; views.rows()])
        } else {
            OfViews::Full {
                sum: views.zeros(),
                slopes: vec![0.0; LANES * points * views.rows()],
                x: Matrix::zeros(LANES * points, columns),
            }
        };
        Self {
            variances: vec![[0.0; LANES]; prior.kernel.variances.len()],
            noise: [0.0; LANES],
            mean: [0.0; LANES],
            of_views,
            of_u: vec![[0.0; LANES]; targets],
        }
    }

    /// Takes ∂/∂z of a group over to ∂/∂W, where `x` has the row at each place.
    fn take<'x>(&mut self, group: &Group, x: impl Fn(usize, usize) -> &'x [f64]) {
        match &mut self.of_views {
            OfViews::Axes(sums) => {
                let points = group.slopes.chunks(sums.len()).zip(group.z.chunks(sums.len()));
                for (slopes, z) in points {
                    for ((sum, slope), z) in sums.iter_mut().zip(slopes).zip(z) {
                        add_product(sum, slope, z);
                    }
                }
            }
            OfViews::Full { sum, slopes, x: rows } => {
                let points = group.points();
                let views = group.slopes.len() / points;
                for (point, own) in group.slopes.chunks(views).enumerate() {
                    for lane in 0..LANES {
                        let place = lane * points + point;
                        let out = slopes[place * views..][..views].iter_mut();
                        out.zip(own).for_each(|(out, slope)| *out = slope[lane]);
                        rows.row_mut(place).copy_from_slice(x(lane, point));
                    }
                }
                sum.add_slopes(slopes, rows);
            }
        }
    }

    fn add(&mut self, part: &Sums) {
        let Some(other) = &part.slopes else { return };
        let add = |a: &mut [Lane], b: &[Lane]| {
            for (a, b) in a.iter_mut().zip(b) {
                *a = map(|lane| a[lane] + b[lane]);
            }
        };
        add(&mut self.variances, &other.variances);
        add(std::slice::from_mut(&mut self.noise), std::slice::from_ref(&other.noise));
        add(std::slice::from_mut(&mut self.mean), std::slice::from_ref(&other.mean));
        match (&mut self.of_views, &other.of_views) {
            (OfViews::Axes(own), OfViews::Axes(other)) => add(own, other),
            (OfViews::Full { sum, .. }, OfViews::Full { sum: other, .. }) => sum.add(other),
            _ => {}
        }
    }

    fn of_views(&self, views: &Views) -> Views {
        match &self.of_views {
            OfViews::Full { sum, .. } => sum.clone(),
            // Without a weight nothing depends on the view to first order.
            OfViews::Axes(sums) => views.map(|view, _, weight| match weight {
                0.0 => 0.0,
                weight => sums[view].iter().sum::<f64>() / weight,
            }),
        }
    }
}
