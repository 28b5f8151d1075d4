//! The features of a view as polynomials in small pieces of the line: a look-up instead of a sum
//! over nodes. This is the innermost loop of the weight-space engine.

use super::Nodes;
use crate::linalg;
use pulp::{Arch, NullaryFnOnce};

/// Pieces per cell. Even, so that nodes, where Matérn kernels have kinks, are ends.
const PIECES: usize = 4;
/// Coefficients per piece.
const TERMS: usize = 6;
/// Features that are looked up together.
const LANES: usize = 8;
/// The piece of a point outside the table.
const OUTSIDE: u32 = u32::MAX;

/// The coefficients of some features in one piece.
type Run = [[f64; LANES]; TERMS];

/// Where a point lies in a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TablePlace {
    piece: u32,
    /// From −1 to 1 within the piece.
    t: f64,
}

/// Weights of features, left as the difference a·u − v in which they arise: a matrix of them is
/// never written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weights<'a> {
    /// a.
    pub scale: f64,
    /// u.
    pub along: &'a [f64],
    /// v.
    pub less: &'a [f64],
}

impl Weights<'_> {
    /// The weight of feature `a`.
    #[inline(always)]
    pub(crate) fn get(&self, a: usize) -> f64 {
        self.scale * self.along[a] - self.less[a]
    }

    /// The weights of some features from `start` on.
    #[inline(always)]
    fn run(&self, start: usize) -> [f64; LANES] {
        let (u, v) = (&self.along[start..start + LANES], &self.less[start..start + LANES]);
        let mut out = [0.0; LANES];
        for l in 0..LANES {
            out[l] = self.scale * u[l] - v[l];
        }
        out
    }
}

impl TablePlace {
    pub(super) fn is_outside(self) -> bool {
        self.piece == OUTSIDE
    }
}

/// φ on every node's cell, right to about 1e-10.
#[derive(Clone, Debug)]
pub(super) struct FeatureTable {
    /// The lattice in steps of a piece: the place of each in `runs`, or `OUTSIDE`; one more
    /// `OUTSIDE` at the end stands for all points beyond.
    pieces: Vec<u32>,
    /// The first step, counted from z = 0.
    first: f64,
    /// For every piece the runs of features. The last run ends with the last feature, so it may go
    /// over some features again; a lone short run is filled up with zeros.
    runs: Vec<Run>,
    /// Number of features.
    features: usize,
    /// In the last run: 0 for a feature that another run has too, else 1.
    fresh: [f64; LANES],
    /// Steps per unit of z.
    inverse: f64,
}

impl FeatureTable {
    pub(super) fn new(nodes: &Nodes) -> Self {
        let features = nodes.features();
        let first = nodes.cells.first().map_or(0, |cell| *cell);
        let cells = nodes.cells.last().map_or(0, |last| last - first + 1) as usize;
        let mut pieces = vec![OUTSIDE; cells * PIECES + 1];
        for (index, &cell) in nodes.cells.iter().enumerate() {
            let step = (cell - first) as usize * PIECES;
            (0..PIECES).for_each(|k| pieces[step + k] = (index * PIECES + k) as u32);
        }
        let fit = Interpolation::new();
        let values = values_at_points(nodes, &fit);
        let mut runs = Vec::new();
        if features > 0 {
            let starts: Vec<usize> = run_starts(features).collect();
            runs.reserve(values.len() / (TERMS * features) * starts.len());
            Arch::new().dispatch(Runs {
                fit: &fit,
                values: &values,
                features,
                starts,
                out: &mut runs,
            });
        }
        let seen = features.next_multiple_of(LANES).saturating_sub(features.max(LANES));
        Self {
            pieces,
            first: first as f64 * PIECES as f64,
            runs,
            features,
            fresh: std::array::from_fn(|lane| f64::from(u8::from(lane >= seen))),
            inverse: PIECES as f64 / nodes.spacing,
        }
    }

