//! The stages of a search: on parts of the rows first, then on all.

/// Above this many rows a part of them scouts where to search. Few rows have a likelihood with fewer
/// hills: searches over many that start far off end on wrong ones, and late.
const SCOUTED_ABOVE: usize = 2_000;
/// Rows of that part: half of them, and at most so many.
const MOST_SCOUTS: usize = 2_000;
/// Evaluations that a search usually takes after it.
const SCOUTED_EVALUATIONS: usize = 20;
/// From this many rows on, a search starts on a random part of them, and finishes on all.
const STAGED_ABOVE: usize = 20_000;
/// The parts, and the number of rows from which each is worth its while.
const PARTS: [(usize, usize); 2] = [(10_000, STAGED_ABOVE), (100_000, 300_000)];
/// Evaluations of a later stage at most; the first one has the search's own limit.
const LATER_EVALUATIONS: usize = 10;
/// The same for the last stage, where a stage before it has come close already.
const LAST_EVALUATIONS: usize = 3;

/// The stages of a search.
#[derive(Debug, PartialEq)]
pub(crate) struct Stages {
    /// The rows of each.
    pub(crate) rows: Vec<usize>,
    /// Whether the first one only scouts: the second is as long as it takes then.
    scouted: bool,
}

impl Stages {
    /// All in one.
    pub(crate) fn one(rows: usize) -> Self {
        Self { rows: vec![rows], scouted: false }
    }

    /// Parts of n rows, then all of them.
    pub(crate) fn plain(n: usize) -> Self {
        let parts = PARTS.iter().filter(|(_, from)| n > *from).map(|(rows, _)| *rows);
        Self { rows: parts.chain([n]).collect(), scouted: false }
    }

    /// The same after a part that scouts.
    pub(crate) fn scouted(n: usize) -> Self {
        let mut stages = Self::plain(n);
        if n > SCOUTED_ABOVE {
            stages.rows.insert(0, MOST_SCOUTS.min(n / 2));
            stages.scouted = true;
        }
        stages
    }

    /// The most evaluations of a stage, if it is a short one.
    pub(crate) fn limit(&self, index: usize) -> Option<usize> {
        match index - usize::from(self.scouted && index > 0) {
            0 => None,
            1 => Some(LATER_EVALUATIONS),
            _ => Some(LAST_EVALUATIONS),
        }
    }

    /// What comes after a stage, in evaluations on its rows: those of later stages, and one on the
    /// most rows for the posterior.
    pub(crate) fn later(&self, index: usize) -> f64 {
        let evaluations =
            |later: usize| self.limit(later).unwrap_or(SCOUTED_EVALUATIONS) * self.rows[later];
        let last = self.rows.len() - 1;
        let rows = (index + 1..=last).map(evaluations).sum::<usize>() + self.rows[last];
        rows as f64 / self.rows[index] as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_rows_make_more_stages() {
        let plain = |n| Stages::plain(n).rows;
        assert_eq!(plain(20_000), [20_000]);
        assert_eq!(plain(20_001), [10_000, 20_001]);
        assert_eq!(plain(1_000_000), [10_000, 100_000, 1_000_000]);
        let scouted = |n| Stages::scouted(n).rows;
        assert_eq!(scouted(2_000), [2_000]);
        assert_eq!(scouted(3_000), [1_500, 3_000]);
        assert_eq!(scouted(5_000), [2_000, 5_000]);
        assert_eq!(scouted(20_001), [2_000, 10_000, 20_001]);
    }

    #[test]
    fn what_comes_later_is_counted_in_evaluations_of_this_stage() {
        assert_eq!(Stages::one(500).later(0), 1.0);
        assert_eq!(Stages::scouted(5_000).later(0), 2.5 * (1 + SCOUTED_EVALUATIONS) as f64);
        let three = Stages::plain(1_000_000);
        let last = LAST_EVALUATIONS as f64;
        assert_eq!(three.later(0), 10.0 * LATER_EVALUATIONS as f64 + 100.0 * last + 100.0);
        assert_eq!(three.later(1), 10.0 * last + 10.0);
        assert_eq!(three.later(2), 1.0);
    }
}
