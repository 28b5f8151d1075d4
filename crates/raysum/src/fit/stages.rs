//! The number of rows and evaluations of each stage of a search.

/// Above this number of rows the search starts with a stage on some of them. Few rows have a
/// likelihood with fewer local optima: a search on many rows from a distant start is slow and often
/// ends in a poor one.
const SCOUTED_ABOVE: usize = 2_000;
/// Maximum number of rows of that stage, which is at most half of all rows.
const MOST_SCOUTS: usize = 2_000;
/// Evaluations that a search usually takes after it.
const SCOUTED_EVALUATIONS: usize = 20;
/// Evaluations that the first stage usually takes.
const FIRST_EVALUATIONS: usize = 80;
/// From this number of rows on, a search starts on random rows and finishes on all.
const STAGED_ABOVE: usize = 20_000;
/// The rows of intermediate stages, and the number of rows from which each is used.
const PARTS: [(usize, usize); 2] = [(10_000, STAGED_ABOVE), (100_000, 300_000)];
/// Maximum number of evaluations of a later stage; the first one has the limit of the search.
const LATER_EVALUATIONS: usize = 10;
/// The same for the last stage, where an earlier stage is already close.
const LAST_EVALUATIONS: usize = 3;

/// Approximate number of multiplications of a stage without its own limit: about a minute on two
/// cores. After a stage on fewer rows the first evaluations gain most.
const AFFORDABLE: f64 = 3.5e12;
/// The minimum number of evaluations of such a stage.
const LEAST_EVALUATIONS: usize = 15;

/// The number of evaluations on more rows than before, if each takes this number of
/// multiplications.
pub(super) fn affordable(work: f64) -> usize {
    ((AFFORDABLE / work) as usize).max(LEAST_EVALUATIONS)
}

/// The stages of a search.
#[derive(Debug, PartialEq)]
pub(super) struct Stages {
    /// The rows of each.
    pub(super) rows: Vec<usize>,
    /// Whether the first stage only finds a start: the second then has no limit.
    scouted: bool,
    /// Whether the last stage is on rows that are somewhere else, where evaluations are dear.
    elsewhere: bool,
}

impl Stages {
    /// All in one.
    pub(super) fn one(rows: usize) -> Self {
        Self { rows: vec![rows], scouted: false, elsewhere: false }
    }

    /// Stages on some of n rows, then on all.
    pub(super) fn plain(n: usize) -> Self {
        let parts = PARTS.iter().filter(|(_, from)| n > *from).map(|(rows, _)| *rows);
        Self { rows: parts.chain([n]).collect(), scouted: false, elsewhere: false }
    }

    /// The same after a first stage that finds a start.
    pub(super) fn scouted(n: usize) -> Self {
        let mut stages = Self::plain(n);
        if n > SCOUTED_ABOVE {
            stages.rows.insert(0, MOST_SCOUTS.min(n / 2));
            stages.scouted = true;
        }
        stages
    }

    /// Stages on a sample, then on all n rows, which are somewhere else; `plain` is whether none only
    /// finds a start.
    pub(super) fn sampled(sample: usize, n: usize, plain: bool) -> Self {
        let mut stages = if plain { Self::plain(sample) } else { Self::scouted(sample) };
        stages.rows.push(n);
        Self { elsewhere: true, ..stages }
    }

    /// Whether a stage is on rows that are somewhere else.
    pub(super) fn is_elsewhere(&self, index: usize) -> bool {
        self.elsewhere && index + 1 == self.rows.len()
    }

    /// The maximum number of evaluations of a stage, if it has one.
    pub(super) fn limit(&self, index: usize) -> Option<usize> {
        if self.is_elsewhere(index) {
            return Some(LAST_EVALUATIONS);
        }
        match index - usize::from(self.scouted && index > 0) {
            0 => None,
            1 => Some(LATER_EVALUATIONS),
            _ => Some(LAST_EVALUATIONS),
        }
    }

    /// The evaluations that a stage usually takes.
    pub(super) fn expected(&self, index: usize) -> usize {
        let usual = if index == 0 { FIRST_EVALUATIONS } else { SCOUTED_EVALUATIONS };
        self.limit(index).unwrap_or(usual)
    }

    /// The work after a stage, in rows times evaluations: that of later stages, and one evaluation
    /// on the most rows for the posterior.
    pub(super) fn ahead(&self, index: usize) -> f64 {
        let later = index + 1..self.rows.len();
        let work: usize = later.map(|later| self.expected(later) * self.rows[later]).sum();
        (work + self.rows[self.rows.len() - 1]) as f64
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
    fn rows_elsewhere_come_last_and_are_evaluated_a_few_times() {
        let stages = Stages::sampled(3_000, 1_000_000, false);
        assert_eq!(stages.rows, [1_500, 3_000, 1_000_000]);
        assert_eq!([1, 2].map(|k| stages.limit(k)), [None, Some(LAST_EVALUATIONS)]);
        assert_eq!([0, 1, 2].map(|k| stages.is_elsewhere(k)), [false, false, true]);
        assert_eq!(Stages::sampled(500, 500, true).rows, [500, 500]);
    }

    #[test]
    fn dear_evaluations_are_few() {
        assert_eq!(affordable(1.0), AFFORDABLE as usize);
        assert_eq!(affordable(AFFORDABLE / 50.0), 50);
        assert_eq!(affordable(AFFORDABLE), LEAST_EVALUATIONS);
        assert_eq!(affordable(f64::INFINITY), LEAST_EVALUATIONS);
    }

    #[test]
    fn the_work_ahead_is_that_of_later_stages() {
        assert_eq!(Stages::one(500).ahead(0), 500.0);
        assert_eq!(Stages::scouted(5_000).ahead(0), 5_000.0 * (1 + SCOUTED_EVALUATIONS) as f64);
        let three = Stages::plain(1_000_000);
        let (later, last) = (LATER_EVALUATIONS as f64, LAST_EVALUATIONS as f64);
        assert_eq!(three.ahead(0), 1e5 * later + 1e6 * last + 1e6);
        assert_eq!(three.ahead(1), 1e6 * last + 1e6);
        assert_eq!(three.ahead(2), 1e6);
    }
}