    /// The place of z.
    #[inline(always)]
    pub(super) fn place(&self, z: f64) -> TablePlace {
        let at = z * self.inverse - self.first;
        let end = self.pieces.len() - 1;
        let step = if at >= 0.0 { (at as usize).min(end) } else { end };
        TablePlace { piece: self.pieces[step], t: 2.0 * (at - step as f64) - 1.0 }
    }

    #[inline(always)]
    fn runs(&self, place: TablePlace) -> &[Run] {
        let count = self.features.div_ceil(LANES);
        &self.runs[place.piece as usize * count..][..count]
    }

    /// Writes φ at a place inside the table.
    #[inline(always)]
    #[allow(clippy::redundant_closure, reason = "a closure can be told to be inlined")]
    pub(super) fn features(&self, place: TablePlace, out: &mut [f64]) {
        self.write(
            place,
            out,
            #[inline(always)]
            |run, t| value(run, t),
        );
    }

    /// Writes φ' at a place inside the table.
    #[inline(always)]
    #[allow(clippy::redundant_closure, reason = "a closure can be told to be inlined")]
    pub(super) fn slopes(&self, place: TablePlace, out: &mut [f64]) {
        self.write(
            place,
            out,
            #[inline(always)]
            |run, t| slope(run, t),
        );
        out.iter_mut().for_each(|slope| *slope *= 2.0 * self.inverse);
    }

    #[inline(always)]
    fn write(&self, place: TablePlace, out: &mut [f64], f: impl Fn(&Run, f64) -> [f64; LANES]) {
        let runs = self.runs(place);
        let Some(last) = out.len().checked_sub(LANES) else {
            for run in runs {
                out.iter_mut().zip(f(run, place.t)).for_each(|(o, v)| *o = v);
            }
            return;
        };
        for (k, run) in runs.iter().enumerate() {
            let start = (k * LANES).min(last);
            out[start..start + LANES].copy_from_slice(&f(run, place.t));
        }
    }

    /// Σ_a weights_a φ'_a at a place inside the table.
    #[inline(always)]
    pub(super) fn weighted_slope(&self, place: TablePlace, weights: Weights<'_>) -> f64 {
        let mut sum = [0.0; LANES];
        let runs = self.runs(place);
        match self.features.checked_sub(LANES) {
            Some(last) => {
                for (k, run) in runs.iter().enumerate() {
                    let start = (k * LANES).min(last);
                    // What the run before has had already is not counted again.
                    let fresh = if start == k * LANES { &[1.0; LANES] } else { &self.fresh };
                    let weights = weights.run(start);
                    let slopes = slope(run, place.t);
                    for l in 0..LANES {
                        sum[l] += fresh[l] * (weights[l] * slopes[l]);
                    }
                }
            }
            None => {
                for run in runs {
                    let slopes = slope(run, place.t);
                    (0..self.features).for_each(|a| sum[a] = weights.get(a) * slopes[a]);
                }
            }
        }
        let scale = 2.0 * self.inverse;
        scale * ((sum[0] + sum[4]) + (sum[1] + sum[5]) + (sum[2] + sum[6]) + (sum[3] + sum[7]))
    }
}

/// Where runs of lanes start: the last one ends with the last feature.
fn run_starts(features: usize) -> impl Iterator<Item = usize> {
    let last = features.saturating_sub(LANES);
    (0..features.div_ceil(LANES)).map(move |k| (k * LANES).min(last))
}

// Loops and not `array::from_fn`, closures above and not the functions' names: those go through a
// call that is not always inlined, and then compiled without the instructions of this machine.

#[inline(always)]
fn value(c: &Run, t: f64) -> [f64; LANES] {
    let mut out = [0.0; LANES];
    for l in 0..LANES {
        out[l] =
            c[0][l] + t * (c[1][l] + t * (c[2][l] + t * (c[3][l] + t * (c[4][l] + t * c[5][l]))));
    }
    out
}

