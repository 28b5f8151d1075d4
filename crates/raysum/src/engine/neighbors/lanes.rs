//! Arithmetic on lanes: one number of each of eight groups of rows, side by side. What is done to
//! one group is done to all of them with the same instructions, so that matrices of thirty rows
//! keep vector units busy.
//!
//! Lower triangles are packed row after row. Sums have a fixed order.

use pulp::{Arch, NullaryFnOnce};

/// Groups side by side.
pub(super) const LANES: usize = 8;

/// A number of each group.
pub(super) type Lane = [f64; LANES];

/// Columns of a factor that a row is reduced by at a time: independent sums hide one another's
/// latency.
const TOGETHER: usize = 4;

/// The place of row i in a packed lower triangle.
#[inline(always)]
pub(super) const fn row_start(i: usize) -> usize {
    i * (i + 1) / 2
}

#[inline(always)]
pub(super) fn map(f: impl Fn(usize) -> f64) -> Lane {
    let mut out = [0.0; LANES];
    for (lane, out) in out.iter_mut().enumerate() {
        *out = f(lane);
    }
    out
}

// Lanes are taken and given by value: what is known not to overlap becomes one instruction.

/// out += a b.
#[inline(always)]
pub(super) fn add_product(out: &mut Lane, a: &Lane, b: &Lane) {
    let (sum, a, b) = (*out, *a, *b);
    *out = map(|lane| sum[lane] + a[lane] * b[lane]);
}

/// sum − a b.
#[inline(always)]
fn less(sum: Lane, a: &Lane, b: &Lane) -> Lane {
    let (a, b) = (*a, *b);
    map(|lane| sum[lane] - a[lane] * b[lane])
}

#[inline(always)]
fn product(a: Lane, b: Lane) -> Lane {
    map(|lane| a[lane] * b[lane])
}

/// Σ a b over the numbers of a, in two sums.
#[inline(always)]
pub(super) fn dot(a: &[Lane], b: &[Lane]) -> Lane {
    let b = &b[..a.len()];
    let (mut even, mut odd) = ([0.0; LANES], [0.0; LANES]);
    let (pairs, last) = a.as_chunks::<2>();
    let (others, other_last) = b.as_chunks::<2>();
    for (a, b) in pairs.iter().zip(others) {
        add_product(&mut even, &a[0], &b[0]);
        add_product(&mut odd, &a[1], &b[1]);
    }
    if let (Some(a), Some(b)) = (last.first(), other_last.first()) {
        add_product(&mut even, a, b);
    }
    map(|lane| even[lane] + odd[lane])
}

/// A Cholesky factor whose rows come one by one, with the inverses of its pivots.
#[derive(Debug, Default)]
pub(super) struct Factor {
    pub(super) rows: Vec<Lane>,
    inverse_pivots: Vec<Lane>,
}

impl Factor {
    /// Zeros for a matrix of this size.
    pub(super) fn reset(&mut self, size: usize) {
        self.rows.clear();
        self.rows.resize(row_start(size), [0.0; LANES]);
        self.inverse_pivots.resize(size, [0.0; LANES]);
    }

    /// Factorises the leading `size` rows in place; the first pivot of any group that is not
    /// positive is the error.
    pub(super) fn factorise(&mut self, size: usize) -> std::result::Result<(), usize> {
        Arch::new().dispatch(Factorise { factor: self, size })
    }

    /// Overwrites a row r of at least `size` numbers by L⁻¹r, where L has `size` rows.
    pub(super) fn solve(&self, row: &mut [Lane], size: usize) {
        Arch::new().dispatch(Solve { rows: &self.rows, factor: self, row, size });
    }

    /// The same for the row of the matrix behind the leading ones; returns what is left of its
    /// diagonal.
    pub(super) fn reduce_last(&mut self, size: usize) -> Lane {
        let Self { rows, inverse_pivots } = self;
        let (above, last) = rows.split_at_mut(row_start(size));
        let last = &mut last[..=size];
        Arch::new().dispatch(Reduce { rows: above, inverse_pivots, row: last, size });
        last[size]
    }

    /// Overwrites x with L⁻ᵀx.
    pub(super) fn solve_transposed(&self, x: &mut [Lane]) {
        Arch::new().dispatch(SolveTransposed { factor: self, x });
    }
}

// Types and not closures, so that the loops get the machine's instructions.
struct Factorise<'a> {
    factor: &'a mut Factor,
    size: usize,
}

impl NullaryFnOnce for Factorise<'_> {
    type Output = std::result::Result<(), usize>;

    #[inline(always)]
    fn call(self) -> Self::Output {
        let Factor { rows, inverse_pivots } = self.factor;
        for i in 0..self.size {
            let (above, row) = rows.split_at_mut(row_start(i));
            let row = &mut row[..=i];
            reduce(above, inverse_pivots, row, i);
            let pivot = row[i];
            if !pivot.iter().all(|pivot| *pivot > 0.0) {
                return Err(i);
            }
            row[i] = map(|lane| pivot[lane].sqrt());
            inverse_pivots[i] = map(|lane| 1.0 / row[i][lane]);
        }
        Ok(())
    }
}

