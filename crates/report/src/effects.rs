//! How the prediction depends on each column, and on pairs of columns: averages over rows in which the
//! column has another value (partial dependence, Friedman 2001).

use crate::columns::{ColumnKind, TableColumn, range_of, spread};
use raysum::{Matrix, Result, Stack};

/// Values at which the effect of a column is computed.
const GRID: usize = 24;
/// Most categories that are shown of a column.
const MOST_CATEGORIES: usize = 12;
/// Rows that an effect is averaged over, and rows whose uncertainty is.
const ROWS: usize = 24;
const BAND_ROWS: usize = 4;
/// Bins of a histogram.
const BINS: usize = 24;
/// The share of values beyond either end of the range that is shown.
const TAIL: f64 = 0.01;
/// Columns whose pairs are compared, values of each for that, and rows they are averaged over.
const PAIR_COLUMNS: usize = 6;
const PAIR_GRID: usize = 5;
const PAIR_ROWS: usize = 8;
/// Values of each column in a map of a pair.
const MAP_GRID: usize = 14;
/// Pairs that are shown.
const MOST_PAIRS: usize = 3;
/// A pair whose interaction is a smaller share of the target's standard deviation is not shown.
const LEAST_INTERACTION: f64 = 0.02;

/// A value of a column, with the average prediction there and its standard deviation.
#[derive(Clone, Debug)]
pub(crate) struct EffectPoint {
    pub(crate) value: f64,
    pub(crate) mean: f64,
    pub(crate) std: f64,
}

/// The ends of a bin, and its share of the rows.
pub(crate) type HistogramBin = (f64, f64, f64);

/// The effect of a column.
#[derive(Clone, Debug)]
pub(crate) struct Effect {
    /// The number of the column.
    pub(crate) column: usize,
    pub(crate) points: Vec<EffectPoint>,
    /// Of a column of categories, the name of each point and its share of the rows.
    pub(crate) categories: Option<Vec<(String, f64)>>,
    /// The range of values, and the bins of the histogram: their ends and their shares of the rows.
    pub(crate) range: (f64, f64),
    pub(crate) histogram: Vec<HistogramBin>,
}

/// The effect of two columns together.
#[derive(Clone, Debug)]
pub(crate) struct PairEffect {
    pub(crate) columns: (usize, usize),
    /// The standard deviation of what the sum of the two effects leaves out.
    pub(crate) interaction: f64,
    pub(crate) values: (Vec<f64>, Vec<f64>),
    /// The average prediction at each value of the first, for each of the second.
    pub(crate) means: Vec<Vec<f64>>,
}

/// The effects of some columns, at the rows of a sample.
pub(crate) fn of_columns(
    stack: &Stack,
    sample: &Matrix,
    columns: &[TableColumn],
    which: &[usize],
) -> Result<Vec<Effect>> {
    which.iter().map(|&c| of_column(stack, sample, &columns[c], c)).collect()
}

fn of_column(
    stack: &Stack,
    sample: &Matrix,
    column: &TableColumn,
    number: usize,
) -> Result<Effect> {
    let rows = sample.gather(&spread(sample.rows(), ROWS));
    let first = column.values.start;
    if let ColumnKind::Categories(names) = &column.kind {
        let share = |c: usize| {
            (0..sample.rows()).filter(|i| sample[(*i, c)] > 0.5).count() as f64
                / sample.rows().max(1) as f64
        };
        let mut by_share: Vec<(usize, f64)> =
            column.values.clone().map(|c| (c, share(c))).collect();
        by_share.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        by_share.truncate(MOST_CATEGORIES);
        let set = |row: &mut [f64], k: usize| {
            row[column.values.clone()].fill(0.0);
            row[by_share[k].0] = 1.0;
            if let Some(indicator) = column.indicator {
                row[indicator] = 0.0;
            }
        };
        let points = averaged(stack, &rows, by_share.len(), set, |k| k as f64)?;
        let labels = by_share.iter().map(|(c, share)| (names[c - first].clone(), *share));
        return Ok(Effect {
            column: number,
            points,
            categories: Some(labels.collect()),
            range: (-0.5, by_share.len() as f64 - 0.5),
            histogram: (0..by_share.len())
                .map(|k| (k as f64 - 0.4, k as f64 + 0.4, by_share[k].1))
                .collect(),
        });
    }
    let values = present(sample, column);
    let grid = grid(&values, GRID);
    let set = |row: &mut [f64], k: usize| {
        row[first] = grid[k];
        if let Some(indicator) = column.indicator {
            row[indicator] = 0.0;
        }
    };
    let points = averaged(stack, &rows, grid.len(), set, |k| grid[k])?;
    let (range, histogram) = histogram(&values, &grid);
    Ok(Effect { column: number, points, categories: None, range, histogram })
}

