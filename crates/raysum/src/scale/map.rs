//! A monotone map of one column, learned from the training rows.

use super::Standard;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

/// The share of the rows at each end whose mean slope continues the map beyond it, at most. The very last gap
/// says little about what comes after.
const TAIL: f64 = 0.05;

/// The share of the rows at an end whose slope is compared with that of the rest of its half.
const OUTER: f64 = 0.1;
/// The fastest that slopes fall beyond an end.
const MOST_BENT: f64 = 5.0;

/// Scores beyond the ends of a map are drawn in from this size on: one far value must not be infinitely far
/// for a model that continues straight lines.
pub(super) const DRAWN_IN_FROM: f64 = 10.0;

/// A value of a column, what it becomes, and the number of its rows.
pub(super) struct Knot {
    pub(super) value: f64,
    pub(super) score: f64,
    pub(super) rows: f64,
}

/// A piecewise linear, strictly increasing map of a column, continued beyond its ends. A constant
/// column has one knot and becomes 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ColumnMap {
    /// Values of the column, rising.
    knots: Vec<f64>,
    /// What they become, rising; mean 0 and standard deviation 1 over the training rows.
    scores: Vec<f64>,
    /// Slopes below the first knot and above the last.
    ends: (f64, f64),
    /// How fast these slopes fall, per unit of score: the map goes on as a logarithm where the column has a
    /// tail like that of a log-normal one, and as a straight line at 0. Those of earlier versions are straight.
    #[serde(default)]
    bends: (f64, f64),
    /// Whether scores beyond the ends are drawn in. Maps of earlier versions are straight lines there.
    #[serde(default)]
    drawn_in: bool,
}

impl ColumnMap {
    /// The map through those of some knots whose numbers are given; the first and the last one are
    /// among them. Values and scores rise. Scores become those of mean 0 and standard deviation 1 over
    /// the rows of all knots. `column` is the column's mean and standard deviation.
    pub(super) fn through(all: &[Knot], kept: &[usize], column: &Standard) -> Self {
        let n: f64 = all.iter().map(|knot| knot.rows).sum();
        let mean = all.iter().map(|knot| knot.score * knot.rows).sum::<f64>() / n;
        let square = |knot: &Knot| knot.rows * (knot.score - mean).powi(2);
        let std = (all.iter().map(square).sum::<f64>() / n).sqrt();
        if all.len() == 1 {
            return Self::constant(all[0].value);
        }
        let knots = kept.iter().map(|&k| all[k].value).collect();
        let scores = kept.iter().map(|&k| (all[k].score - mean) / std).collect();
        let mut map = Self { knots, scores, ends: (0.0, 0.0), bends: (0.0, 0.0), drawn_in: true };
        map.bends = map.end_bends(n);
        let (low, high) = map.end_slopes();
        // The tails of a column that ends abruptly are steep: beyond its ends a map like that of
        // the column's standard deviation is steep enough.
        let usual = 1.0 / column.std;
        map.ends = (low.min(usual), high.min(usual));
        map
    }

    /// The map of a constant column.
    pub(super) fn constant(value: f64) -> Self {
        Self {
            knots: vec![value],
            scores: vec![0.0],
            ends: (0.0, 0.0),
            bends: (0.0, 0.0),
            drawn_in: true,
        }
    }

    /// The straight line through two points that rise, as far as scores are not drawn in.
    pub(super) fn line(low: (f64, f64), high: (f64, f64)) -> Self {
        let (knots, scores) = (vec![low.0, high.0], vec![low.1, high.1]);
        let mut map = Self { knots, scores, ends: (0.0, 0.0), bends: (0.0, 0.0), drawn_in: true };
        let slope = map.secant(0, 1);
        map.ends = (slope, slope);
        map
    }

    /// Whether all values of the column are equal.
    pub(super) fn is_constant(&self) -> bool {
        self.knots.len() == 1
    }

    /// The slope at each end: the mean over its tail, or what it has fallen to at the end.
    fn end_slopes(&self) -> (f64, f64) {
        let last = self.knots.len() - 1;
        let (low, high) = (self.knot_at(TAIL).max(1), self.knot_at(1.0 - TAIL).min(last - 1));
        let slope = |a: usize, b: usize, bend: f64| {
            let fall = bend * (self.scores[b] - self.scores[a]);
            let fallen = if fall > 0.0 { -(-fall).exp_m1() / fall } else { 1.0 };
            fallen * self.secant(a, b)
        };
        (slope(0, low, self.bends.0), slope(high, last, self.bends.1))
    }

