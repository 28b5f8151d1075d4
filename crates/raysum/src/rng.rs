//! Random numbers: one portable stream per purpose, all derived from one seed.

use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

/// What a stream is used for. A new use gets a new number, so that older ones keep their draws; 4
/// is taken by the folds of the command line, 9 by the experiments.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// Projection directions.
    Directions = 1,
    /// Starting points of the search.
    Starts = 2,
    /// Samples of the posterior.
    Samples = 3,
    /// The rows of a stage of the search.
    Subset = 5,
    /// Functions drawn from the prior or the posterior.
    Functions = 6,
    /// Probes and pivots of the SKI engine.
    Probes = 8,
    /// Rows whose columns are replaced to compute relevance.
    Relevance = 10,
    /// Noise of functions that are observed.
    Noise = 11,
    /// The members of a stack that functions are drawn from.
    Members = 13,
    /// Points that are suggested.
    Suggestions = 14,
    /// The order in which the neighbors engine conditions rows.
    Order = 12,
}

/// A random number for a row of standardised values, independent of the row's position and of
/// the units of its columns.
pub(crate) fn random_key(seed: u64, values: impl IntoIterator<Item = f64>) -> u64 {
    // Rounding in the standardisation must not change the number.
    const DIGITS: f64 = 1e6;
    let mut key = mixed(seed);
    for value in values {
        key = mixed(key ^ ((value * DIGITS).round() + 0.0).to_bits());
    }
    key
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood 2014).
fn mixed(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The stream for `purpose`, number `index` (a start, a repeat, …).
pub(crate) fn stream(seed: u64, purpose: Purpose, index: u32) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream((purpose as u64) << 32 | u64::from(index));
    rng
}
