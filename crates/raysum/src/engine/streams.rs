//! Processes blocks of rows on many threads, with bit-identical results for any number of threads.

use crate::error::Result;
use rayon::prelude::*;
use std::ops::Range;

/// Processes blocks of `size` rows in a fixed number of streams, which share the threads: stream t
/// takes the blocks t, t + T, t + 2T, …, one after another, and sums up on its own. What comes back
/// is in order, so that adding it up gives the same bits on any number of threads. A failure is
/// that of the first stream that failed.
pub(super) fn in_streams<S: Send>(
    rows: usize,
    size: usize,
    streams: usize,
    start: impl Fn() -> S + Sync,
    add: impl Fn(&mut S, Range<usize>) -> Result<()> + Sync,
) -> Result<Vec<S>> {
    let parts: Vec<Result<S>> = (0..streams.min(rows.div_ceil(size)))
        .into_par_iter()
        .map(|stream| {
            let mut sum = start();
            for range in blocks(rows, size).skip(stream).step_by(streams) {
                add(&mut sum, range)?;
            }
            Ok(sum)
        })
        .collect();
    parts.into_iter().collect()
}

pub(super) fn blocks(rows: usize, size: usize) -> impl Iterator<Item = Range<usize>> + Clone {
    (0..rows).step_by(size).map(move |start| start..(start + size).min(rows))
}