#[inline(always)]
fn slope(c: &Run, t: f64) -> [f64; LANES] {
    let (t2, t3, t4, t5) = (2.0 * t, 3.0 * t * t, 4.0 * t * t * t, 5.0 * t * t * t * t);
    let mut out = [0.0; LANES];
    for l in 0..LANES {
        out[l] = c[1][l] + (c[2][l] * t2 + c[3][l] * t3) + (c[4][l] * t4 + c[5][l] * t5);
    }
    out
}

/// φ at the interpolation points of all pieces, as one product k(points, u) T.
fn values_at_points(nodes: &Nodes, fit: &Interpolation) -> Vec<f64> {
    let m = nodes.cells.len();
    let (Some(first), Some(last)) = (nodes.cells.first(), nodes.cells.last()) else {
        return Vec::new();
    };
    // The points of a cell, from its node, in cells.
    let points: Vec<f64> = (0..PIECES)
        .map(|piece| (piece as f64 + 0.5) / PIECES as f64 - 0.5)
        .flat_map(|middle| fit.points.map(|t| middle + 0.5 * t / PIECES as f64))
        .collect();
    let value = |point: f64, cells: i64| {
        let gap = (cells as f64 + point) * nodes.spacing;
        nodes.kernel.value(gap * gap)
    };
    // The kernel depends on how many cells apart two nodes are; there are fewer such distances than
    // pairs of nodes, unless the cells are strewn widely.
    let span = last - first;
    let dense = 2 * span + 1 < (m * m) as i64;
    let mut kernel = Vec::with_capacity(points.len() * m * m);
    let mut by_distance: Vec<Vec<f64>> = Vec::new();
    if dense {
        // From the last cell to the first: in this order cells without a gap are a part of it.
        let run = |point: &f64| (-span..=span).rev().map(|cells| value(*point, cells)).collect();
        by_distance = points.iter().map(run).collect();
    }
    for cell in &nodes.cells {
        // The place of the first cell's distance.
        let start = (span - (cell - first)) as usize;
        for (k, &point) in points.iter().enumerate() {
            if span + 1 == m as i64 && dense {
                kernel.extend_from_slice(&by_distance[k][start..start + m]);
            } else if dense {
                let values = &by_distance[k][start..];
                kernel.extend(nodes.cells.iter().map(|u| values[(u - first) as usize]));
            } else {
                kernel.extend(nodes.cells.iter().map(|u| value(point, cell - u)));
            }
        }
    }
    linalg::row_major_product(&kernel, &nodes.transform, m, nodes.features())
}

/// Polynomial interpolation at Chebyshev points on [−1, 1].
struct Interpolation {
    points: [f64; TERMS],
    /// Coefficient k is Σ_i inverse[k][i] value_i.
    inverse: [[f64; TERMS]; TERMS],
}

impl Interpolation {
    fn new() -> Self {
        let n = TERMS as f64;
        let point = |i: usize| (std::f64::consts::PI * (i as f64 + 0.5) / n).cos();
        let points: [f64; TERMS] = std::array::from_fn(point);
        // T_j's coefficients by its recurrence; values to Chebyshev series by the discrete cosine.
        let mut chebyshev = [[0.0; TERMS]; TERMS];
        chebyshev[0][0] = 1.0;
        chebyshev[1][1] = 1.0;
        for j in 2..TERMS {
            for k in 0..TERMS {
                let shifted = if k > 0 { chebyshev[j - 1][k - 1] } else { 0.0 };
                chebyshev[j][k] = 2.0 * shifted - chebyshev[j - 2][k];
            }
        }
        let mut inverse = [[0.0; TERMS]; TERMS];
        for j in 0..TERMS {
            let weight = if j == 0 { 1.0 / n } else { 2.0 / n };
            for i in 0..TERMS {
                let at = (std::f64::consts::PI * j as f64 * (i as f64 + 0.5) / n).cos();
                for k in 0..TERMS {
                    inverse[k][i] += weight * at * chebyshev[j][k];
                }
            }
        }
        Self { points, inverse }
    }
}

