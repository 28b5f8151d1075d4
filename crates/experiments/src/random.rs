//! Random numbers of the experiments' generated data.

use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

/// Stream number `index` of a seed. The upper half of its number keeps it apart from the streams
/// that a fit draws from the same seed, and stays as it is: other numbers would mean other data.
pub(crate) fn stream(seed: u64, index: u32) -> ChaCha8Rng {
    const SYNTHETIC: u64 = 9;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(SYNTHETIC << 32 | u64::from(index));
    rng
}
