//! Gradient boosting by small trees, of which only the places of the cuts and their heights are kept.

use super::bins::BinnedColumn;
use rayon::prelude::*;

/// Trees, the levels of each, and the share of a tree's function that is taken: those of many steps in
/// three columns at once are found, and slopes become stairs.
const TREES: usize = 150;
const LEVELS: usize = 3;
const RATE: f64 = 0.1;
/// The least weight of a leaf, where that of a row is 1 on average.
const LEAST_WEIGHT: f64 = 5.0;

/// The heights of the cuts of each column, one for each gap between its bins: by how much the target
/// changes there, times the share of the rows that the cut divides, over all trees.
pub(super) fn cut_heights(
    columns: &[BinnedColumn],
    y: &[f64],
    weights: Option<&[f64]>,
) -> Vec<Vec<f64>> {
    let mut rows = Boosted {
        columns,
        weights: weights.map_or_else(|| vec![1.0; y.len()], of_mean_one),
        residuals: Vec::new(),
        nodes: vec![0; y.len()],
    };
    let mean = rows.weights.iter().zip(y).map(|(w, y)| w * y).sum::<f64>() / y.len() as f64;
    rows.residuals = y.iter().map(|y| y - mean).collect();
    let mut heights: Vec<Vec<f64>> =
        columns.iter().map(|column| vec![0.0; column.bins.len().saturating_sub(1)]).collect();
    for _ in 0..TREES {
        let cuts = rows.grow();
        if cuts.is_empty() {
            break;
        }
        for cut in cuts {
            let gaps = &mut heights[cut.column][cut.first..=cut.last];
            let each = RATE * cut.height / gaps.len() as f64;
            gaps.iter_mut().for_each(|height| *height += each);
        }
    }
    heights
}

/// Weights divided by their mean. By the largest first: the sum of huge ones overflows.
fn of_mean_one(weights: &[f64]) -> Vec<f64> {
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let total: f64 = weights.iter().map(|w| w / largest).sum();
    weights.iter().map(|w| w / largest / total * weights.len() as f64).collect()
}

/// The rows of a fit, what is left of their targets, and where the present tree puts them.
struct Boosted<'a> {
    columns: &'a [BinnedColumn],
    weights: Vec<f64>,
    residuals: Vec<f64>,
    nodes: Vec<u8>,
}

/// A cut of a node of a tree: rows up to the first gap go left. No row of the node is between the first
/// and the last gap: the cut may be at any of them.
#[derive(Clone, Copy, Debug)]
struct Cut {
    column: usize,
    first: usize,
    last: usize,
    /// By how much the sum of squares falls.
    gain: f64,
    /// The difference of the two means, times the share of all rows that are in the node.
    height: f64,
}

/// The weight and the weighted sum of some residuals.
#[derive(Clone, Copy, Default)]
struct NodeSums {
    weight: f64,
    residual: f64,
}

impl NodeSums {
    fn add(&mut self, weight: f64, residual: f64) {
        self.weight += weight;
        self.residual += weight * residual;
    }

    fn without(self, other: Self) -> Self {
        Self { weight: self.weight - other.weight, residual: self.residual - other.residual }
    }

    fn mean(self) -> f64 {
        if self.weight > 0.0 { self.residual / self.weight } else { 0.0 }
    }

    /// What a mean of its own takes from the sum of squares.
    fn explained(self) -> f64 {
        self.residual * self.mean()
    }
}