/// The runs of all pieces, from values at their points (TERMS runs of all features each).
struct Runs<'a> {
    fit: &'a Interpolation,
    values: &'a [f64],
    features: usize,
    starts: Vec<usize>,
    out: &'a mut Vec<Run>,
}

// A type and not a closure, so that the loops get the machine's instructions.
impl NullaryFnOnce for Runs<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { fit, values, features, starts, out } = self;
        let count = LANES.min(features);
        for values in values.chunks_exact(TERMS * features) {
            for &start in &starts {
                let mut run = [[0.0; LANES]; TERMS];
                for i in 0..TERMS {
                    // A copy, of a known length: so the loops become vectors.
                    let mut own = [0.0; LANES];
                    own[..count].copy_from_slice(&values[i * features + start..][..count]);
                    for k in 0..TERMS {
                        let weight = fit.inverse[k][i];
                        for lane in 0..LANES {
                            run[k][lane] += weight * own[lane];
                        }
                    }
                }
                out.push(run);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Basis, Occupancy};
    use super::*;
    use crate::kernel::SubKernel;

    /// Bases with 2 to about 40 features: a lone short run, whole runs, and an overlapping one.
    fn bases() -> impl Iterator<Item = Basis> {
        [0.02, 0.3, 1.0, 2.0, 4.0, 9.0].into_iter().map(|width| {
            let points: Vec<f64> = (0..200).map(|i| width * f64::from(i) / 199.0 - 0.3).collect();
            let mut occupancy = Occupancy::new(0.4);
            occupancy.add(&points).unwrap();
            Basis::new(SubKernel::Rbf, &occupancy, 1e-10).unwrap()
        })
    }

    #[test]
    fn look_ups_agree_with_the_sum_over_nodes() {
        let mut sizes = Vec::new();
        for basis in bases() {
            let r = basis.len();
            sizes.push(r);
            let along: Vec<f64> = (0..r).map(|a| (a as f64 * 1.7).sin()).collect();
            let less: Vec<f64> = (0..r).map(|a| (a as f64 * 2.3).cos()).collect();
            let weights = Weights { scale: 0.7, along: &along, less: &less };
            for i in 0..300 {
                let z = f64::from(i) * 0.03 - 0.7;
                let place = basis.place(z);
                if place.is_outside() {
                    continue;
                }
                let (mut table, mut sum) = (vec![0.0; r], vec![0.0; r]);
                basis.features(z, place, &mut table);
                basis.nodes.sum(z, &mut sum, |k, s, _| k.value(s));
                assert!(table.iter().zip(&sum).all(|(a, b)| (a - b).abs() < 1e-9), "at {z}");
                basis.slopes(z, place, &mut table);
                basis.nodes.sum(z, &mut sum, |k, s, gap| 2.0 * k.value_and_slope(s).1 * gap);
                assert!(table.iter().zip(&sum).all(|(a, b)| (a - b).abs() < 1e-7), "at {z}");
                let dot: f64 = table.iter().enumerate().map(|(a, s)| weights.get(a) * s).sum();
                let weighted = basis.weighted_slope(z, place, weights);
                assert!((dot - weighted).abs() < 1e-12 * (1.0 + dot.abs()), "{dot} {weighted}");
            }
        }
        assert!(sizes[0] < LANES && sizes.iter().any(|r| *r > 2 * LANES), "{sizes:?}");
        assert!(sizes.iter().any(|r| *r > LANES && r % LANES != 0), "{sizes:?}");
    }

    #[test]
    fn points_far_outside_have_no_place() {
        for basis in bases() {
            for z in [1e3, -1e3, 1e300, -1e300, f64::MAX, f64::MIN] {
                assert!(basis.place(z).is_outside());
            }
        }
    }
}
