//! The sub-kernels κ as functions of the squared distance s = r², and their slopes dκ/ds.
//!
//! Kernels know nothing of projections: an engine hands over squared distances in units of the
//! length-scale. Writing everything in s makes the gradient of every kernel one product,
//! ∂κ/∂z = 2 κ'(s) (z − z'). The Laplace kernel is one of s = Σ|z − z'| instead, and the product is
//! κ'(s) sign(z − z').

use crate::error::{Error, Result};
use crate::named;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

const SQRT_3: f64 = 1.732_050_807_568_877_2;
const SQRT_5: f64 = 2.236_067_977_499_79;

/// The most dimensions that an engine takes a kernel apart in.
pub(crate) const MOST_FACTORS: usize = 3;

/// A stationary kernel with κ(0) = 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SubKernel {
    /// exp(−r²/2).
    Rbf,
    /// cos r, in one dimension only. Over Gaussian directions its limit is the RBF.
    Cosine,
    /// exp(−r).
    Matern12,
    /// (1 + √3 r) exp(−√3 r).
    Matern32,
    /// (1 + √5 r + 5r²/3) exp(−√5 r).
    Matern52,
    /// 1/√(1 + r²), the limit of one-dimensional RBFs over Gaussian directions.
    Imq,
    /// exp(−Σ|z − z'|), a product of Matérn 1/2 along each dimension. Steps along single columns come
    /// as easily to it as to a decision tree.
    Laplace,
}

impl SubKernel {
    /// Every kernel with its name.
    pub const ALL: [(&'static str, SubKernel); 7] = [
        ("rbf", SubKernel::Rbf),
        ("cosine", SubKernel::Cosine),
        ("matern12", SubKernel::Matern12),
        ("matern32", SubKernel::Matern32),
        ("matern52", SubKernel::Matern52),
        ("imq", SubKernel::Imq),
        ("laplace", SubKernel::Laplace),
    ];

    /// The kernel's name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, k)| *k == self).map_or("", |(name, _)| name)
    }

    /// κ at squared distance `s`, or at the sum of absolute gaps for the Laplace kernel.
    #[inline(always)]
    pub fn value(self, s: f64) -> f64 {
        self.value_and_slope(s).0
    }

    /// κ and dκ/ds at `s`, as for [`SubKernel::value`].
    ///
    /// At s = 0 the slope of Matérn 1/2 is infinite; 0 is returned, which is its product with
    /// the vanishing difference z − z'.
    #[inline(always)]
    pub fn value_and_slope(self, s: f64) -> (f64, f64) {
        match self {
            SubKernel::Rbf => {
                let k = exp_negative(-0.5 * s);
                (k, -0.5 * k)
            }
            SubKernel::Cosine => {
                let r = s.sqrt();
                let sinc = if r < 1e-4 { 1.0 - s / 6.0 } else { r.sin() / r };
                (r.cos(), -0.5 * sinc)
            }
            SubKernel::Matern12 => {
                let r = s.sqrt();
                let k = exp_negative(-r);
                (k, if r > 0.0 { -0.5 * k / r } else { 0.0 })
            }
            SubKernel::Matern32 => {
                let a = SQRT_3 * s.sqrt();
                let e = exp_negative(-a);
                ((1.0 + a) * e, -1.5 * e)
            }
            SubKernel::Matern52 => {
                let a = SQRT_5 * s.sqrt();
                let e = exp_negative(-a);
                ((1.0 + a + a * a / 3.0) * e, -5.0 / 6.0 * (1.0 + a) * e)
            }
            SubKernel::Imq => {
                let k = 1.0 / (1.0 + s).sqrt();
                (k, -0.5 * k / (1.0 + s))
            }
            SubKernel::Laplace => {
                let k = exp_negative(-s);
                (k, -k)
            }
        }
    }

    /// Runs `body` with the kernel as a constant, so that its inner loop holds no branch on the
    /// kernel and the compiler can vectorise it.
    #[inline(always)]
    pub(crate) fn specialise<B: Specialised>(self, body: B) -> B::Output {
        match self {
            SubKernel::Rbf => body.run(Radial(|s| SubKernel::Rbf.value_and_slope(s))),
            SubKernel::Cosine => body.run(Radial(|s| SubKernel::Cosine.value_and_slope(s))),
            SubKernel::Matern12 => body.run(Radial(|s| SubKernel::Matern12.value_and_slope(s))),
            SubKernel::Matern32 => body.run(Radial(|s| SubKernel::Matern32.value_and_slope(s))),
            SubKernel::Matern52 => body.run(Radial(|s| SubKernel::Matern52.value_and_slope(s))),
            SubKernel::Imq => body.run(Radial(|s| SubKernel::Imq.value_and_slope(s))),
            SubKernel::Laplace => body.run(Taxicab),
        }
    }