struct Reduce<'a> {
    rows: &'a [Lane],
    inverse_pivots: &'a [Lane],
    row: &'a mut [Lane],
    size: usize,
}

impl NullaryFnOnce for Reduce<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        reduce(self.rows, self.inverse_pivots, self.row, self.size);
    }
}

struct Solve<'a> {
    rows: &'a [Lane],
    factor: &'a Factor,
    row: &'a mut [Lane],
    size: usize,
}

impl NullaryFnOnce for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        substitute(self.rows, &self.factor.inverse_pivots, self.row, self.size);
    }
}

struct SolveTransposed<'a> {
    factor: &'a Factor,
    x: &'a mut [Lane],
}

impl NullaryFnOnce for SolveTransposed<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { factor, x } = self;
        for i in (0..x.len()).rev() {
            let own = product(x[i], factor.inverse_pivots[i]);
            x[i] = own;
            for (x, l) in x[..i].iter_mut().zip(&factor.rows[row_start(i)..][..i]) {
                *x = less(*x, l, &own);
            }
        }
    }
}

/// Reduces row i of a matrix by the rows of the factor above it: L_i0 … , and what is left of its
/// diagonal.
#[inline(always)]
fn reduce(rows: &[Lane], inverse_pivots: &[Lane], row: &mut [Lane], i: usize) {
    substitute(rows, inverse_pivots, row, i);
    let squares = dot(&row[..i], &row[..i]);
    row[i] = map(|lane| row[i][lane] - squares[lane]);
}

/// Overwrites the first `size` numbers of a row r with L⁻¹r.
#[inline(always)]
fn substitute(rows: &[Lane], inverse_pivots: &[Lane], row: &mut [Lane], size: usize) {
    let whole = size - size % TOGETHER;
    for j in (0..whole).step_by(TOGETHER) {
        let (known, own) = row.split_at_mut(j);
        let [a, b, c, d] = [0, 1, 2, 3].map(|t| rows[row_start(j + t)..][..=j + t].split_at(j));
        let (mut p, mut q, mut r, mut s) = (own[0], own[1], own[2], own[3]);
        for ((((x, a), b), c), d) in known.iter().zip(a.0).zip(b.0).zip(c.0).zip(d.0) {
            p = less(p, x, a);
            q = less(q, x, b);
            r = less(r, x, c);
            s = less(s, x, d);
        }
        p = product(p, inverse_pivots[j]);
        q = product(less(q, &p, &b.1[0]), inverse_pivots[j + 1]);
        r = product(less(less(r, &p, &c.1[0]), &q, &c.1[1]), inverse_pivots[j + 2]);
        s = less(less(less(s, &p, &d.1[0]), &q, &d.1[1]), &r, &d.1[2]);
        s = product(s, inverse_pivots[j + 3]);
        own[..TOGETHER].copy_from_slice(&[p, q, r, s]);
    }
    for j in whole..size {
        let (known, own) = row.split_at_mut(j);
        let products = dot(known, &rows[row_start(j)..][..j]);
        let left = own[0];
        own[0] = product(map(|lane| left[lane] - products[lane]), inverse_pivots[j]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A positive definite matrix of each lane.
    fn entry(lane: usize, i: usize, j: usize) -> f64 {
        let gap = (i as f64 - j as f64) / (1.0 + lane as f64);
        (-gap.abs()).exp() + if i == j { 0.1 } else { 0.0 }
    }

    #[test]
    fn solves_invert_the_matrix() {
        for size in [1, 3, 4, 9, 30] {
            let mut factor = Factor::default();
            factor.reset(size + 1);
            for i in 0..=size {
                for j in 0..=i {
                    factor.rows[row_start(i) + j] = map(|lane| entry(lane, i, j));
                }
            }
            factor.factorise(size).unwrap();
            let left = factor.reduce_last(size);
            let last = factor.rows[row_start(size)..][..size].to_vec();
            let mut x = last.clone();
            factor.solve_transposed(&mut x);
            let mut y: Vec<Lane> = (0..size).map(|i| map(|lane| entry(lane, size, i))).collect();
            factor.solve(&mut y, size);
            assert_eq!(y, last);
            for lane in 0..LANES {
                // K x = k, and the diagonal less k'x is left.
                for i in 0..size {
                    let product: f64 = (0..size).map(|j| entry(lane, i, j) * x[j][lane]).sum();
                    assert!((product - entry(lane, size, i)).abs() < 1e-12);
                }
                let product: f64 = (0..size).map(|j| entry(lane, size, j) * x[j][lane]).sum();
                assert!((left[lane] - (entry(lane, size, size) - product)).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn a_pivot_of_any_group_that_is_not_positive_is_named() {
        let mut factor = Factor::default();
        factor.reset(2);
        factor.rows = vec![[1.0; LANES]; 3];
        factor.rows[2] = map(|lane| if lane == 5 { 1.0 } else { 2.0 });
        assert_eq!(factor.factorise(2), Err(1));
    }
}
