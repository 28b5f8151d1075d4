//! Random numbers: one portable stream per purpose, all from the user's one seed.

use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

/// What a stream is used for. A new use gets a new number, so that older ones keep their draws.
#[derive(Clone, Copy, Debug)]
pub enum Purpose {
    /// Projection directions.
    Directions = 1,
    /// Starting points of the search.
    Starts = 2,
    /// Samples of the posterior.
    Samples = 3,
    /// Splits into folds, and held-out rows.
    Splits = 4,
    /// The part of the rows that a search starts on.
    Subset = 5,
    /// Functions drawn from the prior or the posterior.
    Functions = 6,
    /// The folds by which learning directions is stopped.
    Stopping = 7,
    /// Probes and pivots of the SKI engine.
    Probes = 8,
    /// Data made for an experiment.
    Synthetic = 9,
}

/// The stream for `purpose`, number `index` (a start, a repeat, …).
pub fn stream(seed: u64, purpose: Purpose, index: u32) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream((purpose as u64) << 32 | u64::from(index));
    rng
}