    /// The kernel in `degree` dimensions under the name that engines know it by: in one, Laplace's is
    /// Matérn 1/2.
    pub(crate) fn in_dimensions(self, degree: usize) -> Self {
        if self == SubKernel::Laplace && degree == 1 { SubKernel::Matern12 } else { self }
    }

    /// Whether distances are sums of absolute gaps.
    pub(crate) fn is_taxicab(self) -> bool {
        Shape::from(self).is_taxicab()
    }

    /// Whether the kernel has a kink at 0, which no polynomial follows.
    pub(crate) fn has_kink(self) -> bool {
        matches!(self, SubKernel::Matern12 | SubKernel::Laplace)
    }

    /// Whether the kernel in `degree` dimensions is known to be a product of kernels in one, along
    /// any axes: a kernel of the distance that is one is Gaussian.
    pub(crate) fn is_product(self, degree: usize) -> bool {
        degree == 1 || (self == SubKernel::Rbf && degree <= MOST_FACTORS)
    }

    /// The kernel in `degree` dimensions, if it is a covariance there.
    pub fn check_degree(self, degree: usize) -> Result<()> {
        if self == SubKernel::Cosine && degree > 1 {
            return Err(Error::OneDimensional { kernel: self.name(), degree });
        }
        Ok(())
    }
}

/// What a sub-kernel makes of two projected points z and z'.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Shape {
    /// z·z', in one dimension: a straight line through the mean.
    Linear,
    /// κ(|z − z'|).
    Stationary(SubKernel),
}

impl Shape {
    /// The name of the kernel.
    pub fn name(self) -> &'static str {
        match self {
            Shape::Linear => "linear",
            Shape::Stationary(kernel) => kernel.name(),
        }
    }
}

impl Shape {
    /// See [`SubKernel::is_taxicab`].
    pub(crate) fn is_taxicab(self) -> bool {
        self == Shape::Stationary(SubKernel::Laplace)
    }

    /// Whether the kernel has a kink at 0.
    pub(crate) fn has_kink(self) -> bool {
        matches!(self, Shape::Stationary(kernel) if kernel.has_kink())
    }

    /// See [`SubKernel::in_dimensions`].
    pub(crate) fn in_dimensions(self, degree: usize) -> Self {
        match self {
            Shape::Linear => self,
            Shape::Stationary(kernel) => kernel.in_dimensions(degree).into(),
        }
    }

    /// The kernel in `degree` dimensions, if it is a covariance there that is known here.
    pub fn check_degree(self, degree: usize) -> Result<()> {
        match self {
            Shape::Stationary(kernel) => kernel.check_degree(degree),
            Shape::Linear if degree > 1 => {
                Err(Error::OneDimensional { kernel: self.name(), degree })
            }
            Shape::Linear => Ok(()),
        }
    }
}

impl From<SubKernel> for Shape {
    fn from(kernel: SubKernel) -> Self {
        Shape::Stationary(kernel)
    }
}

impl TryFrom<String> for Shape {
    type Error = Error;
    fn try_from(name: String) -> Result<Self> {
        if name == Shape::Linear.name() {
            Ok(Shape::Linear)
        } else {
            Ok(Shape::Stationary(name.parse()?))
        }
    }
}

impl From<Shape> for String {
    fn from(shape: Shape) -> String {
        shape.name().into()
    }
}

/// A computation that takes a kernel as a compile-time constant.
pub(crate) trait Specialised {
    /// What it gives.
    type Output;

    /// Runs the computation with this kernel.
    fn run<K: ConstantKernel>(self, kernel: K) -> Self::Output;
}

/// A kernel κ(s), where s is a sum over dimensions, with ∂κ/∂z = 2 κ'(s) `pull`(z − z').
pub(crate) trait ConstantKernel: Copy {
    /// Whether `pull` is the gap itself, so that forces between points are those of springs.
    const SPRINGS: bool;

    /// What a gap z − z' in one dimension adds to s.
    fn part(self, gap: f64) -> f64;

    /// Half of the slope of [`ConstantKernel::part`].
    fn pull(self, gap: f64) -> f64;

    /// κ and dκ/ds.
    fn value_and_slope(self, s: f64) -> (f64, f64);
}

/// A kernel of the squared distance.
#[derive(Clone, Copy)]
pub(crate) struct Radial<F>(F);

impl<F: Fn(f64) -> (f64, f64) + Copy> ConstantKernel for Radial<F> {
    const SPRINGS: bool = true;

