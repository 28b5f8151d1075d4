//! The gradient of the log marginal likelihood,
//!
//! ```text
//! ½ Σ_t a_t'∂A a_t − ½ T tr(A⁻¹ ∂A),     tr(A⁻¹ ∂A) = tr(P⁻¹ ∂A) + E (u − v)'∂A v
//! ```
//!
//! with P⁻¹ = I − Y Y' known, and the remainder estimated by the probes.

use super::columns::Columns;
use super::operator::FormSlopes;
use super::system::System;

/// Derivatives with respect to K's parts and to the noise of each row.
pub(super) struct Gradient {
    pub(super) kernel: FormSlopes,
    /// ∂/∂D_i.
    pub(super) noise: Vec<f64>,
}

impl System {
    pub(super) fn gradient(&self) -> Gradient {
        let Self { operator, solved, counts, .. } = self;
        let (targets, probes) = (self.log_marginal_likelihoods.len(), counts.len());
        let half = 0.5 * targets as f64;
        let (n, width) = (operator.rows(), solved.x.width);
        let mut factors = vec![0.0; width];
        factors[..targets].fill(0.5);
        for (factor, count) in factors[targets..].iter_mut().zip(counts) {
            *factor = -half * count / probes as f64;
        }
        let (mut left, mut right) = (solved.x.clone(), solved.shaped.clone());
        for (u, v) in left.values.chunks_mut(width).zip(right.values.chunks_mut(width)) {
            v[..targets].copy_from_slice(&u[..targets]);
            u[targets..].iter_mut().zip(&v[targets..]).for_each(|(u, v)| *u -= v);
        }
        let mut kernel = operator.slopes(&factors, &left, Some(&right));
        // The diagonal of what ∂A is multiplied by: −½ T of the identity in P⁻¹, and the rest.
        let mut diagonal = vec![-half; n];
        add_products(&mut diagonal, &factors, &left, &right);
        for y in self.preconditioner.deflation() {
            let factors = vec![half; y.width];
            kernel.add(&operator.slopes(&factors, &y, None));
            add_products(&mut diagonal, &factors, &y, &y);
        }
        let squares: Vec<f64> = operator.scales.iter().map(|s| s * s).collect();
        let noise: Vec<f64> = diagonal.iter().zip(&squares).map(|(d, s)| d * s).collect();
        // K's diagonal stands in A, and where interpolation misses some of it, in D.
        let missed = |i: usize| if operator.missing[i] > 0.0 { noise[i] } else { 0.0 };
        let by_diagonal: Vec<f64> = (0..n).map(|i| -half * squares[i] - missed(i)).collect();
        operator.add_diagonal(&by_diagonal, &mut kernel);
        let of_missed: f64 = (0..n).map(missed).sum();
        kernel.variances.iter_mut().for_each(|v| *v += of_missed);
        Gradient { kernel, noise }
    }
}

/// Adds Σ_c f_c a_ic b_ic for every row i.
fn add_products(out: &mut [f64], factors: &[f64], a: &Columns, b: &Columns) {
    let rows = a.values.chunks(a.width).zip(b.values.chunks(b.width));
    for (out, (a, b)) in out.iter_mut().zip(rows) {
        *out += a.iter().zip(b).zip(factors).map(|((a, b), f)| f * a * b).sum::<f64>();
    }
}