/// The sorted values of a column where it is not missing.
fn present(sample: &Matrix, column: &TableColumn) -> Vec<f64> {
    let there = |i: &usize| column.indicator.is_none_or(|c| sample[(*i, c)] == 0.0);
    let mut values: Vec<f64> =
        (0..sample.rows()).filter(there).map(|i| sample[(i, column.values.start)]).collect();
    if values.is_empty() {
        values.push(0.0);
    }
    values.sort_by(f64::total_cmp);
    values
}

/// Values to evaluate at: all distinct ones, if they are few, or evenly spaced ones without the tails.
fn grid(sorted: &[f64], count: usize) -> Vec<f64> {
    let mut distinct = sorted.to_vec();
    distinct.dedup();
    if distinct.len() <= count {
        return distinct;
    }
    let at = |share: f64| sorted[(share * (sorted.len() - 1) as f64).round() as usize];
    let (mut low, mut high) = (at(TAIL), at(1.0 - TAIL));
    if low == high {
        (low, high) = (sorted[0], sorted[sorted.len() - 1]);
    }
    let step = |k: usize| k as f64 / (count - 1) as f64;
    (0..count).map(|k| low * (1.0 - step(k)) + high * step(k)).collect()
}

/// The range of a chart, and the bins in it: one for each value, if the grid has all of them, or equal
/// ones.
fn histogram(sorted: &[f64], grid: &[f64]) -> ((f64, f64), Vec<HistogramBin>) {
    let (low, high) = range_of(grid.iter().copied());
    let all = sorted.len().max(1) as f64;
    let discrete = sorted.chunk_by(|a, b| a == b).count() == grid.len();
    if discrete {
        let gap = grid.windows(2).map(|w| w[1] - w[0]).fold(f64::INFINITY, f64::min);
        let gap = if gap.is_finite() { gap } else { 1.0 };
        let bins = sorted
            .chunk_by(|a, b| a == b)
            .map(|own| (own[0] - 0.35 * gap, own[0] + 0.35 * gap, own.len() as f64 / all));
        return ((low - gap / 2.0, high + gap / 2.0), bins.collect());
    }
    let width = (high - low) / BINS as f64;
    let mut shares = vec![0.0; BINS];
    for value in sorted.iter().filter(|v| (low..=high).contains(*v)) {
        shares[(((value - low) / width) as usize).min(BINS - 1)] += 1.0 / all;
    }
    let end = |k: usize| low + width * k as f64;
    let bins = shares.into_iter().enumerate().map(|(k, share)| (end(k), end(k + 1), share));
    ((low, high), bins.collect())
}

/// The average prediction of rows that are changed in one of some ways.
fn averaged(
    stack: &Stack,
    rows: &Matrix,
    ways: usize,
    set: impl Fn(&mut [f64], usize),
    value: impl Fn(usize) -> f64,
) -> Result<Vec<EffectPoint>> {
    let few = rows.gather(&spread(rows.rows(), BAND_ROWS));
    let means = means(stack, rows, ways, &set)?;
    let latent = stack.predict(&changed(&few, ways, &set))?.latent_variance;
    let spread_of = |k: usize| {
        let own = &latent[k * few.rows()..(k + 1) * few.rows()];
        own.iter().map(|v| v.sqrt() / own.len() as f64).sum::<f64>()
    };
    let point = |k: usize| EffectPoint { value: value(k), mean: means[k], std: spread_of(k) };
    Ok((0..ways).map(point).collect())
}

fn means(
    stack: &Stack,
    rows: &Matrix,
    ways: usize,
    set: &impl Fn(&mut [f64], usize),
) -> Result<Vec<f64>> {
    let all = stack.predict_mean(&changed(rows, ways, set))?;
    let n = rows.rows();
    Ok(all.chunks(n).map(|own| own.iter().map(|m| m / n as f64).sum()).collect())
}

/// The rows once for each way.
fn changed(rows: &Matrix, ways: usize, set: &impl Fn(&mut [f64], usize)) -> Matrix {
    let n = rows.rows();
    let mut all = Matrix::zeros(ways * n, rows.columns());
    for way in 0..ways {
        for i in 0..n {
            let row = all.row_mut(way * n + i);
            row.copy_from_slice(rows.row(i));
            set(row, way);
        }
    }
    all
}

