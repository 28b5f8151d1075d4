//! The posterior: the training rows, and for each new row what its nearest among them say.
//!
//! Means and variances are computed for eight rows at a time ([`Group`]). Everything else is what
//! the dense engine says, given those nearest rows alone.

use super::group::{Group, Source};
use super::lanes::LANES;
use super::likelihood::{Ordered, noise, project, residuals};
use super::metric::Metric;
use super::tree::{Finder, Near, Tree, Wanted};
use super::{NAME, NeighborsOptions, random_order};
use crate::data::{Labels, Matrix};
use crate::engine::dense::DensePosterior;
use crate::engine::{
    Components, Conditioned, LeaveOneOut, Marginals, Observations, Posterior, Prior, RowChanges,
    Tensor, VarianceSlopes,
};
use crate::error::{Error, Result};
use crate::linalg::Threads;
use rayon::prelude::*;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// Most leaves of the tree that are looked at for a new row: 16,000 points, so that this only
/// matters where rows are many and lie in many dimensions.
const LEAVES: usize = 512;
/// Rows that one task leaves out one by one.
const BLOCK: usize = 128;
/// Rows that a rough mean is conditioned on.
const ROUGH: usize = 50;
/// Most rows that a joint prediction is conditioned on.
const JOINT_ROWS: usize = 3_000;

/// f given the training rows, each point by those nearest to it.
#[derive(Debug)]
pub(crate) struct NeighborsPosterior {
    prior: Arc<Prior>,
    /// What does not depend on the target.
    pub(super) shared: Arc<NeighborsShared>,
    pub(super) y: Vec<f64>,
    /// y − c.
    residuals: Vec<Vec<f64>>,
}

/// What the posteriors of several targets have in common.
#[derive(Debug)]
pub(super) struct NeighborsShared {
    /// Standardised rows.
    pub(super) x: Matrix,
    /// Sample weights and known noise, without targets.
    pub(super) labels: Labels<Vec<f64>>,
    pub(super) options: NeighborsOptions,
    pub(super) seed: u64,
    z: Vec<f64>,
    noise: Vec<(f64, f64)>,
    metric: Metric,
    tree: Tree,
}

impl NeighborsShared {
    pub(super) fn new(
        x: Matrix,
        observations: &Observations,
        prior: &Prior,
        options: NeighborsOptions,
        seed: u64,
    ) -> Self {
        let z = project(&prior.kernel, &x);
        let metric = Metric::new(&prior.kernel);
        let tree = Tree::new(&metric.locate_all(&z, prior.kernel.views.rows()), metric.dims());
        let labels = Labels { targets: Vec::new(), ..observations.0.clone() };
        let noise = noise(observations, prior);
        Self { x, labels, options, seed, z, noise, metric, tree }
    }

    /// The posterior of each target, with its likelihood.
    pub(super) fn conditioned(
        self,
        prior: &Arc<Prior>,
        observations: &Observations,
    ) -> Result<Vec<Conditioned>> {
        let order = random_order(self.x.rows(), self.seed);
        let ordered =
            Ordered { x: self.x.gather(&order), observations: observations.gather(&order) };
        let graph = ordered.graph(prior, self.options.neighbors);
        let values = ordered.values(prior, &graph)?;
        let shared = Arc::new(self);
        let each = values.into_iter().zip(&observations.targets);
        let conditioned = |(value, y): (f64, &Vec<f64>)| -> Conditioned {
            let posterior =
                NeighborsPosterior::new(Arc::clone(prior), Arc::clone(&shared), y.clone());
            (value, Box::new(posterior))
        };
        Ok(each.map(conditioned).collect())
    }

    /// The rows nearest to a projected row.
    fn nearest<'f>(
        &self,
        finder: &'f mut Finder,
        count: usize,
        z: impl Fn(usize) -> f64,
    ) -> &'f [Near] {
        let mut point = vec![0.0; self.metric.dims()];
        self.metric.locate(z, &mut point);
        let wanted = Wanted { count, before: u32::MAX, leaves: LEAVES };
        self.tree.nearest(finder, &point, wanted)
    }
}

