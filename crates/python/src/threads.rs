//! Thread pools, one per number of threads.

use crate::error::to_python;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use raysum::Result;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Keyed by process, too: the threads of the parent's pools do not exist after a fork.
static POOLS: Mutex<BTreeMap<(u32, usize), Arc<ThreadPool>>> = Mutex::new(BTreeMap::new());

/// The pool with this number of threads. Pools are kept, because starting one takes longer than a
/// small prediction.
pub(crate) fn pool(threads: usize) -> PyResult<Arc<ThreadPool>> {
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (std::process::id(), threads);
    if let Some(pool) = pools.get(&key) {
        return Ok(pool.clone());
    }
    let built = ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = built.map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
    Ok(pools.entry(key).or_insert(Arc::new(pool)).clone())
}

/// Runs `body` on this number of threads, without the GIL.
pub(crate) fn compute<T: Send>(
    py: Python<'_>,
    threads: usize,
    body: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    let pool = pool(threads)?;
    py.detach(|| pool.install(body)).map_err(to_python)
}