    #[inline(always)]
    fn part(self, gap: f64) -> f64 {
        gap * gap
    }

    #[inline(always)]
    fn pull(self, gap: f64) -> f64 {
        gap
    }

    #[inline(always)]
    fn value_and_slope(self, s: f64) -> (f64, f64) {
        self.0(s)
    }
}

/// The Laplace kernel.
#[derive(Clone, Copy)]
pub(crate) struct Taxicab;

impl ConstantKernel for Taxicab {
    const SPRINGS: bool = false;

    #[inline(always)]
    fn part(self, gap: f64) -> f64 {
        gap.abs()
    }

    #[inline(always)]
    fn pull(self, gap: f64) -> f64 {
        half_sign(gap)
    }

    #[inline(always)]
    fn value_and_slope(self, s: f64) -> (f64, f64) {
        SubKernel::Laplace.value_and_slope(s)
    }
}

/// ½ sign(gap), and 0 at 0, without a branch.
#[inline(always)]
pub(crate) fn half_sign(gap: f64) -> f64 {
    let half = |yes: bool| if yes { 0.5 } else { 0.0 };
    half(gap > 0.0) - half(gap < 0.0)
}

impl FromStr for SubKernel {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        named::find("kernel", &Self::ALL, name)
    }
}

/// exp(x) for x ≤ 0, to about 1 unit in the last place, without a branch or a call so that loops
/// over it vectorise; below −708, where the result would be subnormal, 0.
///
/// Plain products and sums only (no fused ones): every machine gives the same bits.
#[inline(always)]
fn exp_negative(x: f64) -> f64 {
    // Adding 1.5·2⁵² rounds to an integer and leaves it in the low bits of the sum.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    // 1/k! for k = 13 … 0.
    const TAYLOR: [f64; 14] = [
        1.605_904_383_682_161_3e-10,
        2.087_675_698_786_81e-9,
        2.505_210_838_544_172e-8,
        2.755_731_922_398_589_3e-7,
        2.755_731_922_398_589e-6,
        2.480_158_730_158_73e-5,
        1.984_126_984_126_984e-4,
        1.388_888_888_888_889e-3,
        8.333_333_333_333_333e-3,
        4.166_666_666_666_666_4e-2,
        1.666_666_666_666_666_6e-1,
        0.5,
        1.0,
        1.0,
    ];
    let clamped = if x > -708.0 { x } else { -708.0 };
    let shifted = clamped * std::f64::consts::LOG2_E + ROUND;
    let k = shifted - ROUND;
    let r = (clamped - k * LN_2_HIGH) - k * LN_2_LOW;
    let mut p = TAYLOR[0];
    for c in &TAYLOR[1..] {
        p = p * r + c;
    }
    let power = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    if x > -708.0 { p * power } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_right_to_the_last_place() {
        let mut worst = 0.0_f64;
        for i in 0..200_000 {
            let x = -f64::from(i) * 0.00354;
            let exact = x.exp();
            worst = worst.max(((exp_negative(x) - exact) / exact).abs());
        }
        assert!(worst < 4.0 * f64::EPSILON, "{worst}");
        assert_eq!(exp_negative(0.0), 1.0);
        assert_eq!(exp_negative(-709.0), 0.0);
        assert_eq!(exp_negative(-1e30), 0.0);
        assert_eq!(exp_negative(f64::NEG_INFINITY), 0.0);
    }

    #[test]
    fn slopes_match_differences() {
        for (name, kernel) in SubKernel::ALL {
            for s in [1e-3, 0.1, 0.9, 2.5, 7.0, 30.0] {
                let at = |step: f64| kernel.value(s * (1.0 + step));
                // Fourth-order differences with a step of s/1000.
                let sum = 8.0 * (at(1e-3) - at(-1e-3)) - (at(2e-3) - at(-2e-3));
                let difference = sum / (12.0 * 1e-3 * s);
                let (_, slope) = kernel.value_and_slope(s);
                assert!(
                    (slope - difference).abs() < 1e-8 * slope.abs().max(1.0),
                    "{name} at {s}: {slope} against {difference}"
                );
            }
        }
    }

    #[test]
    fn names_round_trip_and_zero_distance_is_one() {
        for (name, kernel) in SubKernel::ALL {
            assert_eq!(name.parse::<SubKernel>().unwrap(), kernel);
            assert_eq!(kernel.name(), name);
            assert_eq!(kernel.value(0.0), 1.0);
            assert!(kernel.value_and_slope(0.0).1.is_finite());
        }
        let e = "gauss".parse::<SubKernel>().unwrap_err().to_string();
        assert!(e.contains("known are: rbf, cosine"), "{e}");
    }
}