impl NeighborsPosterior {
    fn new(prior: Arc<Prior>, shared: Arc<NeighborsShared>, y: Vec<f64>) -> Self {
        let residuals = residuals(&Observations::from(y.clone()), &prior);
        Self { prior, shared, y, residuals }
    }

    pub(super) fn rows(&self) -> usize {
        self.y.len()
    }

    pub(super) fn shared_prior(&self) -> &Arc<Prior> {
        &self.prior
    }

    fn views(&self) -> usize {
        self.prior.kernel.views.rows()
    }

    /// The rows that a prediction is conditioned on.
    fn count(&self) -> usize {
        self.shared.options.prediction_neighbors.min(self.rows())
    }

    /// What was observed, as it was given.
    pub(super) fn observations(&self) -> Observations {
        Observations(Labels { targets: vec![self.y.clone()], ..self.shared.labels.clone() })
    }

    /// Mean and variance of f at rows of which `z` gives the views; `chosen` picks the rows that
    /// each is conditioned on, `count` at most.
    fn predict(
        &self,
        rows: usize,
        count: usize,
        z: impl Fn(usize, usize) -> f64,
        mut chosen: impl FnMut(&mut Finder, usize) -> Vec<u32>,
    ) -> Marginals {
        let mut group = Group::new(count, self.views(), 1, false);
        let shared = &self.shared;
        let source = Source {
            z: &shared.z,
            views: self.views(),
            noise: &shared.noise,
            residuals: &self.residuals,
        };
        let mut finder = Finder::default();
        let mut own = vec![0.0; self.views()];
        let mut out = Marginals { mean: Vec::new(), variance: Vec::new() };
        for start in (0..rows).step_by(LANES) {
            let live = (rows - start).min(LANES);
            for lane in 0..LANES {
                let row = start + if lane < live { lane } else { 0 };
                own.iter_mut().enumerate().for_each(|(view, own)| *own = z(row, view));
                group.place(lane, source, &chosen(&mut finder, row), (&own, (0.0, 0.0)));
            }
            let solved = group.condition(&self.prior.kernel).is_ok();
            for lane in 0..live {
                let known = |value: f64| if solved { value } else { f64::NAN };
                out.mean.push(known(self.prior.mean + group.means[0][lane]));
                // Rounding must not make it negative.
                out.variance.push(known(group.variance[lane].max(0.0)));
            }
        }
        out
    }

    fn predict_projected(&self, z: &[f64], rows: usize, count: usize) -> Marginals {
        let at = |row: usize, view: usize| z[view * rows + row];
        self.predict(rows, count, at, |finder, row| {
            let near = self.shared.nearest(finder, count, |view| at(row, view));
            near.iter().map(|near| near.row()).collect()
        })
    }

    /// The dense posterior given some of the rows; `None` if they cannot be factorised.
    fn given(&self, rows: &[u32]) -> Option<DensePosterior> {
        let numbers: Vec<usize> = rows.iter().map(|row| *row as usize).collect();
        let views = self.views();
        let z =
            Matrix::from_fn(rows.len(), views, |i, view| self.shared.z[numbers[i] * views + view]);
        DensePosterior::of_projected(&self.prior, z, self.observations().gather(&numbers)).ok()
    }

    /// The dense posterior given the rows near some points: the nearest of each, then the second
    /// nearest of each, and so on, up to a limit.
    fn near(&self, x: &Matrix) -> Option<DensePosterior> {
        let m = x.rows();
        let z = self.prior.kernel.project(x, Threads::All);
        let mut finder = Finder::default();
        let nearest = |row: usize| -> Vec<u32> {
            let at = |view: usize| z[view * m + row];
            let near = self.shared.nearest(&mut finder, self.count(), at);
            near.iter().map(|near| near.row()).collect()
        };
        let each: Vec<Vec<u32>> = (0..m).map(nearest).collect();
        let (mut rows, mut known) = (Vec::new(), HashSet::new());
        for rank in 0..self.count() {
            for row in each.iter().filter_map(|rows| rows.get(rank)) {
                if rows.len() < JOINT_ROWS && known.insert(*row) {
                    rows.push(*row);
                }
            }
        }
        self.given(&rows)
    }

