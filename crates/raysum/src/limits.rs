//! Limits on what can be asked for, as the library, the command line and Python check them.

/// Most rows of the dense engine: two n × n matrices of more would take over 14 GB.
pub const MAX_DENSE_ROWS: usize = 30_000;

/// Most features of the weight-space engine, where the dense one cannot take over, and of a basis
/// that further rows extend: their Gram matrix takes 3 GB.
pub const MAX_FEATURES: usize = 20_000;

/// Most sub-kernels of a model, and most dimensions of one. More would be a typing error, which must
/// not fill memory.
pub const MAX_SUB_KERNELS: usize = 1_000_000;

/// Most directions that are spread apart, if there are not as many columns: each is compared with
/// each other (0.8 GB).
pub const MAX_SPREAD_DIRECTIONS: usize = 10_000;

/// Fewest grid points per view of the SKI engine.
pub const MIN_GRID_POINTS: usize = 16;

/// Fewest random probes of the SKI engine: one has no standard error.
pub const MIN_PROBES: usize = 2;

/// Most random probes of the SKI engine. More would be a typing error, which must not fill memory.
pub const MAX_PROBES: usize = 10_000;

/// Most neighbours of a row: the dense engine is better with more.
pub const MAX_NEIGHBORS: usize = 1_000;

/// Most points that are suggested at once.
pub const MAX_SUGGESTIONS: usize = 100;

/// Fewest rows to search hyperparameters on.
pub const MIN_SUBSET_ROWS: usize = 2;

/// Fewest categories of a text column: the most frequent one, and one for all others.
pub const MIN_CATEGORIES: usize = 2;

/// Most categories of a text column, each of which is a column of X.
pub const MAX_CATEGORIES: usize = 1_000;

/// Most categories of a text column, unless the user says otherwise.
pub const DEFAULT_CATEGORIES: usize = 100;

/// Fewest distinct rows of a table from which rows are held out, for scores, mixing weights and
/// calibration.
pub const MIN_FOLD_ROWS: usize = 10;

/// A limit as messages write it, with commas: `30,000`.
pub fn written(limit: usize) -> String {
    let digits = limit.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_written_in_groups_of_three_digits() {
        let texts = [0, 16, 999, 1000, 30_000, 1_000_000].map(written);
        assert_eq!(texts, ["0", "16", "999", "1,000", "30,000", "1,000,000"]);
    }
}
