//! Statistics of shards, merged into a model.

use crate::error::to_python;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use raysum::{Error, Shard, Stack};
use std::path::PathBuf;

/// What a mixture of models does not have.
pub(crate) const SHARDS: &str = "statistics of shards";

/// The models with the rows of shards, given by their files: beside their own rows or in place of
/// them, and with equal shards refused or not.
pub(crate) fn merged(
    stacks: &[Stack],
    paths: &[PathBuf],
    replace: bool,
    repeated: bool,
) -> PyResult<Vec<Stack>> {
    let mut by_target: Vec<Vec<Shard>> = vec![Vec::new(); stacks.len()];
    for path in paths {
        let shards = Shard::load_all(path).map_err(to_python)?;
        let (found, expected, path) = (shards.len(), stacks.len(), path.display());
        if found != expected {
            let message = format!("{path}: {found} targets, but the model has {expected}");
            return Err(PyValueError::new_err(message));
        }
        by_target.iter_mut().zip(shards).for_each(|(own, shard)| own.push(shard));
    }
    let mut all = stacks.to_vec();
    for (stack, shards) in all.iter_mut().zip(&by_target) {
        let model = stack.require_single_mut(SHARDS).map_err(to_python)?;
        let merged = match (replace, repeated) {
            (false, false) => model.merge(shards),
            (false, true) => model.merge_repeated(shards),
            (true, false) => model.replace(shards),
            (true, true) => model.replace_repeated(shards),
        };
        merged.map_err(|error| by_name(error, paths))?;
    }
    Ok(all)
}

/// An error about one of several shards, with the names of their files.
fn by_name(error: Error, files: &[PathBuf]) -> PyErr {
    match error {
        Error::NotForThisModel { shard: Some(shard) } => {
            PyValueError::new_err(format!("{}: {error}", files[shard].display()))
        }
        Error::RepeatedShard { shard, same_as } => {
            let why = match same_as {
                Some(other) if files[other] == files[shard] => {
                    "the file is given twice".to_string()
                }
                Some(other) => format!("they are in {} too", files[other].display()),
                None => "they are in the model already".to_string(),
            };
            PyValueError::new_err(format!(
                "{}: its rows would count twice: {why}; leave it out, or give \
                 allow_duplicates=True.",
                files[shard].display()
            ))
        }
        other => to_python(other),
    }
}
