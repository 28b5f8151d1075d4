//! What a fit starts from: the targets that are fitted together, their projections and parameters.

use crate::config::Config;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::parameters::Parameters;
use crate::project::Projections;

/// The targets that are fitted together: all of them, or each alone.
pub(super) fn groups<'d>(data: &Dataset<'d>, shared: bool) -> Vec<Dataset<'d>> {
    match data.targets().len() {
        targets if targets > 1 && !shared => (0..targets).map(|k| data.one_target(k)).collect(),
        _ => vec![data.clone()],
    }
}

/// The parameters of a model along these projections, or along those that the seed gives.
pub(super) fn parameters(
    config: &Config,
    projections: Option<&Projections>,
    data: &Dataset<'_>,
) -> Result<Parameters> {
    config.check()?;
    let projections = if let Some(projections) = projections {
        projections.clone()
    } else {
        let degrees = config.degrees.resolve(data.columns());
        Projections::choose(config.directions, &degrees, data.columns(), config.seed)?
    };
    let (expected, found) = (projections.views().columns(), data.columns());
    if found != expected {
        return Err(Error::ColumnCount { expected, found });
    }
    Parameters::new(config, projections)
}
