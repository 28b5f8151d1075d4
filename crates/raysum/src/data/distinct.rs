//! Copies of a row, and rows with weights, in the form that a search works on.
//!
//! A row that stands in a table twice, with the same inputs and the same targets, is one
//! observation that was recorded twice, as in bootstrap samples and after careless joins. Taken for
//! two observations, the copies would suggest that there is no noise. Copies are therefore one
//! observation with their total weight.
//!
//! Where targets have few values, rows may agree by chance, and then they are observations of their
//! own. Rows with equal inputs and different targets give this away.

use super::{Dataset, Labels, Matrix};
use crate::error::Result;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};

/// Up to this many rows a search works on [`Distinct`] rows; of more rows they are not worth a copy
/// of the table, and [`Copies`] correct the likelihood instead.
const MOST: usize = 10_000;
/// Rows with equal inputs agree in their targets as copies do if this share of all pairs does.
const COPIED: f64 = 0.9;
/// Inputs that repeat this often are cells with many observations each.
const CROWDED: usize = 4;
/// Any two rows agree in their targets by chance if this share of all pairs does.
const RARE: f64 = 0.01;

/// Which rows are copies of one another.
#[derive(Clone, Debug)]
pub(crate) struct Copies {
    /// The number of each row's observation, counted from 0 in the order of first rows.
    observation: Vec<usize>,
    observations: usize,
}

impl Copies {
    /// `None` if no row is a copy of another.
    pub(crate) fn of(data: &Dataset<'_>) -> Result<Option<Self>> {
        let inputs = fingerprints(data)?;
        let observed = |i: usize| {
            let mut hash = DefaultHasher::new();
            data.targets().iter().for_each(|y| hash.write_u64(bits(y[i])));
            hash.finish()
        };
        let mut first: HashMap<(u128, u64), usize> = HashMap::with_capacity(data.rows());
        let mut observation = Vec::with_capacity(data.rows());
        for (i, inputs) in inputs.iter().enumerate() {
            let next = first.len();
            observation.push(*first.entry((*inputs, observed(i))).or_insert(next));
        }
        let copies = Self { observation, observations: first.len() };
        if copies.observations == data.rows() || copies.agree_by_chance(data, &inputs) {
            return Ok(None);
        }
        Ok(Some(copies))
    }

    /// The weight of each distinct observation.
    pub(crate) fn total_weights(&self, data: &Dataset<'_>) -> Vec<f64> {
        let mut totals = vec![0.0; self.observations];
        for (row, &observation) in self.observation.iter().enumerate() {
            totals[observation] += data.weights().map_or(1.0, |w| w[row]);
        }
        totals
    }

    /// The copies among some of the rows.
    pub(crate) fn among(&self, rows: &[usize]) -> Self {
        let mut number = HashMap::new();
        let mut observation = Vec::with_capacity(rows.len());
        for &row in rows {
            let next = number.len();
            observation.push(*number.entry(self.observation[row]).or_insert(next));
        }
        Self { observation, observations: number.len() }
    }

    /// Whether rows agree because the targets have few values, so that equal ones are observations
    /// of their own: rows with equal inputs often disagree, or are many and sometimes disagree.
    fn agree_by_chance(&self, data: &Dataset<'_>, inputs: &[u128]) -> bool {
        let cells = counts(inputs.iter());
        let crowded = cells.len() * CROWDED <= data.rows();
        let disagree = if crowded { 1.0 } else { COPIED };
        let (equal_inputs, equal_rows) = (pairs(&cells), pairs(&counts(self.observation.iter())));
        let mut first = vec![usize::MAX; self.observations];
        for (row, number) in self.observation.iter().enumerate().rev() {
            first[*number] = row;
        }
        let any = self.observations as f64 * (self.observations as f64 - 1.0) / 2.0;
        let by_chance = data.targets().iter().map(|y| {
            let values = counts(first.iter().map(|row| bits(y[*row])));
            pairs(&values) / any.max(1.0)
        });
        equal_rows < disagree * equal_inputs && by_chance.product::<f64>() > RARE
    }