    /// How fast slopes fall towards each end, beyond what a straight line shows by chance: the change of the
    /// logarithm of the slope from the inner rows of a half to the outer ones, over that of the score.
    fn end_bends(&self, rows: f64) -> (f64, f64) {
        let last = self.knots.len() - 1;
        let bend = |end: usize, outer: usize, middle: usize| {
            if end == outer || outer == middle {
                return 0.0;
            }
            let slope = |a: usize, b: usize| self.secant(a.min(b), a.max(b));
            let apart = (self.scores[end] - self.scores[middle]).abs() / 2.0;
            let fall = (slope(outer, middle) / slope(end, outer)).ln();
            let chance = 1.0 / (OUTER * rows).sqrt();
            let bend = (fall - chance) / apart;
            if bend.is_finite() { bend.clamp(0.0, MOST_BENT) } else { 0.0 }
        };
        let low = bend(0, self.knot_at(OUTER), self.knot_at(0.5));
        let high = bend(last, self.knot_at(1.0 - OUTER), self.knot_at(0.5));
        (low, high)
    }

    /// The first knot at or above the normal score of this share of the rows, or the last one.
    fn knot_at(&self, share: f64) -> usize {
        let score = Normal::standard().inverse_cdf(share);
        self.scores.partition_point(|s| *s < score).min(self.knots.len() - 1)
    }

    fn secant(&self, a: usize, b: usize) -> f64 {
        // Halves, because the difference of two huge values overflows.
        let gap = self.knots[b] / 2.0 - self.knots[a] / 2.0;
        ((self.scores[b] - self.scores[a]) / 2.0 / gap).min(f64::MAX)
    }

    /// The score of a value.
    pub(crate) fn apply(&self, value: f64) -> f64 {
        match self.piece(value) {
            None => 0.0,
            Some(Piece::Below) => -self.below(value).0,
            Some(Piece::Above) => self.above(value).0,
            Some(Piece::Inside(k)) => {
                let (a, b) = (self.knots[k], self.knots[k + 1]);
                // The difference of two huge values overflows, and half of a tiny one is 0.
                let share = if (b - a).is_finite() {
                    (value - a) / (b - a)
                } else {
                    (value / 2.0 - a / 2.0) / (b / 2.0 - a / 2.0)
                };
                self.scores[k] + share.clamp(0.0, 1.0) * (self.scores[k + 1] - self.scores[k])
            }
        }
    }

    /// The slope of the score at a value; from knot to knot it is constant.
    pub(crate) fn slope(&self, value: f64) -> f64 {
        match self.piece(value) {
            None => 0.0,
            Some(Piece::Below) => self.ends.0 * self.below(value).1,
            Some(Piece::Above) => self.ends.1 * self.above(value).1,
            Some(Piece::Inside(k)) => self.secant(k, k + 1),
        }
    }

    /// The score of a value below the first knot, with the sign turned, and its slope over that at the knot.
    fn below(&self, value: f64) -> (f64, f64) {
        let away = beyond(self.knots[0], value, self.ends.0);
        self.continued(-self.scores[0], away, self.bends.0)
    }

    /// The same above the last knot.
    fn above(&self, value: f64) -> (f64, f64) {
        let last = self.knots.len() - 1;
        let away = beyond(value, self.knots[last], self.ends.1);
        self.continued(self.scores[last], away, self.bends.1)
    }

    /// The score `away` beyond an end, where a straight line would have it, and its slope over the line's:
    /// end + ln(1 + bend·away)/bend, and from the larger of ten and the end on, s, s (1 + ln(score/s)).
    fn continued(&self, end: f64, away: f64, bend: f64) -> (f64, f64) {
        let (away, fall) = if bend > 0.0 {
            ((bend * away).ln_1p() / bend, 1.0 / (1.0 + bend * away))
        } else {
            (away, 1.0)
        };
        let (score, slope) = self.drawn_in(end + away, end);
        (score, fall * slope)
    }

    /// What a score beyond an end becomes from there on, and the slope of that.
    fn drawn_in(&self, score: f64, end: f64) -> (f64, f64) {
        let from = end.max(DRAWN_IN_FROM);
        if self.drawn_in && score > from {
            (from * (1.0 + (score / from).ln()), from / score)
        } else {
            (score, 1.0)
        }
    }

    /// Where a value lies; nowhere in a constant column.
    fn piece(&self, value: f64) -> Option<Piece> {
        let last = self.knots.len() - 1;
        Some(match self.knots.partition_point(|knot| *knot <= value) {
            _ if last == 0 => return None,
            0 => Piece::Below,
            above if above > last && value > self.knots[last] => Piece::Above,
            above => Piece::Inside(above.min(last) - 1),
        })
    }

