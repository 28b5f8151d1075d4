//! What is odd about a target, in one sentence, before it is fitted.

use crate::style;

/// Most values that can be far from all others: more of them are a tail.
const MOST_FAR: usize = 3;
/// How much wider than that of all others a range is with values that are far from them.
const WIDER: f64 = 20.0;
/// Fewest rows that have a range of their own beside values that are far from it.
const LEAST_ROWS: usize = 10;

/// The sentence, if there is something to say.
pub(crate) fn about(name: &str, y: &[f64]) -> Option<String> {
    let mut sorted = y.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut values: Vec<f64> = sorted.clone();
    values.dedup();
    match values.as_slice() {
        [] => None,
        [only] => Some(format!("every value of the target '{name}' is {}", exact(*only))),
        [low, high] => Some(format!(
            "the target '{name}' has two values, {} and {}: a mean between them says how likely each is, and a \
             classifier may serve better",
            exact(*low),
            exact(*high)
        )),
        _ => far(&sorted).map(|(far, (low, high))| {
            let shown: Vec<String> = far.iter().map(|value| exact(*value)).collect();
            let (are, they) = if far.len() == 1 { ("is", "it decides") } else { ("are", "they decide") };
            format!(
                "{} {are} far from all other values of the target '{name}', {} to {}: {they} the scores; look for a typo",
                shown.join(", "),
                style::number(low),
                style::number(high)
            )
        }),
    }
}

/// A value as it stands in the table, to be found there.
fn exact(value: f64) -> String {
    if value.abs() < 1e15 { format!("{value}") } else { format!("{value:e}") }
}

/// The values at the ends that are far from all others, and the range of these.
fn far(sorted: &[f64]) -> Option<(Vec<f64>, (f64, f64))> {
    let (mut first, mut last) = (0, sorted.len() - 1);
    for _ in 0..MOST_FAR {
        if last - first < LEAST_ROWS {
            return None;
        }
        // The end with the larger gap to its neighbour; halves, because huge values overflow.
        let gap = |a: usize, b: usize| sorted[b] / 2.0 - sorted[a] / 2.0;
        if gap(first, first + 1) > gap(last - 1, last) {
            first += 1;
        } else {
            last -= 1;
        }
        if gap(first, last) > 0.0 && gap(0, sorted.len() - 1) / WIDER > gap(first, last) {
            let far = [&sorted[..first], &sorted[last + 1..]].concat();
            return Some((far, (sorted[first], sorted[last])));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(far: &[f64]) -> Vec<f64> {
        (0..40).map(|i| f64::from(i).sin()).chain(far.iter().copied()).collect()
    }

    #[test]
    fn one_and_two_values_are_named() {
        assert_eq!(about("y", &[7.0; 5]).unwrap(), "every value of the target 'y' is 7");
        let two = about("y", &[0.0, 1.0, 1.0, 0.0]).unwrap();
        assert!(two.starts_with("the target 'y' has two values, 0 and 1: "), "{two}");
        assert_eq!(about("y", &[0.0, 1.0, 2.0]), None);
    }

    #[test]
    fn values_far_from_all_others_are_named() {
        let one = about("y", &wave(&[1e6])).unwrap();
        assert!(
            one.starts_with("1000000 is far from all other values of the target 'y', -"),
            "{one}"
        );
        let two = about("y", &wave(&[-900.0, 900.0])).unwrap();
        assert!(two.starts_with("-900, 900 are far from all other values"), "{two}");
        assert!(about("y", &wave(&[f64::MAX, f64::MIN])).is_some());
    }

    #[test]
    fn tails_and_few_rows_are_not() {
        assert_eq!(about("y", &wave(&[3.0])), None);
        assert_eq!(about("y", &wave(&[1e3, 2e3, 3e3, 4e3])), None);
        let skewed: Vec<f64> = (0..200).map(|i| (f64::from(i) / 25.0).exp()).collect();
        assert_eq!(about("y", &skewed), None);
        assert_eq!(about("y", &[1.0, 2.0, 3.0, 1e9]), None);
        // Of zeros and a few ones none is far.
        assert_eq!(about("y", &[vec![0.0; 50], vec![1.0, 2.0]].concat()), None);
    }
}
