//! The posterior as arrays of a file, and back.

use super::exact::Solver;
use super::{Loads, SkiPosterior, SkiShared};
use crate::engine::ski::grid::Grid;
use crate::engine::ski::lattice::{self, Lattice};
use crate::engine::ski::operator::Operator;
use crate::engine::ski::precondition::Preconditioner;
use crate::engine::ski::{SkiOptions, system};
use crate::engine::{Prior, Tensor};
use crate::kernel::SubKernel;
use std::sync::{Arc, OnceLock};

type Words<T> = std::result::Result<T, String>;

impl SkiPosterior {
    /// The arrays that [`SkiPosterior::from_tensors`] needs.
    pub(super) fn arrays(&self) -> Vec<Tensor> {
        let SkiShared { rows, grids, factor, solver, options, seed, .. } = self.shared.as_ref();
        let settings = vec![
            options.grid.unwrap_or(0) as f64,
            options.probes as f64,
            options.tolerance,
            options.iterations as f64,
            (seed >> 32) as f64,
            (seed & 0xffff_ffff) as f64,
        ];
        let mut all = vec![
            Tensor::new("rows", vec![1], vec![*rows as f64]),
            Tensor::new("settings", vec![settings.len()], settings),
            Tensor::new("standard_error", vec![1], vec![self.standard_error]),
        ];
        for (j, grid) in grids.iter().enumerate() {
            let lattice = |l: &Lattice| [l.origin, l.spacing, l.nodes as f64];
            let lattices: Vec<f64> = grid.lattices.iter().flat_map(lattice).collect();
            all.push(Tensor::new(format!("lattices.{j}"), vec![grid.degree(), 3], lattices));
            let nodes = grid.nodes();
            let (mean, factor) =
                (self.mean.plain[j].clone(), (factor.width, factor.plain[j].clone()));
            all.push(Tensor::new(format!("mean.{j}"), vec![nodes], mean));
            all.push(Tensor::new(format!("factor.{j}"), vec![nodes, factor.0], factor.1));
        }
        if let Some(Solver { operator, .. }) = solver {
            let views = operator.positions.len() / rows;
            let noise = |i: usize| operator.scales[i].powi(-2) - operator.missing[i];
            let noise: Vec<f64> = (0..*rows).map(noise).collect();
            all.push(Tensor::new("positions", vec![views, *rows], operator.positions.clone()));
            all.push(Tensor::new("noise", vec![*rows], noise));
        }
        all
    }

    /// Reads the arrays of a file.
    pub(crate) fn from_tensors(prior: &Arc<Prior>, tensors: &[Tensor]) -> Words<Self> {
        let number = |name: &str| -> Words<f64> {
            let tensor = Tensor::find(tensors, name)?;
            tensor.check_shape(&[1])?;
            Ok(tensor.values[0])
        };
        let rows = Tensor::whole(number("rows")?, 1e15).filter(|rows| *rows > 0);
        let rows = rows.ok_or("the number of rows is none")? as usize;
        let exact_variance = tensors.iter().any(|t| t.name == "positions");
        let (options, seed) = read_settings(Tensor::find(tensors, "settings")?, exact_variance)?;
        let kernels = system::stationary(prior).map_err(|e| e.to_string())?;
        let mut grids = Vec::new();
        let (mut mean, mut factor) = (Vec::new(), Vec::new());
        let mut width = None;
        for (j, (&degree, kernel)) in prior.kernel.degrees.iter().zip(kernels).enumerate() {
            let take = |name: &str| Tensor::find(tensors, &format!("{name}.{j}"));
            let grid = read_grid(kernel, take("lattices")?, degree)?;
            let (own_mean, own_factor) = (take("mean")?, take("factor")?);
            own_mean.check_shape(&[grid.nodes()])?;
            let columns = *own_factor.shape.last().unwrap_or(&0);
            own_factor.check_shape(&[grid.nodes(), columns])?;
            if columns % 2 == 1 || *width.get_or_insert(columns) != columns {
                return Err(format!("array '{}' has {columns} columns", own_factor.name));
            }
            mean.push(own_mean.values.clone());
            factor.push(own_factor.values.clone());
            grids.push(grid);
        }
        let variances = &prior.kernel.variances;
        let solver =
            exact_variance.then(|| read_solver(prior, tensors, rows, &grids, (&options, seed)));
        let solver = solver.transpose()?;
        let mean = Loads::new(&grids, variances, 1, mean);
        let shared = SkiShared {
            rows,
            factor: Loads::new(&grids, variances, width.unwrap_or(0), factor),
            grids,
            solver,
            options,
            seed,
            noise: OnceLock::new(),
        };
        let (shared, standard_error) = (Arc::new(shared), number("standard_error")?);
        Ok(Self { prior: Arc::clone(prior), shared, mean, standard_error })
    }
}

fn read_settings(tensor: &Tensor, exact_variance: bool) -> Words<(SkiOptions, u64)> {
    tensor.check_shape(&[6])?;
    let whole = |k: usize| {
        let value = Tensor::whole(tensor.values[k], 1e15).filter(|v| *v >= 0);
        value.map(|v| v as usize).ok_or(format!("array '{}' is not of whole numbers", tensor.name))
    };
    let options = SkiOptions {
        grid: Some(whole(0)?).filter(|nodes| *nodes > 0),
        probes: whole(1)?,
        tolerance: tensor.values[2],
        iterations: whole(3)?,
        exact_variance,
    };
    options.check().map_err(|e| e.to_string())?;
    Ok((options, (whole(4)? as u64) << 32 | whole(5)? as u64))
}

fn read_grid(kernel: SubKernel, tensor: &Tensor, degree: usize) -> Words<Grid> {
    tensor.check_shape(&[degree, 3])?;
    let wrong = || format!("array '{}' does not describe a grid", tensor.name);
    let read = |row: &[f64]| -> Option<Lattice> {
        let nodes = Tensor::whole(row[2], 1e9).filter(|n| *n >= 4)? as usize;
        let (origin, spacing) = (row[0], row[1]);
        (spacing > 0.0).then_some(Lattice { origin, spacing, nodes })
    };
    let lattices: Option<Vec<Lattice>> = tensor.values.chunks(3).map(read).collect();
    let lattices = lattices.ok_or_else(wrong)?;
    lattice::check_size(&lattices).map_err(|_| wrong())?;
    Ok(Grid::new(kernel, lattices))
}

fn read_solver(
    prior: &Prior,
    tensors: &[Tensor],
    rows: usize,
    grids: &[Grid],
    (options, seed): (&SkiOptions, u64),
) -> Words<Solver> {
    let (positions, noise) = (Tensor::find(tensors, "positions")?, Tensor::find(tensors, "noise")?);
    positions.check_shape(&[prior.kernel.views.rows(), rows])?;
    noise.check_shape(&[rows])?;
    let lattices = grids.iter().flat_map(|grid| &grid.lattices);
    for (run, lattice) in positions.values.chunks(rows).zip(lattices) {
        if !run.iter().all(|p| lattice.holds(*p)) {
            return Err("array 'positions' leaves the grid".into());
        }
    }
    if noise.values.iter().any(|s| *s <= 0.0) {
        return Err("array 'noise' has an entry that is not positive".into());
    }
    let variances = prior.kernel.variances.clone();
    let positions = positions.values.clone();
    let operator = Operator::new(grids.to_vec(), variances, positions, |i| noise.values[i], rows);
    let preconditioner = Preconditioner::new(&operator, prior, seed).map_err(|e| e.to_string())?;
    Ok(Solver::new(operator, preconditioner, options))
}