    /// Something of each point, given the rows near it, or NaN.
    fn point_by_point(
        &self,
        x: &Matrix,
        width: usize,
        of: impl Fn(&DensePosterior, &Matrix) -> Matrix,
    ) -> Matrix {
        let mut out = Matrix::zeros(x.rows(), width);
        for i in 0..x.rows() {
            let point = x.gather(&[i]);
            match self.near(&point) {
                Some(near) => out.row_mut(i).copy_from_slice(of(&near, &point).as_slice()),
                None => out.row_mut(i).fill(f64::NAN),
            }
        }
        out
    }

    /// Reads the arrays that [`Posterior::tensors`] wrote.
    pub(crate) fn from_tensors(
        prior: &Arc<Prior>,
        tensors: &[Tensor],
    ) -> std::result::Result<Self, String> {
        let (x, y) = (Tensor::find(tensors, "x")?, Tensor::find(tensors, "y")?);
        let (columns, n) = (prior.kernel.views.columns(), y.values.len());
        if n == 0 {
            return Err("there are no rows".into());
        }
        x.check_shape(&[n, columns])?;
        let of_rows = |name: &str| {
            let tensor = tensors.iter().find(|tensor| tensor.name == name);
            let values = |tensor: &Tensor| tensor.check_shape(&[n]).map(|()| tensor.values.clone());
            tensor.map(values).transpose()
        };
        let labels = Labels {
            targets: vec![y.values.clone()],
            sample_weights: of_rows("weights")?,
            noise: of_rows("noise")?,
        };
        let (weights, noise) = (labels.sample_weights.iter(), labels.noise.iter());
        if weights.flatten().any(|w| *w <= 0.0) || noise.flatten().any(|s| *s < 0.0) {
            return Err("a weight or a noise is out of range".into());
        }
        let settings = Tensor::find(tensors, "settings")?;
        settings.check_shape(&[4])?;
        let whole = |k: usize| {
            let value = Tensor::whole(settings.values[k], f64::from(u32::MAX));
            let value = value.and_then(|value| u32::try_from(value).ok());
            value.ok_or("array 'settings' has an entry that is out of range")
        };
        let options = NeighborsOptions {
            neighbors: whole(0)? as usize,
            prediction_neighbors: whole(1)? as usize,
        };
        options.check().map_err(|e| e.to_string())?;
        let seed = u64::from(whole(2)?) << 32 | u64::from(whole(3)?);
        let rows = Matrix::from_row_major(n, columns, x.values.clone());
        let rows = rows.map_err(|e| e.to_string())?;
        let shared = NeighborsShared::new(rows, &Observations(labels), prior, options, seed);
        Ok(Self::new(Arc::clone(prior), Arc::new(shared), y.values.clone()))
    }
}

impl Posterior for NeighborsPosterior {
    fn engine(&self) -> &'static str {
        NAME
    }

    fn prior(&self) -> &Prior {
        &self.prior
    }

    fn keeps_rows(&self) -> bool {
        true
    }

    fn kernel_evaluations(&self) -> Option<usize> {
        Some(ROUGH.min(self.count()).pow(2))
    }

    fn mean_of_projected(&self, z: Vec<f64>, rows: usize) -> Vec<f64> {
        self.predict_projected(&z, rows, ROUGH.min(self.count())).mean
    }

    fn mean(&self, x: &Matrix) -> Vec<f64> {
        self.marginals(x).mean
    }

    fn marginals(&self, x: &Matrix) -> Marginals {
        let z = self.prior.kernel.project(x, Threads::One);
        self.predict_projected(&z, x.rows(), self.count())
    }

    /// Given the union of the rows near each point, up to a limit.
    fn joint(&self, x: &Matrix) -> (Vec<f64>, Matrix) {
        self.joint_of(self.prior.kernel.all(), x)
    }

    fn joint_width(&self) -> usize {
        self.rows().min(JOINT_ROWS)
    }

    fn mean_slopes(&self, x: &Matrix) -> Matrix {
        self.point_by_point(x, self.views(), DensePosterior::mean_slopes)
    }

    fn tensors(&self) -> Vec<Tensor> {
        let NeighborsShared { x, labels, options, seed, .. } = self.shared.as_ref();
        let of_rows =
            |name, values: &Vec<f64>| Tensor::new(name, vec![values.len()], values.clone());
        let halves = [seed >> 32, seed & u64::from(u32::MAX)];
        let counts = [options.neighbors as u64, options.prediction_neighbors as u64];
        let settings = counts.into_iter().chain(halves).map(|v| v as f64).collect();
        let mut tensors = vec![
            Tensor::of("x", x),
            of_rows("y", &self.y),
            Tensor::new("settings", vec![4], settings),
        ];
        tensors.extend(labels.sample_weights.iter().map(|w| of_rows("weights", w)));
        tensors.extend(labels.noise.iter().map(|s| of_rows("noise", s)));
        tensors
    }

    fn components(&self) -> Option<&dyn Components> {
        Some(self)
    }

    fn variance_slopes(&self) -> Option<&dyn VarianceSlopes> {
        Some(self)
    }

    fn leave_one_out(&self) -> Option<&dyn LeaveOneOut> {
        Some(self)
    }

    fn row_changes(&self) -> Option<&dyn RowChanges> {
        Some(self)
    }
}

