//! The models that may become members of a stack, by the size of the table.
//!
//! The list is short and fixed. `docs/auto.md` has the figures that chose it.

use super::Effort;
use crate::config::{ColumnsScale, Config, EngineChoice, Shrinkage, TargetScale};
use crate::data::Dataset;
use crate::error::Result;
use crate::parameters::{Hyperparameters, TermHyperparameters};
use crate::scale::Standard;

/// Rows from which full kernels are searched by neighbours, whose cost is linear in the rows.
const SEARCH_BY_NEIGHBORS: usize = 2_000;
/// Rows up to which the posterior of a full kernel is dense, which is exact.
const DENSE_POSTERIOR: usize = 4_000;
/// Most rows of a search, of full kernels and of additive models: more hardly change their
/// hyperparameters.
const SEARCH_ROWS: usize = 15_000;
const ADDITIVE_SEARCH_ROWS: usize = 4_000;
/// The same for additive models of more columns than `SUM_COLUMNS`, whose evaluations are dear.
const WIDE_SEARCH_ROWS: usize = 1_000;
/// The same for learned directions, each of which has a parameter for every column.
const DIRECTIONS_SEARCH_ROWS: usize = 8_000;
/// Evaluations of a search over few rows. Later ones follow what is particular to the rows more often than
/// what they have in common with others.
const EVALUATIONS: usize = 25;
/// Fewest rows from which cuts are learned.
const LEARN_CUTS: usize = 100;
/// Fewest rows from which directions are learned.
const LEARN_DIRECTIONS: usize = 4_000;
/// Most columns for which diverse directions are worth their time, and on few rows functions of each column
/// beside a kernel of all.
const DIRECTIONS_COLUMNS: usize = 20;
/// The same for functions of each column on many rows, and for cuts.
const SUM_COLUMNS: usize = 60;
/// Most columns for which a length-scale is learned for each one.
const ARD_COLUMNS: usize = 300;

/// Number of values of a target up to which these are levels.
const FEW_LEVELS: usize = 10;
/// The places of ridge regression and of a constant among all candidates.
pub(super) const RIDGE: usize = 0;
pub(super) const CONSTANT: usize = 1;
/// The variance of a line without any slope, whose logarithm must be finite.
const NO_SLOPE: f64 = 1e-12;

/// A model that may become a member.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// Its name: that of the preset, and the scales that are not the usual ones.
    pub(super) name: String,
    /// The preset.
    pub(super) preset: String,
    pub(super) config: Config,
    /// The engine of its posterior, if it is not that of the search.
    pub(super) posterior: Option<EngineChoice>,
    /// Hyperparameters that are not searched for.
    pub(super) given: Option<Hyperparameters>,
    /// Roughly how long a fit takes, in one unit for all.
    pub(super) cost: f64,
}

