//! Fits models to rows, on a thread of their own.

use crate::arrays::Rows;
use crate::error::to_python;
use crate::frame::TrainingFrame;
use crate::job::{self, Caller, Step};
use crate::model::Model;
use crate::settings::{Plan, Recipe};
use crate::threads::pool;
use pyo3::prelude::*;
use raysum::error::StackError;
use raysum::progress::Progress;
use raysum::{Checkpoint, Dataset, Error, Result, Stack};
use std::path::PathBuf;

/// An evaluation, and the number of its fit among those of a stack.
type Numbered = (usize, Step);

/// Fits models to rows; returns the models, the history of the search, fit by fit, and the number of
/// distinct rows if they are too few for a choice of models, so that ridge regression is fitted.
#[pyfunction]
#[pyo3(signature = (rows, settings, threads, frame=None, progress=None, checkpoint=None))]
pub(crate) fn fit(
    py: Python<'_>,
    rows: Rows,
    settings: Recipe,
    threads: usize,
    frame: Option<&TrainingFrame>,
    progress: Option<&Bound<'_, PyAny>>,
    checkpoint: Option<PathBuf>,
) -> PyResult<(Model, Vec<Numbered>, Option<usize>)> {
    let groups = frame.map(|frame| frame.schema.groups());
    let (plan, pool) = (settings.plan()?, pool(threads)?);
    let (targets, history, too_few) = job::run(py, progress, move |py, caller| {
        rows.borrow(py, false, |data| {
            let search = || {
                let data = match &groups {
                    Some(groups) => data.clone().grouped(groups)?,
                    None => data.clone(),
                };
                let mut kept = checkpoint.as_ref().map(Checkpoint::open).transpose()?;
                let mut run = |plan: &Plan| stacks(plan, &data, kept.as_mut(), caller);
                let (found, too_few) = match run(&plan) {
                    Err(Error::Stack(StackError::TooFewRows { rows })) => {
                        (run(&plan.of_few_rows()?)?, Some(rows))
                    }
                    found => (found?, None),
                };
                if let Some(kept) = kept {
                    kept.remove();
                }
                Ok((found.0, found.1, too_few))
            };
            job::detached(py, || pool.install(search)).map_err(to_python)
        })
    })?;
    Ok((Model { targets }, history, too_few))
}

/// A stack per target, and the history of their fits.
fn stacks<T: Send>(
    plan: &Plan,
    data: &Dataset<'_>,
    checkpoint: Option<&mut Checkpoint>,
    caller: &Caller<T>,
) -> Result<(Vec<Stack>, Vec<Numbered>)> {
    let (mut history, mut fits) = (Vec::new(), 1);
    let mut report = |p: &Progress| {
        fits = p.fits;
        history.push((p.fit, job::step(p)));
        caller.report(p)
    };
    let mut fit = plan.fit().progress(&mut report);
    if let Some(checkpoint) = checkpoint {
        fit = fit.checkpoint(checkpoint);
    }
    let stacks = fit.run(data)?;
    // Fits run side by side, each in an order of its own.
    history.sort_by_key(|(fit, (target, ..))| (*target, *fit));
    if plan.is_one() {
        history = of_the_model(history, fits);
    }
    Ok((stacks, history))
}

/// The part of a history that found the hyperparameters of a single model. Its fits without held-out
/// rows, after as many of ridge regression, are for its calibration alone, except where the first of
/// them also gives the hyperparameters of all rows.
fn of_the_model(history: Vec<Numbered>, fits: usize) -> Vec<Numbered> {
    let of = |number: usize| history.iter().filter(move |(fit, _)| *fit == number).copied();
    let last: Vec<Numbered> = of(fits - 1).collect();
    if last.is_empty() { of((fits / 2).saturating_sub(1)).collect() } else { last }
}