/// The pairs among the most relevant columns whose effects do not simply add up, the strongest first.
pub(crate) fn of_pairs(
    stack: &Stack,
    sample: &Matrix,
    columns: &[TableColumn],
    ranked: &[usize],
) -> Result<Vec<PairEffect>> {
    let rows = sample.gather(&spread(sample.rows(), PAIR_ROWS));
    let numeric = ranked.iter().filter(|c| !matches!(columns[**c].kind, ColumnKind::Categories(_)));
    let chosen: Vec<usize> = numeric.copied().take(PAIR_COLUMNS).collect();
    let values: Vec<Vec<f64>> = chosen.iter().map(|c| present(sample, &columns[*c])).collect();
    let mut found = Vec::new();
    for a in 0..chosen.len() {
        for b in a + 1..chosen.len() {
            let sides = (grid(&values[a], PAIR_GRID), grid(&values[b], PAIR_GRID));
            let places = (columns[chosen[a]].values.start, columns[chosen[b]].values.start);
            let means = map(stack, &rows, places, &sides)?;
            found.push((interaction(&means), a, b));
        }
    }
    found.sort_by(|x, y| y.0.total_cmp(&x.0));
    let least = LEAST_INTERACTION * stack.first().target_scale().std;
    let mut all = Vec::new();
    for (interaction, a, b) in found.into_iter().filter(|(i, _, _)| *i > least).take(MOST_PAIRS) {
        let sides = (grid(&values[a], MAP_GRID), grid(&values[b], MAP_GRID));
        let places = (columns[chosen[a]].values.start, columns[chosen[b]].values.start);
        let means = map(stack, &rows, places, &sides)?;
        let columns = (chosen[a], chosen[b]);
        all.push(PairEffect { columns, interaction, values: sides, means });
    }
    Ok(all)
}

/// The average prediction at pairs of values: a row per value of the second column.
fn map(
    stack: &Stack,
    rows: &Matrix,
    (a, b): (usize, usize),
    (xs, ys): &(Vec<f64>, Vec<f64>),
) -> Result<Vec<Vec<f64>>> {
    let set = |row: &mut [f64], k: usize| {
        row[a] = xs[k % xs.len()];
        row[b] = ys[k / xs.len()];
    };
    let all = means(stack, rows, xs.len() * ys.len(), &set)?;
    Ok(all.chunks(xs.len()).map(<[f64]>::to_vec).collect())
}

/// The standard deviation of what effects of rows and of columns leave over.
fn interaction(map: &[Vec<f64>]) -> f64 {
    let (height, width) = (map.len() as f64, map.first().map_or(0, Vec::len));
    let of_row: Vec<f64> = map.iter().map(|row| row.iter().sum::<f64>() / width as f64).collect();
    let of_column: Vec<f64> =
        (0..width).map(|c| map.iter().map(|row| row[c]).sum::<f64>() / height).collect();
    let mean = of_row.iter().sum::<f64>() / height;
    let mut sum = 0.0;
    for (row, of_row) in map.iter().zip(&of_row) {
        for (value, of_column) in row.iter().zip(&of_column) {
            sum += (value - of_row - of_column + mean).powi(2);
        }
    }
    (sum / (height * width as f64)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_have_no_interaction_and_products_have() {
        let map = |f: fn(f64, f64) -> f64| -> Vec<Vec<f64>> {
            (0..4)
                .map(|b| (0..4).map(|a| f(f64::from(a) - 1.5, f64::from(b) - 1.5)).collect())
                .collect()
        };
        assert!(interaction(&map(|a, b| a.exp() + 3.0 * b)) < 1e-12);
        assert!((interaction(&map(|a, b| a * b)) - 1.25).abs() < 1e-12);
    }

    #[test]
    fn grids_are_distinct_values_or_even_steps() {
        assert_eq!(grid(&[1.0, 1.0, 2.0], 5), [1.0, 2.0]);
        let many: Vec<f64> = (0..1000).map(f64::from).collect();
        let found = grid(&many, 5);
        assert!((found[0], found[4]) == (10.0, 989.0) && found.len() == 5);
        let (range, bins) = histogram(&many, &[0.0, 999.0]);
        let total: f64 = bins.iter().map(|(_, _, share)| share).sum();
        assert!(range == (0.0, 999.0) && (total - 1.0).abs() < 1e-9);
        let (range, bins) = histogram(&[1.0, 1.0, 2.0, 4.0], &[1.0, 2.0, 4.0]);
        assert!(range == (0.5, 4.5) && bins[0] == (0.65, 1.35, 0.5));
    }
}