impl Boosted<'_> {
    /// Grows a tree, takes a part of its function from the residuals, and returns its cuts.
    fn grow(&mut self) -> Vec<Cut> {
        self.nodes.fill(0);
        let mut cuts = Vec::new();
        let mut nodes = 1;
        for _ in 0..LEVELS {
            let best = self.best_cuts(nodes);
            for (row, node) in self.nodes.iter_mut().enumerate() {
                let right = best[usize::from(*node)].is_some_and(|cut| {
                    usize::from(self.columns[cut.column].of_rows[row]) > cut.first
                });
                *node = 2 * *node + u8::from(right);
            }
            cuts.extend(best.into_iter().flatten());
            nodes *= 2;
        }
        let leaves = self.sums(nodes);
        for (residual, node) in self.residuals.iter_mut().zip(&self.nodes) {
            *residual -= RATE * leaves[usize::from(*node)].mean();
        }
        cuts
    }

    fn sums(&self, nodes: usize) -> Vec<NodeSums> {
        let mut sums = vec![NodeSums::default(); nodes];
        for ((node, weight), residual) in self.nodes.iter().zip(&self.weights).zip(&self.residuals)
        {
            sums[usize::from(*node)].add(*weight, *residual);
        }
        sums
    }

    /// The best cut of each node over all columns; of equal ones the first.
    fn best_cuts(&self, nodes: usize) -> Vec<Option<Cut>> {
        let totals = self.sums(nodes);
        let by_column: Vec<Vec<Option<Cut>>> =
            (0..self.columns.len()).into_par_iter().map(|c| self.cuts_of(c, &totals)).collect();
        let better = |best: Option<Cut>, cut: &Option<Cut>| match (best, cut) {
            (Some(best), Some(cut)) if cut.gain > best.gain => Some(*cut),
            (None, cut) => *cut,
            (best, _) => best,
        };
        (0..nodes).map(|node| by_column.iter().map(|of| &of[node]).fold(None, better)).collect()
    }

    /// The best cut of each node in one column.
    fn cuts_of(&self, column: usize, totals: &[NodeSums]) -> Vec<Option<Cut>> {
        let BinnedColumn { bins, of_rows } = &self.columns[column];
        if bins.len() < 2 {
            return vec![None; totals.len()];
        }
        let mut sums = vec![NodeSums::default(); totals.len() * bins.len()];
        let rows = of_rows.iter().zip(&self.nodes).zip(self.weights.iter().zip(&self.residuals));
        for ((bin, node), (weight, residual)) in rows {
            sums[usize::from(*node) * bins.len() + usize::from(*bin)].add(*weight, *residual);
        }
        let of_node = |(total, sums): (&NodeSums, &[NodeSums])| {
            let (mut left, mut best) = (NodeSums::default(), None);
            for (gap, bin) in sums[..bins.len() - 1].iter().enumerate() {
                if bin.weight == 0.0 {
                    if let Some(cut) = best.as_mut().filter(|cut: &&mut Cut| cut.last + 1 == gap) {
                        cut.last = gap;
                    }
                    continue;
                }
                left = NodeSums {
                    weight: left.weight + bin.weight,
                    residual: left.residual + bin.residual,
                };
                let right = total.without(left);
                if left.weight < LEAST_WEIGHT || right.weight < LEAST_WEIGHT {
                    continue;
                }
                let gain = left.explained() + right.explained() - total.explained();
                if gain > best.map_or(0.0, |best: Cut| best.gain) {
                    let share = total.weight / self.weights.len() as f64;
                    let height = share * (right.mean() - left.mean()).abs();
                    best = Some(Cut { column, first: gap, last: gap, gain, height });
                }
            }
            best
        };
        totals.iter().zip(sums.chunks(bins.len())).map(of_node).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Matrix;

    fn heights(x: &Matrix, y: &[f64], weights: Option<&[f64]>) -> Vec<Vec<f64>> {
        let columns: Vec<_> = (0..x.columns()).map(|c| BinnedColumn::new(x, c)).collect();
        cut_heights(&columns, y, weights)
    }

    #[test]
    fn a_step_is_found_with_its_height() {
        // The second column is another order of the rows, and the third constant.
        let x = Matrix::from_fn(100, 3, |i, c| [i, (i * 37) % 100, 5][c] as f64);
        let y: Vec<f64> = (0..100).map(|i| if i < 30 { 1.0 } else { 4.0 }).collect();
        let found = heights(&x, &y, None);
        // Each tree takes a tenth of what is left.
        let expected = 3.0 * (1.0 - 0.9_f64.powi(TREES as i32));
        assert!((found[0][29] - expected).abs() < 1e-9, "{}", found[0][29]);
        let total: f64 = found.iter().flatten().sum();
        assert!((total - expected).abs() < 1e-6, "{total}");
        assert!(found[2].is_empty());
    }

    #[test]
    fn a_step_between_two_rows_of_a_node_may_be_anywhere_between_them() {
        // The step of rows with the flag is between 20 and 80; rows without it are everywhere.
        let rows: Vec<[f64; 2]> = (0..20)
            .chain(80..100)
            .map(|i| [f64::from(i), 1.0])
            .chain((0..100).map(|i| [f64::from(i) + 0.5, 0.0]))
            .collect();
        let x = Matrix::from_fn(rows.len(), 2, |i, c| rows[i][c]);
        let y: Vec<f64> = rows.iter().map(|r| r[1] * if r[0] > 50.0 { 9.0 } else { 1.0 }).collect();
        let found = heights(&x, &y, None);
        let (bins, between) = (BinnedColumn::new(&x, 0).bins, 25.0..75.0);
        let inside: Vec<f64> = found[0]
            .iter()
            .zip(&bins)
            .filter(|(_, b)| between.contains(&b.low))
            .map(|(h, _)| *h)
            .collect();
        let (least, most) = (
            inside.iter().copied().fold(9.0, f64::min),
            inside.iter().copied().fold(0.0, f64::max),
        );
        assert!(least > 0.0 && most < 3.0 * least, "{least} to {most}");
    }

    #[test]
    fn weights_count_as_copies() {
        let x = Matrix::from_fn(60, 2, |i, c| ((i * (7 + 4 * c)) % 60) as f64);
        let y: Vec<f64> = (0..60).map(|i| (x[(i, 0)] * 0.1).sin() + 0.02 * x[(i, 1)]).collect();
        let counts: Vec<usize> = (0..60).map(|i| 1 + i % 3).collect();
        let weights: Vec<f64> = counts.iter().map(|n| 1e300 * *n as f64).collect();
        let rows: Vec<usize> = (0..60).flat_map(|i| vec![i; counts[i]]).collect();
        let copied: Vec<f64> = rows.iter().map(|&i| y[i]).collect();
        // The least weight of a leaf is that of five rows on average, of copies or not.
        let weighted = heights(&x, &y, Some(&weights));
        let copies = heights(&x.gather(&rows), &copied, None);
        let sum = |heights: &[Vec<f64>], c: usize| heights[c].iter().sum::<f64>();
        for c in 0..2 {
            let (a, b) = (sum(&weighted, c), sum(&copies, c));
            assert!((a - b).abs() < 0.2 * b, "{c}: {a} and {b}");
        }
    }
}
