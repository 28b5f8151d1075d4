//! The settings of the SKI engine.

use super::values::number;
use clap::Args as ClapArgs;
use raysum::{Config, EngineChoice, SkiOptions};

/// What only the SKI engine has.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "The ski engine")]
pub(crate) struct SkiArgs {
    /// Grid points per view, from 16 [default: as many as interpolation needs to be accurate]
    #[arg(
        long, value_name = "POINTS", value_parser = number::<usize>("a whole number, 16 or more"),
        allow_hyphen_values = true
    )]
    pub(crate) grid: Option<usize>,

    /// Random probes for the likelihood's estimate [default: 15]
    #[arg(
        long, value_name = "N", value_parser = number::<usize>("a whole number from 2 to 10,000"),
        allow_hyphen_values = true
    )]
    pub(crate) probes: Option<usize>,

    /// Conjugate gradients end at this share of the right-hand side [default: 1e-6]
    #[arg(
        long, value_name = "SHARE", value_parser = number::<f64>("a number between 0 and 1"),
        allow_hyphen_values = true
    )]
    pub(crate) cg_tolerance: Option<f64>,

    /// Most iterations of conjugate gradients [default: 1000]
    #[arg(
        long, value_name = "N", value_parser = number::<usize>("a whole number, 1 or more"),
        allow_hyphen_values = true
    )]
    pub(crate) cg_iterations: Option<usize>,

    /// Variances by a solve for every point, slow, in place of a low-rank factor made once
    #[arg(long)]
    pub(crate) exact_variance: bool,
}

impl SkiArgs {
    /// Writes what was asked for to a configuration; fails if its engine is another one.
    pub(crate) fn apply(&self, config: &mut Config) -> anyhow::Result<()> {
        let given = [
            ("--grid", self.grid.is_some()),
            ("--probes", self.probes.is_some()),
            ("--cg-tolerance", self.cg_tolerance.is_some()),
            ("--cg-iterations", self.cg_iterations.is_some()),
            ("--exact-variance", self.exact_variance),
        ];
        let first = given.iter().find(|(_, given)| *given);
        if let (Some((name, _)), true) = (first, config.engine != EngineChoice::Ski) {
            anyhow::bail!("{name} is a setting of the ski engine; add --engine ski");
        }
        let SkiOptions { grid, probes, tolerance, iterations, .. } = SkiOptions::default();
        config.ski = SkiOptions {
            grid: self.grid.or(grid),
            probes: self.probes.unwrap_or(probes),
            tolerance: self.cg_tolerance.unwrap_or(tolerance),
            iterations: self.cg_iterations.unwrap_or(iterations),
            exact_variance: self.exact_variance,
        };
        Ok(())
    }
}
