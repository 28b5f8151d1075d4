//! The spectral density of each sub-kernel, as a way to draw frequencies from it.
//!
//! A stationary kernel is an average of waves, κ(τ) = E cos(ω·τ). Every κ here but the cosine is a
//! mixture of RBFs of different widths, so ω = scale · g with g normal and a scale of its own law:
//! 1 for the RBF, |normal| for the inverse multiquadric, and √(2ν/χ²) with 2ν degrees of freedom
//! for Matérn ν (ω then follows Student's t). That holds in any number of dimensions, with one
//! scale for all of them; but the Laplace kernel, a product over dimensions, has a scale for each.

use crate::kernel::SubKernel;
use rand::Rng;
use rand::seq::SliceRandom;
use rand_distr::{Distribution, Open01, StandardNormal};
use statrs::distribution::{ContinuousCDF, Normal};

/// Draws `count` frequencies in `degree` dimensions: one run of `count` values per dimension.
///
/// Each follows the spectral density exactly, but together they are spread evenly over it (a Latin
/// hypercube): their average is nearer to κ than that of independent ones.
pub(crate) fn frequencies(
    kernel: SubKernel,
    degree: usize,
    count: usize,
    rng: &mut impl Rng,
) -> Vec<f64> {
    if kernel == SubKernel::Cosine {
        return vec![1.0; degree * count];
    }
    let mut all = Vec::with_capacity(degree * count);
    for dimension in 0..degree {
        let mut run = even_normals(count, rng);
        if dimension > 0 {
            run.shuffle(rng);
        }
        all.append(&mut run);
    }
    for m in 0..count {
        if kernel.is_taxicab() {
            (0..degree).for_each(|d| all[d * count + m] *= scale(kernel, rng));
        } else {
            let scale = scale(kernel, rng);
            (0..degree).for_each(|d| all[d * count + m] *= scale);
        }
    }
    all
}

/// One normal from each of `count` intervals of equal probability, in rising order.
fn even_normals(count: usize, rng: &mut impl Rng) -> Vec<f64> {
    let normal = Normal::standard();
    let one = |m: usize| {
        let within: f64 = Open01.sample(rng);
        // Rounding must not reach the ends, whose quantiles are infinite.
        let u = ((m as f64 + within) / count as f64).clamp(1e-16, 1.0 - 2e-16);
        normal.inverse_cdf(u)
    };
    (0..count).map(one).collect()
}

/// What a normal frequency is multiplied by.
fn scale(kernel: SubKernel, rng: &mut impl Rng) -> f64 {
    let mut normal = || -> f64 { StandardNormal.sample(rng) };
    let mut student = |freedom: u8| {
        let square: f64 = (0..freedom).map(|_| normal().powi(2)).sum();
        (f64::from(freedom) / square.max(f64::MIN_POSITIVE)).sqrt()
    };
    match kernel {
        SubKernel::Rbf | SubKernel::Cosine => 1.0,
        SubKernel::Matern12 | SubKernel::Laplace => student(1),
        SubKernel::Matern32 => student(3),
        SubKernel::Matern52 => student(5),
        SubKernel::Imq => normal().abs(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, stream};

    #[test]
    fn waves_average_to_the_kernel() {
        let mut rng = stream(1, Purpose::Functions, 0);
        let count = 200_000;
        for (name, kernel) in SubKernel::ALL {
            for degree in [1, 2, 5] {
                if kernel.check_degree(degree).is_err() {
                    continue;
                }
                let all = frequencies(kernel, degree, count, &mut rng);
                for r in [0.1, 0.7, 2.0, 6.0] {
                    // A direction with all coordinates equal: every dimension matters.
                    let step = r / (degree as f64).sqrt();
                    let wave = |m: usize| {
                        let sum: f64 = (0..degree).map(|d| all[d * count + m]).sum();
                        (step * sum).cos()
                    };
                    let mean = (0..count).map(wave).sum::<f64>() / count as f64;
                    let s = if kernel.is_taxicab() { degree as f64 * step } else { r * r };
                    let gap = (mean - kernel.value(s)).abs();
                    assert!(gap < 0.008, "{name}, degree {degree} at {r}: off by {gap}");
                }
            }
        }
    }
}
