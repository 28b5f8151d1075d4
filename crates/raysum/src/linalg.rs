//! Dense linear algebra: the few operations the engines need, on plain slices. The only file that
//! names faer.
//!
//! Matrices are column-major unless a name says otherwise; triangular ones use the lower half.
//! faer splits work over rows and columns of the result, never over a sum, so results have the
//! same bits on any number of threads (which a test checks).

use crate::error::{Error, Result};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::matmul::{matmul, triangular as triangular_matmul};
use faer::linalg::triangular_solve;
use faer::reborrow::ReborrowMut;
use faer::{Accum, MatMut, MatRef, Par};
use std::ops::Range;

/// Whether an operation may use all threads of the pool it runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    /// All threads.
    All,
    /// The calling thread only: for work inside an outer parallel loop.
    One,
}

impl From<Threads> for Par {
    fn from(threads: Threads) -> Par {
        match threads {
            Threads::All => Par::rayon(0),
            Threads::One => Par::Seq,
        }
    }
}

impl Threads {
    /// For an n × n factorisation: waking other threads takes longer than a small one.
    fn for_size(self, n: usize) -> Par {
        if n < 256 { Par::Seq } else { self.into() }
    }
}

/// A dot product in eight lanes: vectorised, and the same bits everywhere.
#[inline(always)]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    let length = a.len().min(b.len());
    // Whole chunks of a known length become vectors; the same loop over slices does not.
    let (a, last_a) = a[..length].as_chunks::<8>();
    let (b, last_b) = b[..length].as_chunks::<8>();
    for (a, b) in a.iter().zip(b) {
        for lane in 0..8 {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    for ((a, b), lane) in last_a.iter().zip(last_b).zip(&mut lanes) {
        *lane += a * b;
    }
    lanes.iter().sum()
}

/// A sum in eight lanes, as [`dot`].
#[inline(always)]
pub(crate) fn sum(values: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    let (chunks, last) = values.as_chunks::<8>();
    for chunk in chunks {
        for lane in 0..8 {
            lanes[lane] += chunk[lane];
        }
    }
    for (value, lane) in last.iter().zip(&mut lanes) {
        *lane += value;
    }
    lanes.iter().sum()
}

/// Overwrites the lower half of the symmetric n × n matrix `a` with its Cholesky factor.
pub(crate) fn cholesky(a: &mut [f64], n: usize, threads: Threads) -> Result<()> {
    let par = threads.for_size(n);
    let scratch = llt::factor::cholesky_in_place_scratch::<f64>(n, par, faer::Spec::default());
    let mut buffer = MemBuffer::new(scratch);
    llt::factor::cholesky_in_place(
        MatMut::from_column_major_slice_mut(a, n, n),
        llt::factor::LltRegularization::default(),
        par,
        MemStack::new(&mut buffer),
        faer::Spec::default(),
    )
    .map(|_| ())
    .map_err(|e| match e {
        llt::factor::LltError::NonPositivePivot { index } => {
            Error::NotPositiveDefinite { pivot: index }
        }
    })
}

/// 2 Σ log L_ii.
pub(crate) fn log_determinant(l: &[f64], n: usize) -> f64 {
    2.0 * (0..n).map(|i| l[i * n + i].ln()).sum::<f64>()
}

/// Writes the lower half of (L L')⁻¹ to `out`.
pub(crate) fn inverse(l: &[f64], n: usize, out: &mut [f64], threads: Threads) {
    let par = threads.for_size(n);
    let mut buffer = MemBuffer::new(llt::inverse::inverse_scratch::<f64>(n, par));
    llt::inverse::inverse(
        MatMut::from_column_major_slice_mut(out, n, n),
        MatRef::from_column_major_slice(l, n, n),
        par,
        MemStack::new(&mut buffer),
    );
}

/// Overwrites `b` (n × m) with L⁻¹ b.
pub(crate) fn solve_lower(l: &[f64], n: usize, b: &mut [f64], threads: Threads) {
    let m = b.len() / n;
    triangular_solve::solve_lower_triangular_in_place(
        MatRef::from_column_major_slice(l, n, n),
        MatMut::from_column_major_slice_mut(b, n, m),
        threads.into(),
    );
}

/// Overwrites `b` (n × m) with L⁻ᵀ b.
pub(crate) fn solve_lower_transposed(l: &[f64], n: usize, b: &mut [f64], threads: Threads) {
    let m = b.len() / n;
    triangular_solve::solve_upper_triangular_in_place(
        MatRef::from_column_major_slice(l, n, n).transpose(),
        MatMut::from_column_major_slice_mut(b, n, m),
        threads.into(),
    );
}

/// X W', where X (n × d) and W (r × d) are row-major; the result (n × r) is column-major, that
/// is, one contiguous run of n values per row of W.
pub(crate) fn product_transposed(x: &[f64], w: &[f64], d: usize, threads: Threads) -> Vec<f64> {
    let (n, r) = (x.len() / d, w.len() / d);
    let mut out = vec![0.0; n * r];
    matmul(
        MatMut::from_column_major_slice_mut(&mut out, n, r),
        Accum::Replace,
        MatRef::from_row_major_slice(x, n, d),
        MatRef::from_row_major_slice(w, r, d).transpose(),
        1.0,
        threads.into(),
    );
    out
}

/// G' X, where G (n × r) is column-major and X (n × d) row-major; the result (r × d) is row-major.
pub(crate) fn transposed_product(g: &[f64], x: &[f64], n: usize, threads: Threads) -> Vec<f64> {
    let (r, d) = (g.len() / n, x.len() / n);
    let mut out = vec![0.0; r * d];
    matmul(
        MatMut::from_row_major_slice_mut(&mut out, r, d),
        Accum::Replace,
        MatRef::from_column_major_slice(g, n, r).transpose(),
        MatRef::from_row_major_slice(x, n, d),
        1.0,
        threads.into(),
    );
    out
}

/// Adds to `out` (n × d) the forces of springs between some rows of Z (n × d) and some others: with
/// F their strengths (`rows` × `columns`, its columns `stride` apart), F_ik (z_i − z_k) to row i,
/// and its negative to row k.
pub(crate) fn add_springs(
    out: &mut [f64],
    (z, n): (&[f64], usize),
    (strengths, stride): (&[f64], usize),
    (rows, columns): (Range<usize>, Range<usize>),
) {
    let f =
        MatRef::from_column_major_slice_with_stride(strengths, rows.len(), columns.len(), stride);
    let z = MatRef::from_column_major_slice(z, n, z.len() / n);
    let mut out = MatMut::from_column_major_slice_mut(out, n, z.ncols());
    let ends = [(rows.clone(), columns.clone(), f), (columns, rows, f.transpose())];
    for (at, others, f) in ends {
        let mut out = out.rb_mut().subrows_mut(at.start, at.len());
        let total: Vec<f64> = f.row_iter().map(|row| row.iter().sum()).collect();
        let own = z.subrows(at.start, at.len());
        for (out, own) in out.rb_mut().col_iter_mut().zip(own.col_iter()) {
            for ((o, z), total) in out.iter_mut().zip(own.iter()).zip(&total) {
                *o += total * z;
            }
        }
        matmul(out, Accum::Add, f, z.subrows(others.start, others.len()), -1.0, Par::Seq);
    }
}

/// Adds Φ'Φ to the lower half of the p × p matrix `g`, where Φ (rows × p) is row-major.
pub(crate) fn add_gram(g: &mut [f64], phi: &[f64], p: usize, threads: Threads) {
    use triangular_matmul::BlockStructure::{Rectangular, TriangularLower};
    if p == 0 {
        return;
    }
    let transposed = MatRef::from_column_major_slice(phi, p, phi.len() / p);
    triangular_matmul::matmul(
        MatMut::from_column_major_slice_mut(g, p, p),
        TriangularLower,
        Accum::Add,
        transposed,
        Rectangular,
        transposed.transpose(),
        Rectangular,
        1.0,
        threads.into(),
    );
}

/// Adds Φ'v to `out`, where Φ (rows × p) is row-major.
pub(crate) fn add_product(out: &mut [f64], phi: &[f64], v: &[f64]) {
    let p = out.len();
    matmul(
        MatMut::from_column_major_slice_mut(out, p, 1),
        Accum::Add,
        MatRef::from_column_major_slice(phi, p, v.len()),
        MatRef::from_column_major_slice(v, v.len(), 1),
        1.0,
        Par::Seq,
    );
}

/// Writes Φ S for a symmetric p × p matrix S given in full and row-major Φ (rows × p).
pub(crate) fn symmetric_product(s: &[f64], phi: &[f64], p: usize, out: &mut [f64]) {
    if p == 0 {
        return;
    }
    let rows = phi.len() / p;
    matmul(
        MatMut::from_column_major_slice_mut(out, p, rows),
        Accum::Replace,
        MatRef::from_column_major_slice(s, p, p),
        MatRef::from_column_major_slice(phi, p, rows),
        1.0,
        Par::Seq,
    );
}

/// Adds G'X to `out`, all row-major: G is n × r, X is n × d.
pub(crate) fn add_row_major_gram(out: &mut [f64], g: &[f64], x: &[f64], n: usize) {
    let (r, d) = (g.len() / n, x.len() / n);
    matmul(
        MatMut::from_row_major_slice_mut(out, r, d),
        Accum::Add,
        MatRef::from_row_major_slice(g, n, r).transpose(),
        MatRef::from_row_major_slice(x, n, d),
        1.0,
        Par::Seq,
    );
}

/// The lower half of an n × n matrix, column after column.
pub(crate) fn pack_lower(a: &[f64], n: usize) -> Vec<f64> {
    (0..n).flat_map(|k| a[k * n + k..(k + 1) * n].iter().copied()).collect()
}

/// The n × n matrix whose lower half was packed by [`pack_lower`]; the upper half is 0.
pub(crate) fn unpack_lower(packed: &[f64], n: usize) -> Vec<f64> {
    let mut a = vec![0.0; n * n];
    let mut rest = packed;
    for k in 0..n {
        let (head, tail) = rest.split_at(n - k);
        a[k * n + k..(k + 1) * n].copy_from_slice(head);
        rest = tail;
    }
    a
}

/// Subtracts V'V from the lower half of the m × m matrix `c`, where V is n × m.
pub(crate) fn subtract_gram(c: &mut [f64], v: &[f64], n: usize, threads: Threads) {
    use triangular_matmul::BlockStructure::{Rectangular, TriangularLower};
    let m = v.len() / n;
    let v = MatRef::from_column_major_slice(v, n, m);
    triangular_matmul::matmul(
        MatMut::from_column_major_slice_mut(c, m, m),
        TriangularLower,
        Accum::Add,
        v.transpose(),
        Rectangular,
        v,
        Rectangular,
        -1.0,
        threads.into(),
    );
}

/// Eigenvalues in rising order, and eigenvectors one after another, of a symmetric m × m matrix.
pub(crate) fn symmetric_eigen(a: &[f64], m: usize) -> (Vec<f64>, Vec<f64>) {
    use faer::linalg::evd;
    let mut vectors = vec![0.0; m * m];
    let mut values = faer::diag::Diag::<f64>::zeros(m);
    let compute = evd::ComputeEigenvectors::Yes;
    let params = faer::Spec::default();
    let scratch = evd::self_adjoint_evd_scratch::<f64>(m, compute, Par::Seq, params);
    // The iteration only fails on values that are not finite; there is no such input.
    let _ = evd::self_adjoint_evd(
        MatRef::from_column_major_slice(a, m, m),
        values.as_mut(),
        Some(MatMut::from_column_major_slice_mut(&mut vectors, m, m)),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        params,
    );
    (values.column_vector().iter().copied().collect(), vectors)
}

/// Numbers that [`symmetric_root`] needs beside its result.
pub(crate) fn symmetric_root_scratch(m: usize) -> usize {
    use faer::linalg::evd;
    let (compute, params) = (evd::ComputeEigenvectors::Yes, faer::Spec::default());
    let scratch = evd::self_adjoint_evd_scratch::<f64>(m, compute, Par::Seq, params);
    scratch.unaligned_bytes_required() / size_of::<f64>()
}

/// R with R R' = A for a symmetric m × m matrix that is positive semi-definite up to rounding.
pub(crate) fn symmetric_root(a: &[f64], m: usize) -> Vec<f64> {
    let (values, mut vectors) = symmetric_eigen(a, m);
    for (value, vector) in values.iter().zip(vectors.chunks_mut(m.max(1))) {
        let scale = value.max(0.0).sqrt();
        vector.iter_mut().for_each(|v| *v *= scale);
    }
    vectors
}

/// A B for row-major A (n × m) and B (m × r); the result is row-major.
pub(crate) fn row_major_product(a: &[f64], b: &[f64], m: usize, r: usize) -> Vec<f64> {
    let n = a.len() / m.max(1);
    let mut out = vec![0.0; n * r];
    matmul(
        MatMut::from_row_major_slice_mut(&mut out, n, r),
        Accum::Replace,
        MatRef::from_row_major_slice(a, n, m),
        MatRef::from_row_major_slice(b, m, r),
        1.0,
        Par::Seq,
    );
    out
}

/// Subtracts A B from `out`, all row-major: A is n × m, B is m × r.
pub(crate) fn subtract_row_major_product(out: &mut [f64], a: &[f64], b: &[f64], m: usize) {
    let (n, r) = (a.len() / m, b.len() / m);
    matmul(
        MatMut::from_row_major_slice_mut(out, n, r),
        Accum::Add,
        MatRef::from_row_major_slice(a, n, m),
        MatRef::from_row_major_slice(b, m, r),
        -1.0,
        Par::Seq,
    );
}

/// Orthonormal rows that span the rows of the row-major r × d matrix `a`, r ≤ d.
pub(crate) fn orthonormal_rows(a: &[f64], r: usize, d: usize) -> Vec<f64> {
    let q = MatRef::from_row_major_slice(a, r, d).transpose().qr().compute_thin_Q();
    let mut out = Vec::with_capacity(r * d);
    for i in 0..r {
        out.extend((0..d).map(|j| q[(j, i)]));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel_like(n: usize) -> Vec<f64> {
        let entry = |i: usize, j: usize| {
            let r = (i as f64 - j as f64) / 9.0;
            1.0 / (1.0 + r * r).sqrt() + if i == j { 0.1 } else { 0.0 }
        };
        (0..n * n).map(|k| entry(k % n, k / n)).collect()
    }

    fn factor_and_inverse(n: usize, threads: usize) -> (Vec<f64>, Vec<f64>) {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut l = kernel_like(n);
            cholesky(&mut l, n, Threads::All).unwrap();
            let mut inv = vec![0.0; n * n];
            inverse(&l, n, &mut inv, Threads::All);
            (l, inv)
        })
    }

    #[test]
    fn factor_and_inverse_have_the_same_bits_on_any_number_of_threads() {
        for n in [3, 150, 700] {
            let one = factor_and_inverse(n, 1);
            for threads in [2, 3, 7] {
                assert!(one == factor_and_inverse(n, threads), "n = {n}, {threads} threads");
            }
        }
    }

    #[test]
    fn the_inverse_inverts() {
        let n = 60;
        let a = kernel_like(n);
        let (l, inv) = factor_and_inverse(n, 2);
        let full = |i: usize, j: usize| inv[i.min(j) * n + i.max(j)];
        for i in 0..n {
            for j in 0..n {
                let p: f64 = (0..n).map(|k| a[k * n + i] * full(k, j)).sum();
                let expected = if i == j { 1.0 } else { 0.0 };
                assert!((p - expected).abs() < 1e-11);
            }
        }
        let mut b: Vec<f64> = a[..n].to_vec();
        solve_lower(&l, n, &mut b, Threads::One);
        solve_lower_transposed(&l, n, &mut b, Threads::One);
        assert!((b[0] - 1.0).abs() < 1e-11 && b[1..].iter().all(|v| v.abs() < 1e-11));
    }

    #[test]
    fn an_indefinite_matrix_is_reported_with_its_pivot() {
        let mut a = vec![1.0, 2.0, 2.0, 1.0];
        assert!(matches!(
            cholesky(&mut a, 2, Threads::One),
            Err(Error::NotPositiveDefinite { pivot: 1 })
        ));
    }
}
