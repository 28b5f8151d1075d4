//! The settings of the SKI engine.

use super::values::number;
use clap::Args as ClapArgs;
use raysum::limits::{MAX_PROBES, MIN_GRID_POINTS, MIN_PROBES, written};
use raysum::settings::ConfigPatch;

/// Settings of the SKI engine only.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "The ski engine")]
pub(crate) struct SkiArgs {
    /// Grid points per projection, from 16 [default: as many as accurate interpolation needs]
    #[arg(
        long, value_name = "POINTS", allow_hyphen_values = true,
        value_parser = number::<usize>(format!("a whole number, {MIN_GRID_POINTS} or more"))
    )]
    pub(crate) grid: Option<usize>,

    /// Random probes of the likelihood estimate [default: 15]
    #[arg(
        long, value_name = "N", allow_hyphen_values = true,
        value_parser = number::<usize>(
            format!("a whole number from {MIN_PROBES} to {}", written(MAX_PROBES))
        )
    )]
    pub(crate) probes: Option<usize>,

    /// Relative residual at which conjugate gradients stop [default: 1e-6]
    #[arg(
        long, value_name = "SHARE", value_parser = number::<f64>("a number between 0 and 1"),
        allow_hyphen_values = true
    )]
    pub(crate) cg_tolerance: Option<f64>,

    /// Maximum number of iterations of conjugate gradients [default: 1000]
    #[arg(
        long, value_name = "N", value_parser = number::<usize>("a whole number, 1 or more"),
        allow_hyphen_values = true
    )]
    pub(crate) cg_iterations: Option<usize>,

    /// Compute variances by one solve per row, which is slow, instead of a low-rank factor
    #[arg(long)]
    pub(crate) exact_variance: bool,
}

impl SkiArgs {
    /// The given changes.
    pub(super) fn patch(&self) -> ConfigPatch {
        ConfigPatch {
            grid: self.grid,
            probes: self.probes,
            cg_tolerance: self.cg_tolerance,
            cg_iterations: self.cg_iterations,
            exact_variance: self.exact_variance.then_some(true),
            ..ConfigPatch::default()
        }
    }
}
