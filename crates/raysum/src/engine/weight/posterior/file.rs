//! The weight-space posterior as arrays of a file, and back.

use super::WeightPosterior;
use crate::basis::Basis;
use crate::engine::weight::NAME;
use crate::engine::weight::features::{FeatureMap, Product};
use crate::engine::{Prior, Statistics, Tensor};
use crate::kernel::{Shape, SubKernel};
use std::sync::Arc;

impl WeightPosterior {
    /// Reads the arrays that [`Posterior::tensors`](crate::engine::Posterior::tensors) wrote.
    pub(crate) fn from_tensors(
        prior: &Arc<Prior>,
        tensors: &[Tensor],
    ) -> std::result::Result<Self, String> {
        prior.kernel.check_products(NAME).map_err(|e| e.to_string())?;
        let map = read_map(prior, tensors)?;
        Tensor::find(tensors, "moments")?.check_shape(&[map.len()])?;
        let statistics = Statistics::from_tensors(tensors)?;
        Self::one(map, &statistics, prior).map_err(|e| e.to_string())
    }
}

impl FeatureMap {
    /// A map from its arrays, with every size checked; the error says what is wrong with them.
    pub(crate) fn from_tensors(
        prior: &Prior,
        tensors: &[Tensor],
    ) -> std::result::Result<Self, String> {
        read_map(prior, tensors)
    }

    /// The arrays that [`FeatureMap::from_tensors`] needs.
    pub(crate) fn tensors(&self) -> Vec<Tensor> {
        let mut all = Vec::new();
        for (view, basis) in self.views.iter().enumerate().filter(|(_, basis)| !basis.is_line()) {
            let (spacing, cells, transform) = basis.parts();
            let (m, r) = (cells.len(), basis.len());
            let cells = cells.iter().map(|c| *c as f64).collect();
            all.push(Tensor::new(format!("spacing.{view}"), vec![1], vec![spacing]));
            all.push(Tensor::new(format!("cells.{view}"), vec![m], cells));
            all.push(Tensor::new(
                format!("eigenvalues.{view}"),
                vec![r],
                basis.eigenvalues().to_vec(),
            ));
            all.push(Tensor::new(format!("transform.{view}"), vec![m, r], transform.to_vec()));
        }
        for (j, block) in self.blocks.iter().enumerate().filter(|(_, b)| b.views.len() > 1) {
            let values: Vec<f64> =
                block.products.iter().flatten().map(|index| f64::from(*index)).collect();
            all.push(Tensor::new(format!("products.{j}"), vec![block.products.len(), 3], values));
        }
        all
    }
}

/// The feature map of a file, with every size checked.
fn read_map(prior: &Prior, tensors: &[Tensor]) -> std::result::Result<FeatureMap, String> {
    let kernel = &prior.kernel;
    let views = kernel.shapes_of_views().enumerate().map(|(view, shape)| match shape {
        Shape::Linear => Ok(Basis::line()),
        Shape::Stationary(kernel) => {
            read_basis(kernel, view, tensors).map_err(|what| format!("view {view}: {what}"))
        }
    });
    let views = views.collect::<std::result::Result<_, _>>()?;
    FeatureMap::assemble(kernel, views, |j, views| read_products(j, views, tensors))
}

fn read_basis(
    kernel: SubKernel,
    view: usize,
    tensors: &[Tensor],
) -> std::result::Result<Basis, String> {
    let take = |name: &str| Tensor::find(tensors, &format!("{name}.{view}"));
    let (spacing, cells) = (take("spacing")?, take("cells")?);
    let (eigenvalues, transform) = (take("eigenvalues")?, take("transform")?);
    let (m, r) = (cells.values.len(), eigenvalues.values.len());
    if transform.shape != [m, r] || m == 0 || r == 0 || spacing.values.len() != 1 {
        return Err("its arrays do not fit together".into());
    }
    let spacing = spacing.values[0];
    if !(spacing > 0.0 && spacing <= 1.0) {
        return Err("its spacing is out of range".into());
    }
    let cells: Option<Vec<i64>> = cells.values.iter().map(|c| Tensor::whole(*c, 1e15)).collect();
    let cells = cells.ok_or("its cells are not whole numbers")?;
    let rising = cells.windows(2).all(|pair| pair[0] < pair[1]);
    if !rising || cells[m - 1] - cells[0] > 200_000 {
        return Err("its cells are out of order".into());
    }
    let (transform, eigenvalues) = (transform.values.clone(), eigenvalues.values.clone());
    Ok(Basis::from_parts(kernel, spacing, cells, transform, eigenvalues))
}

fn read_products(
    j: usize,
    views: &[Basis],
    tensors: &[Tensor],
) -> std::result::Result<Vec<Product>, String> {
    let tensor = Tensor::find(tensors, &format!("products.{j}"))?;
    let read = |row: &[f64]| -> Option<Product> {
        let mut product = [0; 3];
        for (slot, view) in views.iter().enumerate() {
            let index = Tensor::whole(row[slot], 1e9)?;
            product[slot] = (0..view.len() as i64).contains(&index).then_some(index as u32)?;
        }
        Some(product)
    };
    let rows: Option<Vec<Product>> = tensor.values.chunks_exact(3).map(read).collect();
    let rows = rows.filter(|rows| !rows.is_empty());
    rows.ok_or(format!("array '{}' names features that are not there", tensor.name))
}
