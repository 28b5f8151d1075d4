//! What the suites share: random numbers, and changes to a configuration.
#![allow(unreachable_pub, reason = "a module of a test program")]

use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use raysum::Config;

/// Standard normal numbers, the same for the same seed and index.
pub fn normals(seed: u64, index: u32) -> impl FnMut() -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(3 << 32 | u64::from(index));
    move || StandardNormal.sample(&mut rng)
}

/// A configuration with some fields changed.
pub fn with(mut config: Config, change: impl FnOnce(&mut Config)) -> Config {
    change(&mut config);
    config
}