impl Components for NeighborsPosterior {
    fn marginals_of_each(&self, x: &Matrix) -> Vec<Marginals> {
        let count = self.prior.kernel.all().len();
        let numbers = self.point_by_point(x, 2 * count, |near, point| {
            let each = near.marginals_of_each(point);
            let pairs: Vec<[f64; 2]> = each.iter().map(|f| [f.mean[0], f.variance[0]]).collect();
            Matrix::from_fn(1, 2 * count, |_, k| pairs[k / 2][k % 2])
        });
        let column = |k: usize| (0..x.rows()).map(|i| numbers[(i, k)]).collect();
        let component = |j: usize| Marginals { mean: column(2 * j), variance: column(2 * j + 1) };
        (0..count).map(component).collect()
    }

    /// Each point has other neighbours, which divide the sum in another way.
    fn means_of_each(&self, _x: &Matrix) -> Option<Vec<Vec<f64>>> {
        None
    }

    fn joint_of(&self, which: Range<usize>, x: &Matrix) -> (Vec<f64>, Matrix) {
        let m = x.rows();
        match self.near(x) {
            Some(near) => near.joint_of(which, x),
            None => (vec![f64::NAN; m], Matrix::from_fn(m, m, |_, _| f64::NAN)),
        }
    }
}

impl VarianceSlopes for NeighborsPosterior {
    fn slopes_of_variance(&self, x: &Matrix) -> Matrix {
        self.point_by_point(x, self.views(), DensePosterior::slopes_of_variance)
    }
}

impl LeaveOneOut for NeighborsPosterior {
    /// Each row from the rows nearest to it.
    fn without_each(&self, x: &Matrix, y: &Observations) -> Result<Marginals> {
        self.check_rows(x, y)?;
        let (views, count) = (self.views(), self.count());
        let at = |row: usize, view: usize| self.shared.z[row * views + view];
        let block = |first: usize| {
            let rows = BLOCK.min(self.rows() - first);
            let own = |row: usize, view: usize| at(first + row, view);
            self.predict(rows, count, own, |finder, row| {
                let row = first + row;
                let near = self.shared.nearest(finder, count + 1, |view| at(row, view));
                let others = near.iter().map(|near| near.row()).filter(|near| *near != row as u32);
                others.take(count).collect()
            })
        };
        let starts: Vec<usize> = (0..self.rows()).step_by(BLOCK).collect();
        let blocks: Vec<Marginals> = starts.into_par_iter().map(block).collect();
        Ok(Marginals {
            mean: blocks.iter().flat_map(|block| &block.mean).copied().collect(),
            variance: blocks.iter().flat_map(|block| &block.variance).copied().collect(),
        })
    }
}

impl NeighborsPosterior {
    /// Fails unless these are the training rows, in order.
    fn check_rows(&self, x: &Matrix, y: &Observations) -> Result<()> {
        if (y.targets.len(), x.rows()) != (1, self.rows()) {
            return Err(Error::NotTrainingRows { row: None });
        }
        match (0..self.rows()).find(|&i| !self.is_row(i, (x, y), i)) {
            Some(row) => Err(Error::NotTrainingRows { row: Some(row) }),
            None => Ok(()),
        }
    }
}
