//! The distance between rows under a kernel, in which neighbours are near.
//!
//! Of one stationary sub-kernel the nearest rows are those with the highest correlation. Of several
//! the squared distances are added up with the sub-kernels' shares of the variance: to first order
//! in them that is the drop of the correlation. Linear sub-kernels have no neighbourhoods; only
//! where there is no other they are what counts.

use crate::engine::AdditiveKernel;
use crate::kernel::Shape;

/// Coordinates whose Euclidean distance is that between rows.
#[derive(Clone, Debug)]
pub(super) struct Metric {
    /// A view, and the factor of its values.
    views: Vec<(usize, f64)>,
}

impl Metric {
    /// The distance under this kernel.
    pub(super) fn new(kernel: &AdditiveKernel) -> Self {
        let stationary = |j: &usize| kernel.shapes[*j] != Shape::Linear;
        let any = kernel.all().any(|j| stationary(&j));
        let counted = |j: &usize| !any || stationary(j);
        let total: f64 = kernel.all().filter(counted).map(|j| kernel.variances[j]).sum();
        let mut views = Vec::new();
        for (j, block) in kernel.blocks().enumerate().filter(|(j, _)| counted(j)) {
            let share = (kernel.variances[j] / total).sqrt();
            views.extend(block.map(|view| (view, share)));
        }
        Self { views }
    }

    /// Number of coordinates.
    pub(super) fn dims(&self) -> usize {
        self.views.len()
    }

    /// Writes the coordinates of a projected row, of which `z` gives the views.
    pub(super) fn locate(&self, z: impl Fn(usize) -> f64, out: &mut [f64]) {
        for ((view, factor), out) in self.views.iter().zip(out) {
            *out = z(*view) * factor;
        }
    }

    /// The coordinates of projected rows, both row by row.
    pub(super) fn locate_all(&self, z: &[f64], views: usize) -> Vec<f64> {
        let rows = z.len().checked_div(views).unwrap_or(0);
        let mut points = vec![0.0; rows * self.dims()];
        for (z, out) in z.chunks(views.max(1)).zip(points.chunks_mut(self.dims().max(1))) {
            self.locate(|view| z[view], out);
        }
        points
    }
}
