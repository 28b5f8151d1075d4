//! Mixing weights of the members of a stack, from predictions of rows that they were not fitted to.

/// Steps of a search for weights, and the gain at which it ends.
const STEPS: usize = 5_000;
const GAIN: f64 = 1e-10;
/// Rows that say as much about the weights as the belief that all are equal.
const UNCERTAIN_ROWS: f64 = 5.0;
/// Rows that say as much as the belief that what straight lines miss is noise.
const STRAIGHT_ROWS: f64 = 5.0;
/// Rows that each member is counted as the best of, beside the real ones.
const PRIOR_ROWS: f64 = 0.2;

/// The weights of means whose errors are given, one vector per member: those of the least mean
/// square, none below 0, with the sum 1.
///
/// With w ≥ 0 and Σ w = 1 the error of the mixture is Σ w e, so that its mean square is w'Ew with
/// E = mean e e'. Where rows are few, E is itself uncertain: a term of the size of that uncertainty
/// draws the weights together. Members that can bend have another one in common: of few rows they learn
/// curves that are not there.
pub(super) fn of_means(errors: &[Vec<f64>], row_weights: &[f64], bends: &[bool]) -> Vec<f64> {
    let members = errors.len();
    let total: f64 = row_weights.iter().sum();
    let product = |a: &[f64], b: &[f64]| {
        let each = a.iter().zip(b).zip(row_weights);
        each.map(|((a, b), weight)| weight * a * b).sum::<f64>() / total
    };
    let mut square: Vec<Vec<f64>> =
        errors.iter().map(|a| errors.iter().map(|b| product(a, b)).collect()).collect();
    let least = (0..members).map(|m| square[m][m]).fold(f64::INFINITY, f64::min);
    let unit = least / row_weights.len() as f64;
    for (m, row) in square.iter_mut().enumerate() {
        row[m] += UNCERTAIN_ROWS * unit;
        for other in (0..members).filter(|other| bends[m] && bends[*other]) {
            row[other] += STRAIGHT_ROWS * unit;
        }
    }
    least_on_simplex(&square)
}

/// The weights of two means whose errors are given, as [`of_means`] has them, without any belief.
pub(super) fn of_two(errors: &[Vec<f64>], row_weights: &[f64]) -> Vec<f64> {
    let (mut with, mut gap) = (0.0, 0.0);
    for ((a, b), weight) in errors[0].iter().zip(&errors[1]).zip(row_weights) {
        with += weight * b * (b - a);
        gap += weight * (b - a) * (b - a);
    }
    let first = if gap > 0.0 { (with / gap).clamp(0.0, 1.0) } else { 0.5 };
    vec![first, 1.0 - first]
}

/// The minimum of w'Ew over the simplex: weight moves from the member with the steepest slope to the
/// one with the least, as far as it pays.
fn least_on_simplex(square: &[Vec<f64>]) -> Vec<f64> {
    let members = square.len();
    let mut w = vec![1.0 / members as f64; members];
    for _ in 0..STEPS {
        let slope: Vec<f64> =
            square.iter().map(|row| row.iter().zip(&w).map(|(e, w)| e * w).sum()).collect();
        let to = (0..members).min_by(|a, b| slope[*a].total_cmp(&slope[*b]));
        let owners = (0..members).filter(|m| w[*m] > 0.0);
        let from = owners.max_by(|a, b| slope[*a].total_cmp(&slope[*b]));
        let (Some(to), Some(from)) = (to, from) else { break };
        let gap = slope[from] - slope[to];
        let size = w.iter().zip(&slope).map(|(w, s)| w * s).sum::<f64>();
        if gap.is_nan() || gap <= GAIN * size {
            break;
        }
        let curvature = square[from][from] + square[to][to] - 2.0 * square[from][to];
        let step = if curvature > 0.0 { (gap / curvature).min(w[from]) } else { w[from] };
        w[from] -= step;
        w[to] += step;
    }
    w
}