    /// The rows of each observation.
    pub(crate) fn groups(&self) -> Vec<Vec<usize>> {
        let mut groups = vec![Vec::new(); self.observations];
        for (row, &observation) in self.observation.iter().enumerate() {
            groups[observation].push(row);
        }
        groups
    }
}

/// A number for the inputs and the known noise of each row; equal numbers mean that both are equal.
fn fingerprints(data: &Dataset<'_>) -> Result<Vec<u128>> {
    let mut all = Vec::with_capacity(data.rows());
    data.x().in_blocks(|first, values| {
        for (k, row) in values.chunks(data.columns()).enumerate() {
            // Two hashes of 64 bits each: of 10⁷ rows, two differ and agree with probability 1e-25.
            let mut halves = [DefaultHasher::new(), DefaultHasher::new()];
            halves[1].write_u8(1);
            let noise = data.noise_std().map(|noise| &noise[first + k]);
            for value in row.iter().chain(noise) {
                halves.iter_mut().for_each(|hash| hash.write_u64(bits(*value)));
            }
            let [low, high] = halves.map(|hash| hash.finish());
            all.push(u128::from(high) << 64 | u128::from(low));
        }
    })?;
    Ok(all)
}

/// Zeros of both signs are equal.
fn bits(value: f64) -> u64 {
    (value + 0.0).to_bits()
}

/// Pairs of equal values, from how often each occurs.
fn pairs<T>(counts: &HashMap<T, usize>) -> f64 {
    counts.values().map(|&n| n as f64 * (n as f64 - 1.0) / 2.0).sum()
}

fn counts<T: std::hash::Hash + Eq>(values: impl Iterator<Item = T>) -> HashMap<T, usize> {
    let mut counts = HashMap::new();
    values.for_each(|value| *counts.entry(value).or_insert(0) += 1);
    counts
}

/// The distinct observations of a data set, in an order of their own.
///
/// A search amplifies rounding: on a dozen rows that say little, sums in another order end in
/// predictions that differ in the fifth digit. In this form weights, repetitions and the order of
/// both lead it through the same numbers.
pub(crate) struct Distinct {
    x: Matrix,
    /// The sample weight of an observation is the total of its rows.
    labels: Labels<Vec<f64>>,
    above_zero: Vec<bool>,
}

impl Distinct {
    /// `None` if there are neither weights nor copies, or if there are many rows.
    pub(crate) fn of(data: &Dataset<'_>, copies: Option<&Copies>) -> Result<Option<Self>> {
        if data.rows() > MOST || (data.weights().is_none() && copies.is_none()) {
            return Ok(None);
        }
        let every: Vec<usize> = (0..data.rows()).collect();
        let x = data.x().gather(&every)?;
        let mut groups = match copies {
            Some(copies) => copies.groups(),
            None => every.iter().map(|row| vec![*row]).collect(),
        };
        groups.sort_by(|a, b| compare(&x, data, a[0], b[0]));
        let rows: Vec<usize> = groups.iter().map(|group| group[0]).collect();
        let weight = |row: usize| data.weights().map_or(1.0, |w| w[row]);
        let total = |group: &Vec<usize>| group.iter().map(|row| weight(*row)).sum();
        let sample_weights = Some(groups.iter().map(total).collect());
        let labels = Labels { sample_weights, ..data.labels.gather(&rows) };
        Ok(Some(Self { x: x.gather(&rows), labels, above_zero: data.above_zero.clone() }))
    }

    /// X alone, for an owner.
    pub(crate) fn into_x(self) -> Matrix {
        self.x
    }

    /// The rows as a data set.
    pub(crate) fn dataset(&self) -> Dataset<'_> {
        let (labels, above_zero) = (self.labels.as_slices(), self.above_zero.clone());
        Dataset { x: (&self.x).into(), labels, groups: None, above_zero }
    }
}