/// A line of the list: preset, scale of columns, scale of the target, cost.
type Listed = (&'static str, ColumnsScale, TargetScale, f64);

/// Ridge regression, beside which every result is shown.
const LINE: Listed = ("linear", ColumnsScale::Standard, TargetScale::None, 0.1);

/// The candidates for a table.
pub(super) fn candidates(data: &Dataset<'_>, effort: Effort, seed: u64) -> Result<Vec<Candidate>> {
    let (rows, columns) = (data.rows(), data.columns());
    let mut lines = vec![LINE];
    lines.extend(lines_for(rows, columns, effort));
    // Where values are far out, members that can bend would go anywhere between and beyond them.
    if Standard::of_columns(data.x())?.iter().any(Standard::has_far_values) {
        for line in lines.iter_mut().skip(1).filter(|line| line.1 == ColumnsScale::Standard) {
            line.1 = ColumnsScale::Robust;
        }
    }
    // Noise that is known in the target's units has no place on another scale, and no scale makes a
    // normal distribution of a few levels.
    let can_bend = data.noise_std().is_none() && data.targets().iter().all(|y| are_many(y));
    let fits = |line: &Listed| can_bend || line.2 == TargetScale::None;
    let mut all = Vec::new();
    for line in lines.into_iter().filter(fits) {
        all.push(candidate(line, rows, columns, seed)?);
    }
    all.insert(CONSTANT, constant(all[RIDGE].clone(), columns));
    Ok(all)
}

/// Whether there are many different values.
fn are_many(values: &[f64]) -> bool {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.chunk_by(|a, b| a == b).nth(FEW_LEVELS).is_some()
}

/// The mean of the target, whatever the columns: a straight line without any slope.
///
/// Where a table says little, part of every prediction is better left to it.
fn constant(line: Candidate, columns: usize) -> Candidate {
    let term = TermHyperparameters {
        column_length_scales: Vec::new(),
        length_scales: Vec::new(),
        variances: vec![NO_SLOPE / columns as f64; columns],
    };
    let given = Hyperparameters { terms: vec![term], noise_variance: 1.0, mean: 0.0 };
    Candidate { name: "constant".into(), given: Some(given), ..line }
}

fn lines_for(rows: usize, columns: usize, effort: Effort) -> Vec<Listed> {
    use ColumnsScale::{Cuts, Ranks, Standard};
    use TargetScale::{None, YeoJohnson};
    if columns > ARD_COLUMNS {
        // More columns than a length-scale each could be learned for.
        return match effort {
            Effort::Quick => vec![("matern32", Standard, None, 1.0)],
            Effort::Normal | Effort::Best => vec![
                ("rbf", Standard, None, 1.0),
                ("matern12", Standard, None, 1.0),
                ("matern12", Ranks, None, 1.0),
                ("linear+matern32", Ranks, YeoJohnson, 1.5),
            ],
        };
    }
    let quick = vec![("linear+matern32-ard", Ranks, None, 2.0)];
    let (rbf, laplace) = if columns > DIRECTIONS_COLUMNS {
        ("linear+rbf-ard", "linear+laplace-ard")
    } else {
        ("linear+gam+rbf-ard", "linear+gam+laplace-ard")
    };
    let few = vec![
        ("matern12", Ranks, None, 1.0),
        ("linear+gam", Ranks, None, 1.5),
        ("linear+rbf", Standard, None, 1.0),
        ("dpa-ard", Standard, None, 2.0),
        ("linear+matern32-ard", Standard, None, 2.0),
        ("linear+matern32-ard", Ranks, YeoJohnson, 2.5),
        (rbf, Ranks, None, 4.0),
        (laplace, Ranks, YeoJohnson, 4.0),
        (laplace, Cuts, None, 4.0),
    ];
    let many = vec![
        // The directions that a sum has by default take twice the time and gain nothing here.
        ("linear+gam+dpa-ard:20..100x1", Ranks, None, 4.0),
        ("linear+matern12-ard", Standard, None, 2.0),
        ("linear+matern32-ard", Standard, None, 2.0),
        ("linear+matern12-ard", Ranks, None, 2.0),
        ("linear+matern32-ard", Ranks, None, 2.0),
        ("linear+laplace-ard", Ranks, None, 2.0),
        ("linear+laplace-ard", Cuts, None, 2.0),
        ("linear+matern32-ard", Cuts, None, 2.0),
    ];
    let mut lines = match (effort, rows <= SEARCH_BY_NEIGHBORS) {
        (Effort::Quick, _) => return quick,
        (Effort::Normal | Effort::Best, true) => few,
        (Effort::Normal | Effort::Best, false) => many,
    };
    if columns > DIRECTIONS_COLUMNS {
        lines.retain(|line| line.0 != "dpa-ard");
    }
    // Of many columns that say the same trees choose any.
    if rows < LEARN_CUTS || columns > SUM_COLUMNS {
        lines.retain(|line| line.1 != Cuts);
    }
    if columns > SUM_COLUMNS {
        lines.retain(|line| !line.0.contains("+gam+"));
        if lines.iter().all(|line| line.0 != "linear+gam") {
            lines.push(("linear+gam", Ranks, None, 3.0));
        }
    }
    if rows >= LEARN_DIRECTIONS {
        lines.push(("ppr", Standard, None, 10.0));
    }
    if effort == Effort::Best {
        lines.extend([
            ("linear+gam+dpa-ard", Ranks, YeoJohnson, 5.0),
            ("linear+rbf-ard", Standard, None, 2.0),
            ("linear+rbf-ard", Ranks, YeoJohnson, 2.5),
            ("linear+gam+matern32-ard", Ranks, None, 4.0),
            ("linear+gam+laplace-ard", Standard, None, 4.0),
        ]);
    }
    lines
}

fn candidate(line: Listed, rows: usize, columns: usize, seed: u64) -> Result<Candidate> {
    let (preset, columns_scale, target_scale, cost) = line;
    let mut config = Config::preset(preset)?;
    let full =
        config.terms.iter().any(|term| term.degrees.resolve(columns) == [columns] && columns > 1);
    config.columns_scale = columns_scale;
    config.target_scale = target_scale;
    config.seed = seed;
    // Held-out rows choose between the members: those with fewer length-scales are members too.
    config.shrinkage = Shrinkage::None;
    let mut posterior = None;
    if full && rows > SEARCH_BY_NEIGHBORS {
        config.engine = EngineChoice::Neighbors;
        posterior = (rows <= DENSE_POSTERIOR).then_some(EngineChoice::Dense);
    }
    if rows <= SEARCH_BY_NEIGHBORS {
        config.max_evaluations = Some(EVALUATIONS);
    }
    let most = match columns > SUM_COLUMNS {
        _ if full => SEARCH_ROWS,
        true => WIDE_SEARCH_ROWS,
        false if config.learns_directions() => DIRECTIONS_SEARCH_ROWS,
        false => ADDITIVE_SEARCH_ROWS,
    };
    if rows > most {
        config.subset = Some(most);
    }
    let mut name = preset.to_string();
    if columns_scale != ColumnsScale::Standard {
        name += &format!(" on {}", columns_scale.name());
    }
    if target_scale == TargetScale::YeoJohnson {
        name += ", target by a power";
    }
    Ok(Candidate { name, preset: preset.into(), config, posterior, given: None, cost })
}

/// Ridge regression, beside which every result is shown.
pub(super) fn ridge(data: &Dataset<'_>, seed: u64) -> Result<Candidate> {
    candidate(LINE, data.rows(), data.columns(), seed)
}

/// A model that the user names.
pub(super) fn named(name: &str, config: &Config) -> Candidate {
    let (name, config) = (name.to_string(), config.clone());
    Candidate { preset: name.clone(), name, config, posterior: None, given: None, cost: 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Matrix;

    fn listed(x: &Matrix, y: &[f64], effort: Effort) -> Vec<Candidate> {
        candidates(&Dataset::new(x, y).unwrap(), effort, 0).unwrap()
    }

    fn wave(rows: usize) -> Vec<f64> {
        (0..rows).map(|i| (i as f64).sin()).collect()
    }

    #[test]
    fn a_line_and_a_constant_come_first() {
        let x = Matrix::from_fn(50, 3, |i, j| ((i * (j + 2)) % 7) as f64);
        for effort in [Effort::Quick, Effort::Normal, Effort::Best] {
            let all = listed(&x, &wave(50), effort);
            assert_eq!(
                (all[RIDGE].name.as_str(), all[CONSTANT].name.as_str()),
                ("linear", "constant")
            );
            assert!(all.iter().all(|c| c.given.is_some() == (c.name == "constant")));
            assert!(all.len() > 2);
        }
    }

    #[test]
    fn far_values_are_drawn_in_where_members_can_bend() {
        for far in [false, true] {
            let x = Matrix::from_fn(400, 2, |i, j| match (i, j) {
                (9, 1) if far => 1e6,
                _ => ((i * (j + 3)) % 11) as f64,
            });
            for effort in [Effort::Quick, Effort::Normal, Effort::Best] {
                let all = listed(&x, &wave(400), effort);
                let robust = |c: &Candidate| c.config.columns_scale == ColumnsScale::Robust;
                let standard = |c: &Candidate| c.config.columns_scale == ColumnsScale::Standard;
                // The members on ranks and cuts are not affected, and ridge regression is as users know it.
                let bent: Vec<_> = all.iter().skip(2).collect();
                assert!(standard(&all[RIDGE]) && standard(&all[CONSTANT]));
                assert!(!bent.iter().any(|c| if far { standard(c) } else { robust(c) }));
                let quick = effort == Effort::Quick;
                assert_eq!(bent.iter().any(|c| robust(c)), far && !quick);
            }
        }
    }

    #[test]
    fn a_few_levels_and_known_noise_have_no_power() {
        let x = Matrix::from_fn(60, 2, |i, j| ((i * (j + 3)) % 11) as f64);
        let bends = |all: Vec<Candidate>| {
            all.iter().any(|c| c.config.target_scale == TargetScale::YeoJohnson)
        };
        let levels = |count: usize| (0..60).map(|i| (i % count) as f64).collect::<Vec<_>>();
        assert!(bends(listed(&x, &levels(11), Effort::Normal)));
        assert!(!bends(listed(&x, &levels(10), Effort::Normal)));
        assert!(!bends(listed(&x, &levels(2), Effort::Best)));
        let (y, noise) = (wave(60), vec![0.1; 60]);
        let known = Dataset::new(&x, &y).unwrap().with_noise_std(&noise).unwrap();
        assert!(!bends(candidates(&known, Effort::Normal, 0).unwrap()));
    }
}