/// The weights of densities whose logarithms are given, one vector per member: those of the highest
/// log score Σ log Σ w p, by expectation maximisation.
pub(super) fn of_densities(logs: &[Vec<f64>]) -> Vec<f64> {
    let (members, rows) = (logs.len(), logs.first().map_or(0, Vec::len));
    let largest = |i: usize| logs.iter().map(|of| of[i]).fold(f64::NEG_INFINITY, f64::max);
    // One row of densities per observation, relative to the largest.
    let densities: Vec<Vec<f64>> = (0..rows)
        .map(|i| {
            let largest = largest(i);
            // A row that is impossible for all says nothing.
            let density = |log: f64| if largest.is_finite() { (log - largest).exp() } else { 1.0 };
            logs.iter().map(|of| density(of[i])).collect()
        })
        .collect();
    let mut w = vec![1.0 / members as f64; members];
    for _ in 0..STEPS {
        let mut next = vec![PRIOR_ROWS; members];
        for row in &densities {
            let total: f64 = row.iter().zip(&w).map(|(p, w)| p * w).sum();
            for (next, (p, w)) in next.iter_mut().zip(row.iter().zip(&w)) {
                *next += p * w / total;
            }
        }
        let total = rows as f64 + members as f64 * PRIOR_ROWS;
        next.iter_mut().for_each(|n| *n /= total);
        let change = next.iter().zip(&w).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        w = next;
        if change < 1e-6 {
            break;
        }
    }
    w
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, stream};
    use rand_distr::{Distribution, StandardNormal};

    fn noise(rows: usize, index: u32) -> Vec<f64> {
        let mut rng = stream(5, Purpose::Samples, index);
        (0..rows).map(|_| StandardNormal.sample(&mut rng)).collect()
    }

    #[test]
    fn weights_of_independent_errors_are_inverse_to_their_variance() {
        let rows = 20_000;
        let errors: Vec<Vec<f64>> = [1.0, 2.0, 40.0]
            .iter()
            .enumerate()
            .map(|(m, std)| noise(rows, m as u32).into_iter().map(|e| std * e).collect())
            .collect();
        let w = of_means(&errors, &vec![1.0; rows], &[true; 3]);
        assert!((w.iter().sum::<f64>() - 1.0).abs() < 1e-12 && w.iter().all(|w| *w >= 0.0));
        assert!((w[0] - 0.8).abs() < 0.02 && (w[1] - 0.2).abs() < 0.02, "{w:?}");
    }

    #[test]
    fn a_member_that_only_adds_error_has_no_weight() {
        let good = noise(500, 0);
        let worse: Vec<f64> = good.iter().zip(noise(500, 1)).map(|(g, e)| 1.2 * g + e).collect();
        let w = of_means(&[good, worse], &[1.0; 500], &[true; 2]);
        assert!(w[0] > 0.97, "{w:?}");
    }

    #[test]
    fn weights_satisfy_the_conditions_of_a_minimum() {
        let errors: Vec<Vec<f64>> = (0..6)
            .map(|m| {
                let common = noise(300, 99);
                let own = noise(300, m);
                common.iter().zip(own).map(|(c, o)| c + (0.2 + 0.1 * f64::from(m)) * o).collect()
            })
            .collect();
        let square: Vec<Vec<f64>> = errors
            .iter()
            .map(|a| errors.iter().map(|b| a.iter().zip(b).map(|(a, b)| a * b).sum()).collect())
            .collect();
        let w = least_on_simplex(&square);
        let slope: Vec<f64> =
            square.iter().map(|row| row.iter().zip(&w).map(|(e, w)| e * w).sum()).collect();
        let least = slope.iter().copied().fold(f64::INFINITY, f64::min);
        for (w, slope) in w.iter().zip(&slope) {
            assert!(*w < 1e-9 || slope - least < 1e-6 * least.abs(), "{w} {slope} {least}");
        }
    }

    #[test]
    fn equal_members_share_and_the_only_one_has_all() {
        assert_eq!(of_means(&[vec![1.0, -1.0]], &[1.0, 1.0], &[true]), [1.0]);
        let w = of_means(&[vec![1.0, 2.0], vec![1.0, 2.0]], &[1.0, 1.0], &[true; 2]);
        assert!((w[0] - 0.5).abs() < 1e-9);
        // Members without any error are as good as each other.
        let w = of_means(&[vec![0.0, 0.0], vec![0.0, 0.0]], &[1.0, 1.0], &[true; 2]);
        assert!(w.iter().all(|w| w.is_finite()));
    }

    #[test]
    fn two_weights_are_those_of_least_squares() {
        let (a, b) = (noise(200, 8), noise(200, 9));
        let w = of_two(&[a.clone(), b.clone()], &[1.0; 200]);
        let square = |first: f64| -> f64 {
            a.iter().zip(&b).map(|(a, b)| (first * a + (1.0 - first) * b).powi(2)).sum()
        };
        assert!((w[0] + w[1] - 1.0).abs() < 1e-12);
        assert!(square(w[0]) < square(w[0] - 0.01) && square(w[0]) < square(w[0] + 0.01), "{w:?}");
        let double: Vec<f64> = a.iter().map(|a| 2.0 * a).collect();
        assert_eq!(of_two(&[a.clone(), double], &[1.0; 200]), [1.0, 0.0]);
        assert_eq!(of_two(&[a.clone(), a], &[1.0; 200]), [0.5, 0.5]);
    }

    #[test]
    fn few_rows_prefer_straight_lines_and_many_do_not() {
        let straight = |rows: usize, bends: [bool; 3]| {
            let errors = [noise(rows, 3), noise(rows, 4), noise(rows, 5)];
            of_means(&errors, &vec![1.0; rows], &bends)[0]
        };
        let (all, one) = (straight(20, [true; 3]), straight(20, [false, true, true]));
        assert!(one > all + 0.03, "{all} {one}");
        let (all, one) = (straight(20_000, [true; 3]), straight(20_000, [false, true, true]));
        assert!((one - all).abs() < 1e-3, "{all} {one}");
    }

    #[test]
    fn rows_that_are_impossible_for_all_say_nothing() {
        let impossible = f64::NEG_INFINITY;
        assert_eq!(of_densities(&[vec![impossible, -1.0]]), [1.0]);
        let w =
            of_densities(&[vec![impossible, 0.0, 0.0], vec![impossible, impossible, impossible]]);
        assert!(w[0] > 0.8 && (w[0] + w[1] - 1.0).abs() < 1e-9, "{w:?}");
    }

    #[test]
    fn densities_find_the_mixture_that_made_the_rows() {
        // Rows from two normal distributions, a share of 0.3 from the wide one.
        let rows = 20_000;
        let draws: Vec<f64> = noise(rows, 7)
            .into_iter()
            .enumerate()
            .map(|(i, z)| if i % 10 < 3 { 3.0 * z } else { z })
            .collect();
        let log = |std: f64| draws.iter().map(|y| -0.5 * (y / std).powi(2) - std.ln()).collect();
        let w = of_densities(&[log(1.0), log(3.0)]);
        assert!((w[1] - 0.3).abs() < 0.03, "{w:?}");
    }
}