/// By inputs, then by what was observed there; all of it is finite.
fn compare(x: &Matrix, data: &Dataset<'_>, a: usize, b: usize) -> Ordering {
    let order = |u: f64, v: f64| u.partial_cmp(&v).unwrap_or(Ordering::Equal);
    let inputs = x.row(a).iter().zip(x.row(b)).map(|(u, v)| order(*u, *v));
    let observed = data.targets().iter().copied().chain(data.noise_std());
    let observed = observed.map(|values| order(values[a], values[b]));
    inputs.chain(observed).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distinct(data: &Dataset<'_>) -> Option<Distinct> {
        Distinct::of(data, Copies::of(data).unwrap().as_ref()).unwrap()
    }

    #[test]
    fn repetitions_and_weights_are_one_thing() {
        let x = Matrix::from_row_major(5, 1, vec![2.0, 1.0, 2.0, 1.0, 2.0]).unwrap();
        let repeated = Dataset::new(&x, &[0.0, 5.0, 0.0, 6.0, 0.0]).unwrap();
        let repeated = distinct(&repeated).unwrap();
        let x = Matrix::from_row_major(3, 1, vec![1.0, 2.0, 1.0]).unwrap();
        let weighted = Dataset::new(&x, &[6.0, 0.0, 5.0]).unwrap();
        assert!(distinct(&weighted).is_none());
        let weighted = distinct(&weighted.weighted(&[1.0, 3.0, 1.0]).unwrap()).unwrap();
        assert_eq!(repeated.x.as_slice(), [1.0, 1.0, 2.0]);
        assert_eq!(repeated.labels.targets, [[5.0, 6.0, 0.0]]);
        assert_eq!(repeated.labels.sample_weights, Some(vec![1.0, 1.0, 3.0]));
        assert_eq!((repeated.x, repeated.labels), (weighted.x, weighted.labels));
    }

    #[test]
    fn known_noise_tells_rows_apart() {
        let x = Matrix::zeros(3, 1);
        let data = Dataset::new(&x, &[1.0; 3]).unwrap();
        let data = data.with_noise_std(&[0.2, 0.1, 0.2]).unwrap();
        let distinct = distinct(&data).unwrap();
        assert_eq!(distinct.labels.noise, Some(vec![0.1, 0.2]));
        assert_eq!(distinct.labels.sample_weights, Some(vec![1.0, 2.0]));
    }

    #[test]
    fn zeros_of_both_signs_are_equal() {
        let x = Matrix::from_row_major(3, 1, vec![0.0, -0.0, 1.0]).unwrap();
        let data = Dataset::new(&x, &[0.5, 0.5, 0.5]).unwrap();
        assert_eq!(Copies::of(&data).unwrap().unwrap().observations, 2);
    }

    #[test]
    fn yes_and_no_in_equal_cells_are_observations_of_their_own() {
        // Two kinds of rows; some of each have the other answer.
        let x = Matrix::from_fn(400, 1, |i, _| (i % 2) as f64);
        for rare in [4, 100] {
            let answer =
                |i: usize| f64::from(u8::from(i.is_multiple_of(2) == (i / 2).is_multiple_of(rare)));
            let y: Vec<f64> = (0..400).map(answer).collect();
            assert!(Copies::of(&Dataset::new(&x, &y).unwrap()).unwrap().is_none());
        }
        // Without the other answers nothing tells them from copies, and nothing is lost: there is
        // no noise.
        let y: Vec<f64> = (0..400).map(|i| f64::from(i % 2)).collect();
        assert_eq!(Copies::of(&Dataset::new(&x, &y).unwrap()).unwrap().unwrap().observations, 2);
    }

    #[test]
    fn copies_among_some_rows_are_counted_there() {
        let x = Matrix::from_row_major(6, 1, vec![1.0, 2.0, 1.0, 3.0, 2.0, 1.0]).unwrap();
        let copies = Copies::of(&Dataset::new(&x, &[0.1, 0.2, 0.1, 0.3, 0.2, 0.1]).unwrap())
            .unwrap()
            .unwrap();
        assert_eq!(copies.groups(), [vec![0, 2, 5], vec![1, 4], vec![3]]);
        assert_eq!(copies.among(&[1, 3, 4]).groups(), [vec![0, 2], vec![1]]);
    }
}
