//! Functions drawn from the prior: for each sub-kernel a sum of waves along its views.
//!
//! ```text
//! h_j(z) = M^{-½} Σ_m (a_m cos ω_m·z + b_m sin ω_m·z),   a, b ~ N(0, 1),   f = c + Σ_j λ_j^½ h_j
//! ```
//!
//! With ω from the sub-kernel's spectral density the covariance of h_j over draws is κ itself, and
//! a drawn function can be evaluated at any point, at a cost that does not depend on other points.
//! The waves are kept as r cos 2π(t·z − ψ) with t = ω/2π, which takes one cosine and not two.

use super::prior::{AdditiveKernel, Prior};
use crate::data::Matrix;
use crate::kernel::{Shape, SubKernel};
use crate::linalg;
use crate::rng::{Purpose, stream};
use crate::spectrum::frequencies;
use pulp::{Arch, NullaryFnOnce};
use rand::Rng;
use rand_distr::{Distribution, Exp1, StandardNormal, StandardUniform};
use std::f64::consts::TAU;

/// M, the waves of one sub-kernel. For any M means, variances and covariances over draws are
/// exact; M only decides how Gaussian values at several points are together, for each function has
/// frequencies of its own. At 256 evenly spread ones the covariance that a single function is drawn
/// with is within some hundredths of κ, and a value costs a fraction of a microsecond.
pub(crate) const WAVES: usize = 256;

/// One draw of a function: its waves, and what an engine adds to them.
#[derive(Clone, Debug)]
pub(crate) struct Draw {
    /// One path per sub-kernel.
    pub(crate) paths: Vec<Path>,
    /// The engine's own coefficients, which condition the paths on the data.
    pub(crate) weights: Vec<f64>,
}

impl Draw {
    /// Function number `index` of the prior.
    pub(crate) fn of_prior(prior: &Prior, seed: u64, index: u32) -> Self {
        Self::conditioned(prior, seed, index, |_, _| Vec::new())
    }

    /// Function number `index` of a posterior: the same paths, and coefficients made from them and
    /// from standard normals. Far from the data it equals the function of the prior.
    pub(crate) fn conditioned(
        prior: &Prior,
        seed: u64,
        index: u32,
        weights: impl FnOnce(&[Path], &mut dyn FnMut() -> f64) -> Vec<f64>,
    ) -> Self {
        let mut rng = stream(seed, Purpose::Functions, index);
        let each = prior.kernel.shapes.iter().zip(&prior.kernel.degrees);
        let paths: Vec<Path> = each.map(|(s, degree)| Path::new(*s, *degree, &mut rng)).collect();
        let weights = weights(&paths, &mut || StandardNormal.sample(&mut rng));
        Self { paths, weights }
    }

    /// How many numbers it holds, with what is kept about each array.
    pub(crate) fn numbers(&self) -> usize {
        let path = |path: &Path| match path {
            Path::Line(_) => 16,
            Path::Waves(p) => p.turns.len() + p.phases.len() + p.amplitudes.len() + 16,
        };
        self.paths.iter().map(path).sum::<usize>() + self.weights.len() + 16
    }
}

/// c + Σ_j λ_j^½ h_j at the rows of `x`: one row per draw.
pub(crate) fn evaluate_prior(prior: &Prior, draws: &[Draw], x: &Matrix) -> Matrix {
    let z = prior.kernel.views.project_each(x);
    let mut out = Matrix::zeros(draws.len(), x.rows());
    for (s, draw) in draws.iter().enumerate() {
        let out = out.row_mut(s);
        out.fill(prior.mean);
        add_paths(&prior.kernel, &draw.paths, &z, out);
    }
    out
}

/// Adds Σ_j λ_j^½ h_j at projected points, one run of values per view.
pub(crate) fn add_paths(kernel: &AdditiveKernel, paths: &[Path], z: &[f64], out: &mut [f64]) {
    let n = out.len();
    let rows: Vec<usize> = (0..n).collect();
    for ((path, block), variance) in paths.iter().zip(kernel.blocks()).zip(&kernel.variances) {
        path.add(&z[block.start * n..block.end * n], &rows, variance.sqrt(), out);
    }
}

/// h of one sub-kernel.
#[derive(Clone, Debug)]
pub(crate) enum Path {
    /// h = a z with a ~ N(0, 1), of a linear one.
    Line(f64),
    /// A sum of waves, of a stationary one.
    Waves(Waves),
}

impl Path {
    fn new(shape: Shape, degree: usize, rng: &mut impl Rng) -> Self {
        match shape {
            Shape::Linear => Path::Line(StandardNormal.sample(rng)),
            Shape::Stationary(kernel) => Path::Waves(Waves::new(kernel, degree, rng)),
        }
    }

    /// Adds scale · h at some of the points `z` (one run of as many values as `out` has per view).
    pub(crate) fn add(&self, z: &[f64], rows: &[usize], scale: f64, out: &mut [f64]) {
        match self {
            Path::Line(slope) => rows.iter().for_each(|&row| out[row] += scale * slope * z[row]),
            Path::Waves(waves) => Arch::new().dispatch(AddWaves { waves, z, rows, scale, out }),
        }
    }
}

/// r cos 2π(t·z − ψ), many of them.
#[derive(Clone, Debug)]
pub(crate) struct Waves {
    /// Frequencies in turns per unit of z: a run of M values for each view.
    turns: Vec<f64>,
    /// ψ, in turns.
    phases: Vec<f64>,
    /// M^{-½} r.
    amplitudes: Vec<f64>,
}

