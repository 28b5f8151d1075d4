//! The start of a fit: the targets that are fitted together, their projections and parameters.

use super::training::Training;
use crate::config::{Config, Term};
use crate::data::Dataset;
use crate::error::{Error, Result, TermError};
use crate::parameters::Parameters;
use crate::project::Projections;

/// The targets that are fitted together: all of them, or each alone.
pub(super) fn groups<'d>(data: &Dataset<'d>, shared: bool) -> Vec<Dataset<'d>> {
    match data.targets().len() {
        targets if targets > 1 && !shared => (0..targets).map(|k| data.one_target(k)).collect(),
        _ => vec![data.clone()],
    }
}

/// The same model with fewer directions, if those that it has are not affordable, or if a fit that is
/// known had this number of sub-kernels in each term.
///
/// Columns with heavy tails make every direction cost several times what a smooth one does. Where 80
/// directions took minutes on such tables, 20 had the same error.
pub(super) fn fewer_directions(
    config: &Config,
    known: Option<&[usize]>,
    training: &Training<'_>,
    columns: usize,
) -> Result<Option<Config>> {
    let Some(fewer) = config.with_fewer_directions(columns)? else { return Ok(None) };
    let wanted = if let Some(known) = known {
        let counts = fewer.terms.iter().map(|term| term.degrees.resolve(columns).len());
        counts.eq(known.iter().copied())
    } else {
        let parameters = Parameters::new(config, choose(config, columns)?)?;
        training.is_dear(&parameters.prior_at(&parameters.start()))
    };
    Ok(wanted.then_some(fewer))
}

/// The parameters of a model with these projections, or with those of the seed.
pub(super) fn parameters(
    config: &Config,
    projections: Option<&[Projections]>,
    data: &Dataset<'_>,
) -> Result<Parameters> {
    config.check()?;
    let found = data.columns();
    let projections = match projections {
        Some(projections) => projections.to_vec(),
        None => choose(config, found)?,
    };
    let known = projections.iter().map(|p| p.views().columns());
    if let Some(expected) = known.into_iter().find(|expected| *expected != found) {
        return Err(Error::ColumnCount { expected, found });
    }
    Parameters::new(config, projections)
}

/// The projections of each term, as the seed gives them.
fn choose(config: &Config, columns: usize) -> Result<Vec<Projections>> {
    let choose = |(index, term): (usize, &Term)| {
        let degrees = term.degrees.resolve(columns);
        Projections::choose_for(index as u32, term.directions, &degrees, columns, config.seed)
    };
    config.terms.iter().enumerate().map(choose).collect()
}

/// The error of an engine that cannot express a kernel, or not its rough functions, with the term of a
/// sum that has it.
pub(super) fn of_term(error: Error, config: &Config, columns: usize) -> Error {
    match error {
        Error::Terms(TermError::NoProductForm { engine, kernel, degree, .. }) => {
            let has = |term: &Term| {
                term.kernel.name() == kernel && term.degrees.resolve(columns).contains(&degree)
            };
            let term = config.terms.iter().position(has).filter(|_| config.terms.len() > 1);
            TermError::NoProductForm { engine, kernel, degree, term }.into()
        }
        Error::BasisTooLarge if config.terms.len() > 1 => {
            let kinked = config.terms.iter().position(|term| term.kernel.has_kink());
            kinked.map_or(error, |term| {
                TermError::TooRough { term, kernel: config.terms[term].kernel.name() }.into()
            })
        }
        other => other,
    }
}