    /// Whether this is such a map, and no damage.
    pub(crate) fn is_sound(&self) -> bool {
        let rising = |values: &[f64]| values.windows(2).all(|pair| pair[0] < pair[1]);
        let finite = self.knots.iter().chain(&self.scores).all(|v| v.is_finite());
        let ends = [self.ends.0, self.ends.1].iter().all(|s| s.is_finite() && *s >= 0.0);
        let bends = [self.bends.0, self.bends.1].iter().all(|b| b.is_finite() && *b >= 0.0);
        let sizes = !self.knots.is_empty() && self.knots.len() == self.scores.len();
        sizes && finite && ends && bends && rising(&self.knots) && rising(&self.scores)
    }

    /// Every number of the map.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = f64> + '_ {
        self.knots.iter().chain(&self.scores).copied().chain([
            self.ends.0,
            self.ends.1,
            self.bends.0,
            self.bends.1,
        ])
    }
}

/// Where a value lies among the knots.
enum Piece {
    Below,
    /// From this knot to the next.
    Inside(usize),
    Above,
}

/// slope · (high − low), finite.
fn beyond(high: f64, low: f64, slope: f64) -> f64 {
    ((high / 2.0 - low / 2.0) * slope * 2.0).min(super::FAR)
}

/// The numbers of at most `most` knots: all, or evenly spread ones with both ends.
pub(super) fn evenly(count: usize, most: usize) -> Vec<usize> {
    if count <= most {
        return (0..count).collect();
    }
    (0..most).map(|k| k * (count - 1) / (most - 1)).collect()
}

#[cfg(test)]
mod tests {
    use crate::scale::ranks::of;
    use statrs::distribution::ContinuousCDF;

    #[test]
    fn the_map_is_monotone_and_continuous_and_has_the_slope_it_says() {
        let skewed: Vec<f64> = (0..3000).map(|i| (f64::from(i) * 0.0051).exp()).collect();
        for values in [skewed, vec![0.0, 1.0, 0.0, 0.0], vec![-5.0, 0.1, 0.2, 0.25, 9.0, 9.5]] {
            let (low, high) = (values[0].min(-9.0) - 3.0, values[values.len() - 1] * 9.0 + 1.0);
            let map = of(values);
            assert!(map.is_sound() && map.knots.len() <= 1_000);
            let step = (high - low) / 1e4;
            for k in 0..10_000 {
                let (a, b) = (low + f64::from(k) * step, low + f64::from(k + 1) * step);
                assert!(map.apply(a) < map.apply(b), "{a} and {b}");
            }
            // No jump at the knots, and beyond the ends.
            for knot in map.knots.clone() {
                let (below, above) = (map.apply(knot - 1e-9), map.apply(knot + 1e-9));
                assert!((below - above).abs() < 1e-5, "{knot}: {below} and {above}");
            }
            for at in [low, 0.5 * (low + high), high] {
                let h = 1e-7 * (high - low);
                let (slope, difference) =
                    (map.slope(at), (map.apply(at + h) - map.apply(at - h)) / (2.0 * h));
                assert!((slope - difference).abs() <= 1e-4 * slope, "{at}: {slope}, {difference}");
            }
        }
    }

    #[test]
    fn maps_go_on_as_the_tails_of_their_columns_do() {
        let normal = statrs::distribution::Normal::standard();
        let scores: Vec<f64> =
            (1..1000).map(|i| normal.inverse_cdf(f64::from(i) / 1000.0)).collect();
        let end = scores[998];
        // A log-normal column goes on as a logarithm, a normal one as a straight line.
        let map = of(scores.iter().map(|z| z.exp()).collect());
        for times in [2.0_f64, 5.0, 20.0] {
            let (score, truth) = (map.apply((end.exp()) * times), end + times.ln());
            assert!((score - truth).abs() < 0.6 * times.ln() + 0.1, "{times}: {score}, {truth}");
        }
        assert!(map.bends.0 == 0.0, "{:?}", map.bends);
        let map = of(scores.clone());
        assert!((map.apply(6.0) - 6.0).abs() < 0.5 && map.bends.1 < 0.1, "{:?}", map.bends);
        let uniform = of((0..1000).map(f64::from).collect());
        assert_eq!(uniform.bends, (0.0, 0.0));
    }

    #[test]
    fn constants_and_huge_values_are_no_trouble() {
        let constant = of(vec![4.0; 7]);
        assert!(constant.is_sound());
        assert_eq!((constant.apply(9.0), constant.slope(9.0)), (0.0, 0.0));
        let huge = of(vec![f64::MAX, -f64::MAX, 0.0, 1.0]);
        for value in [f64::MAX, -f64::MAX, 0.0, 0.5, 1e300] {
            assert!(huge.apply(value).is_finite() && huge.slope(value).is_finite(), "{value}");
        }
        let narrow = of(vec![5e-324, 0.0, 1e-323]);
        assert!(narrow.apply(0.0) < narrow.apply(5e-324));
        assert!(narrow.apply(f64::MAX).is_finite() && narrow.apply(f64::MIN).is_finite());
    }
}