impl Waves {
    fn new(kernel: SubKernel, degree: usize, rng: &mut impl Rng) -> Self {
        let mut turns = frequencies(kernel, degree, WAVES, rng);
        turns.iter_mut().for_each(|t| *t /= TAU);
        // (a, b) normal is r, ψ with r² exponential and ψ uniform.
        let uniform = |_| StandardUniform.sample(rng);
        let phases = (0..WAVES).map(uniform).collect();
        let amplitude = |_| -> f64 {
            let square: f64 = Exp1.sample(rng);
            (2.0 * square / WAVES as f64).sqrt()
        };
        let amplitudes = (0..WAVES).map(amplitude).collect();
        Self { turns, phases, amplitudes }
    }

    /// Every wave along one view, as Re and Im of e^{2πi t z} (M by points): h is the sum over
    /// waves of the real part of a product over views, in which the first view brings r and ψ.
    pub(crate) fn along(&self, view: usize, points: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (mut real, mut imaginary) =
            (vec![0.0; WAVES * points.len()], vec![0.0; WAVES * points.len()]);
        let along = Along { waves: self, view, points, real: &mut real, imaginary: &mut imaginary };
        Arch::new().dispatch(along);
        (real, imaginary)
    }
}

// A type and not a closure, as in the weight engine: so the loops get the machine's instructions.
struct AddWaves<'a> {
    waves: &'a Waves,
    z: &'a [f64],
    rows: &'a [usize],
    scale: f64,
    out: &'a mut [f64],
}

impl NullaryFnOnce for AddWaves<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { waves: path, z, rows, scale, out } = self;
        let n = out.len();
        let (phases, amplitudes) = (&path.phases[..WAVES], &path.amplitudes[..WAVES]);
        let mut angle = [0.0; WAVES];
        for &row in rows {
            for m in 0..WAVES {
                angle[m] = -phases[m];
            }
            for (run, turns) in z.chunks(n).zip(path.turns.chunks_exact(WAVES)) {
                let z = run[row];
                for m in 0..WAVES {
                    angle[m] += turns[m] * z;
                }
            }
            // Products first and then their sum: in one loop, not all of it would be vectorised.
            for m in 0..WAVES {
                angle[m] = amplitudes[m] * cos_turns(angle[m]);
            }
            out[row] += scale * linalg::sum(&angle);
        }
    }
}

/// See [`Waves::along`].
struct Along<'a> {
    waves: &'a Waves,
    view: usize,
    points: &'a [f64],
    real: &'a mut [f64],
    imaginary: &'a mut [f64],
}

impl NullaryFnOnce for Along<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { waves, view, points, real, imaginary } = self;
        let n = points.len();
        for (m, turns) in waves.turns[view * WAVES..][..WAVES].iter().enumerate() {
            let (phase, amplitude) =
                if view == 0 { (waves.phases[m], waves.amplitudes[m]) } else { (0.0, 1.0) };
            let (real, imaginary) = (&mut real[m * n..][..n], &mut imaginary[m * n..][..n]);
            for i in 0..n {
                let t = turns * points[i] - phase;
                real[i] = amplitude * cos_turns(t);
                imaginary[i] = amplitude * cos_turns(t - 0.25);
            }
        }
    }
}

/// (2π)^{2k+1} (−1)^k / (2k+1)!: the series of sin 2πs.
const SINE: [f64; 11] = {
    let mut series = [TAU; 11];
    let mut k = 1;
    while k < series.len() {
        series[k] = -series[k - 1] * TAU * TAU / ((2 * k) * (2 * k + 1)) as f64;
        k += 1;
    }
    series
};

/// cos 2πt to about 1 unit in the last place of 1, without a branch or a call so that loops over it
/// vectorise, and with the same bits on every machine.
#[inline(always)]
fn cos_turns(t: f64) -> f64 {
    // Adding 1.5·2⁵² rounds to an integer. From 2⁵¹ turns on nothing is left of t that could be
    // told; the bounds keep what comes out a cosine.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let part = (t - ((t + ROUND) - ROUND)).clamp(-0.5, 0.5);
    // cos 2πt = sin 2π(¼ − |t|), whose argument is at most a quarter of a turn.
    let s = 0.25 - part.abs();
    let square = s * s;
    let mut p = SINE[10];
    for c in SINE[..10].iter().rev() {
        p = p * square + c;
    }
    p * s
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosines_are_right_and_stay_bounded() {
        for i in -40_000..40_000 {
            let t = f64::from(i) * 1.37e-4;
            assert!((cos_turns(t) - (TAU * t).cos()).abs() < 1e-14, "{t}");
        }
        for t in [1e9 + 0.25, 1e15, 3e15, 1e18, -1e18, 1e200, -1e300] {
            assert!(cos_turns(t).abs() <= 1.0 + 1e-15, "{t}");
        }
    }

    #[test]
    fn products_along_views_are_the_path() {
        let mut rng = stream(3, Purpose::Functions, 0);
        let path = Path::new(Shape::Stationary(SubKernel::Rbf), 3, &mut rng);
        let z = [0.3, -1.7, 0.9];
        let mut expected = [0.0];
        path.add(&z, &[0], 1.0, &mut expected);
        let Path::Waves(path) = path else { panic!("a stationary kernel has waves") };
        let mut product = (vec![1.0; WAVES], vec![0.0; WAVES]);
        for (view, z) in z.iter().enumerate() {
            let (re, im) = path.along(view, &[*z]);
            for m in 0..WAVES {
                let (a, b) = (product.0[m], product.1[m]);
                product.0[m] = a * re[m] - b * im[m];
                product.1[m] = a * im[m] + b * re[m];
            }
        }
        let sum: f64 = product.0.iter().sum();
        assert!((sum - expected[0]).abs() < 1e-13, "{sum} and {expected:?}");
    }
}
