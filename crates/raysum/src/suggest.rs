//! The next points to try, where rows are experiments: a batch of them by Thompson sampling.
//!
//! Each suggestion is where one function drawn from the posterior is lowest, or highest. Functions
//! differ most where nothing is known and agree where the model is sure, so a batch explores and
//! exploits at once. A function is searched from points all over the space and around the best of the
//! predicted mean, by random steps that become shorter.

use crate::data::Matrix;
use crate::error::{Result, SuggestError};
use crate::limits::MAX_SUGGESTIONS;
use crate::rng::{Purpose, stream};
use crate::stack::Stack;
use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};

/// Points all over the space from which the search starts: per variable, and bounds.
const SCATTERED: usize = 400;
const SCATTERED_BOUNDS: (usize, usize) = (2_000, 8_000);
/// Points around the best of the mean, and their distances from it, in widths of the space.
const NEARBY: usize = 300;
const NEAR: [f64; 2] = [0.1, 0.02];
/// The best points of each function from which steps go on, steps from each, and rounds of steps.
const KEPT: usize = 3;
const STEPS: usize = 10;
const ROUNDS: usize = 8;
/// The length of the first steps in widths of the space, and the factor of each next round.
const FIRST_STEP: f64 = 0.1;
const SHORTER: f64 = 0.6;
/// Points that differ by less in every number, in widths of the space, are not both suggested.
const ALIKE: f64 = 0.002;
/// The chance that a step takes another option.
const OTHER_OPTION: f64 = 0.3;

/// Whether low or high values of the target are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Goal {
    /// Low values.
    #[default]
    Minimize,
    /// High values.
    Maximize,
}

/// One thing that can be chosen, and the columns of X that it determines.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its first column of X. Options may determine several, which follow.
    pub column: usize,
    /// The values that it can have.
    pub domain: Domain,
}

/// The values that a variable can have.
#[derive(Clone, Debug, PartialEq)]
pub enum Domain {
    /// Numbers from the first to the second, inclusive.
    Real(f64, f64),
    /// Whole numbers from the first to the second, inclusive.
    Integer(i64, i64),
    /// One of several; each gives its columns these values.
    Options(Vec<Vec<f64>>),
}

/// A value for each variable: the number, or that of the option.
type Point = Vec<f64>;

/// Points with the values of a function there, lower ones being better.
type Pool = Vec<(f64, Point)>;

impl Stack {
    /// Suggests `count` points to try next: a row for each, with a value for each variable, which is
    /// the number itself or the number of the option. The points differ, unless there are too few.
    ///
    /// ```
    /// use raysum::suggest::{Domain, Goal, Variable};
    /// use raysum::{Config, Dataset, Matrix, StackFit};
    /// let x = Matrix::from_fn(12, 1, |i, _| i as f64);
    /// let y: Vec<f64> = (0..12).map(|i| (i as f64 - 7.3).powi(2)).collect();
    /// let config = Config::preset("rbf-ard")?;
    /// let stack = StackFit::one("rbf-ard", &config).run(&Dataset::new(&x, &y)?)?.remove(0);
    /// let space = [Variable { column: 0, domain: Domain::Real(0.0, 11.0) }];
    /// let next = stack.suggest(&space, 3, Goal::Minimize, 0)?;
    /// assert!((0..3).all(|i| (next[(i, 0)] - 7.3).abs() < 0.5));
    /// # Ok::<(), raysum::Error>(())
    /// ```
    pub fn suggest(
        &self,
        space: &[Variable],
        count: usize,
        goal: Goal,
        seed: u64,
    ) -> Result<Matrix> {
        check(space, self.columns())?;
        if count == 0 || count > MAX_SUGGESTIONS {
            return Err(SuggestError::Count { count }.into());
        }
        let functions = self.functions(count, seed)?;
        let sign = if goal == Goal::Minimize { 1.0 } else { -1.0 };
        let mut rng = stream(seed, Purpose::Suggestions, 0);
        let scattered = (SCATTERED * space.len()).clamp(SCATTERED_BOUNDS.0, SCATTERED_BOUNDS.1);
        let mut points: Vec<Point> = (0..scattered).map(|_| anywhere(space, &mut rng)).collect();
        let mean = self.predict_mean(&rows(space, &points, self.columns()))?;
        let best = (0..points.len()).min_by(|i, j| (sign * mean[*i]).total_cmp(&(sign * mean[*j])));
        if let Some(best) = best.map(|i| points[i].clone()) {
            for width in NEAR {
                points.extend((0..NEARBY).map(|_| near(space, &best, width, &mut rng)));
            }
        }
        // Each function's best points, of which the others may take some away.
        let most = count + KEPT;
        let values = functions.evaluate(&rows(space, &points, self.columns()))?;
        let mut pools: Vec<Pool> = (0..count)
            .map(|f| {
                let all = points.iter().zip(values.row(f));
                best_of(space, all.map(|(point, v)| (sign * v, point.clone())).collect(), most)
            })
            .collect();
        let mut width = FIRST_STEP;
        for _ in 0..ROUNDS {
            let from = |pool: &Pool| -> Vec<Point> {
                pool.iter().take(KEPT).flat_map(|(_, p)| vec![p.clone(); STEPS]).collect()
            };
            let mut steps: Vec<Point> = pools.iter().flat_map(from).collect();
            steps.iter_mut().for_each(|point| *point = near(space, point, width, &mut rng));
            let values = functions.evaluate(&rows(space, &steps, self.columns()))?;
            let mut next = steps.into_iter().enumerate();
            for (f, pool) in pools.iter_mut().enumerate() {
                let own = next.by_ref().take(pool.len().min(KEPT) * STEPS);
                pool.extend(own.map(|(i, point)| (sign * values[(f, i)], point)));
                *pool = best_of(space, std::mem::take(pool), most);
            }
            width *= SHORTER;
        }
        Matrix::from_row_major(count, space.len(), distinct(space, &pools).concat())
    }
}

/// The best points, the best first, without those that are hardly different from a better one.
fn best_of(space: &[Variable], mut pool: Pool, most: usize) -> Pool {
    pool.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut kept = Pool::with_capacity(most);
    for (value, point) in pool {
        if kept.len() == most {
            break;
        }
        if kept.iter().all(|(_, other)| !alike(space, &point, other)) {
            kept.push((value, point));
        }
    }
    kept
}

/// The best point of each pool that differs from those of earlier pools; the best one, if none does.
fn distinct(space: &[Variable], pools: &[Pool]) -> Vec<Point> {
    let mut chosen: Vec<Point> = Vec::with_capacity(pools.len());
    for pool in pools {
        let is_new = |point: &Point| chosen.iter().all(|other| !alike(space, point, other));
        let free = pool.iter().find(|(_, point)| is_new(point));
        chosen.extend(free.or(pool.first()).map(|(_, point)| point.clone()));
    }
    chosen
}

/// Whether trying both points would tell little more than trying one.
fn alike(space: &[Variable], a: &Point, b: &Point) -> bool {
    space.iter().zip(a.iter().zip(b)).all(|(variable, (a, b))| match variable.domain {
        Domain::Real(low, high) => (a - b).abs() <= ALIKE * (high - low),
        Domain::Integer(..) | Domain::Options(_) => a == b,
    })
}

/// Fails unless the variables determine every column once, and each has a value.
fn check(space: &[Variable], columns: usize) -> Result<()> {
    let mut taken = vec![false; columns];
    for (k, variable) in space.iter().enumerate() {
        let width = match &variable.domain {
            Domain::Real(low, high) if !(low <= high && low.is_finite() && high.is_finite()) => {
                return Err(SuggestError::Variable { variable: k }.into());
            }
            Domain::Integer(low, high) if low > high => {
                return Err(SuggestError::Variable { variable: k }.into());
            }
            Domain::Real(..) | Domain::Integer(..) => 1,
            Domain::Options(options) => {
                let width = options.first().map_or(0, Vec::len);
                let alike = options.iter().all(|values| {
                    values.len() == width && values.iter().all(|value| value.is_finite())
                });
                if options.is_empty() || !alike {
                    return Err(SuggestError::Variable { variable: k }.into());
                }
                width
            }
        };
        for column in variable.column..variable.column.saturating_add(width) {
            match taken.get_mut(column) {
                Some(taken) if !*taken => *taken = true,
                _ => return Err(SuggestError::Variable { variable: k }.into()),
            }
        }
    }
    match taken.iter().position(|taken| !taken) {
        Some(column) => Err(SuggestError::Column { column }.into()),
        None => Ok(()),
    }
}

/// A point anywhere in the space.
fn anywhere(space: &[Variable], rng: &mut impl Rng) -> Point {
    let value = |variable: &Variable| match &variable.domain {
        Domain::Real(low, high) => between(*low, *high, rng.random()),
        Domain::Integer(low, high) => rng.random_range(*low..=*high) as f64,
        Domain::Options(options) => rng.random_range(0..options.len()) as f64,
    };
    space.iter().map(value).collect()
}

/// A share of the way from one number to another, without overflow.
fn between(low: f64, high: f64, share: f64) -> f64 {
    (low * (1.0 - share) + high * share).clamp(low, high)
}

/// A step from a point, in some of its variables: lengths are shares of the widths of the space.
fn near(space: &[Variable], point: &Point, width: f64, rng: &mut impl Rng) -> Point {
    let chance = (2.0 / space.len() as f64).max(0.5);
    let mut moved = point.clone();
    for (value, variable) in moved.iter_mut().zip(space) {
        if !rng.random_bool(chance.min(1.0)) {
            continue;
        }
        let step: f64 = StandardNormal.sample(rng);
        match &variable.domain {
            Domain::Real(low, high) => {
                let span = 0.5 * high - 0.5 * low;
                *value = (*value + 2.0 * width * step * span).clamp(*low, *high);
            }
            Domain::Integer(low, high) => {
                let (low, high) = (*low as f64, *high as f64);
                // At least to the next number, or a step would lead nowhere.
                let step = width * step * (high - low);
                let step = if step.abs() < 1.0 { step.signum() } else { step.round() };
                *value = (*value + step).clamp(low, high);
            }
            Domain::Options(options) => {
                if rng.random_bool(OTHER_OPTION) {
                    *value = rng.random_range(0..options.len()) as f64;
                }
            }
        }
    }
    moved
}

/// Points, which have a value for every variable, as rows of X.
pub fn rows<P: AsRef<[f64]>>(space: &[Variable], points: &[P], columns: usize) -> Matrix {
    let mut x = Matrix::zeros(points.len(), columns);
    for (i, point) in points.iter().enumerate() {
        let (point, row) = (point.as_ref(), x.row_mut(i));
        for (value, variable) in point.iter().zip(space) {
            match &variable.domain {
                Domain::Real(..) | Domain::Integer(..) => row[variable.column] = *value,
                Domain::Options(options) => {
                    let values = &options[*value as usize];
                    row[variable.column..][..values.len()].copy_from_slice(values);
                }
            }
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::data::Dataset;
    use crate::error::Error;
    use crate::stack::StackFit;

    /// A model of (a − 0.3)² + (b − 4)² / 50, lower by 1 where the category is the second of three.
    fn fitted() -> Stack {
        let x = Matrix::from_fn(60, 5, |i, j| match j {
            0 => (i * 7 % 60) as f64 / 59.0,
            1 => (i * 11 % 13) as f64,
            _ => f64::from(u8::from(i % 3 == j - 2)),
        });
        let y = |i: usize| {
            let row = x.row(i);
            (row[0] - 0.3).powi(2) + (row[1] - 4.0).powi(2) / 50.0 - row[3]
        };
        let y: Vec<f64> = (0..60).map(y).collect();
        let config = Config::preset("rbf-ard").unwrap();
        let fit = StackFit::one("rbf-ard", &config).held_out(false);
        fit.run(&Dataset::new(&x, &y).unwrap()).unwrap().remove(0)
    }

    fn space() -> Vec<Variable> {
        let one = |k: usize| (0..3).map(|j| f64::from(u8::from(j == k))).collect();
        vec![
            Variable { column: 0, domain: Domain::Real(0.0, 1.0) },
            Variable { column: 1, domain: Domain::Integer(0, 12) },
            Variable { column: 2, domain: Domain::Options((0..3).map(one).collect()) },
        ]
    }

    #[test]
    fn the_best_point_is_found_whatever_its_kind() {
        let stack = fitted();
        let next = stack.suggest(&space(), 6, Goal::Minimize, 1).unwrap();
        let best = |i: usize| (next[(i, 0)] - 0.3).abs() < 0.1 && next[(i, 2)] == 1.0;
        assert!((0..6).filter(|i| best(*i) && next[(*i, 1)] == 4.0).count() >= 3, "{next:?}");
        // The highest value is at the other end, in one of the other categories.
        let next = stack.suggest(&space(), 4, Goal::Maximize, 1).unwrap();
        assert!((0..4).all(|i| next[(i, 1)] == 12.0 && next[(i, 2)] != 1.0), "{next:?}");
    }

    #[test]
    fn points_differ_and_stay_inside_and_one_seed_gives_the_same() {
        let stack = fitted();
        let next = stack.suggest(&space(), 20, Goal::Minimize, 3).unwrap();
        for i in 0..20 {
            let row = next.row(i);
            assert!((0.0..=1.0).contains(&row[0]) && (0.0..=12.0).contains(&row[1]), "{row:?}");
            assert!(row[1].fract() == 0.0 && [0.0, 1.0, 2.0].contains(&row[2]), "{row:?}");
            assert!((0..i).all(|j| next.row(j) != row), "{next:?}");
        }
        assert_eq!(stack.suggest(&space(), 20, Goal::Minimize, 3).unwrap(), next);
        assert_ne!(stack.suggest(&space(), 20, Goal::Minimize, 4).unwrap(), next);
        // Of a space of two points three suggestions take one twice.
        let fixed = |column, domain| Variable { column, domain };
        let two = [
            fixed(0, Domain::Real(0.5, 0.5)),
            fixed(1, Domain::Integer(3, 4)),
            fixed(2, Domain::Options(vec![vec![0.0, 1.0, 0.0]])),
        ];
        let next = stack.suggest(&two, 3, Goal::Minimize, 0).unwrap();
        assert!((0..3).all(|i| next[(i, 0)] == 0.5) && next[(0, 1)] != next[(1, 1)], "{next:?}");
    }

    #[test]
    fn a_space_that_does_not_fit_is_refused() {
        let stack = fitted();
        let refused = |change: &dyn Fn(&mut Vec<Variable>)| {
            let mut space = space();
            change(&mut space);
            stack.suggest(&space, 2, Goal::Minimize, 0).unwrap_err()
        };
        for domain in [
            Domain::Real(1.0, 0.0),
            Domain::Real(0.0, f64::INFINITY),
            Domain::Integer(3, 2),
            Domain::Options(Vec::new()),
            Domain::Options(vec![vec![1.0], vec![1.0, 2.0]]),
        ] {
            let e = refused(&|space| space[0].domain = domain.clone());
            assert!(
                matches!(e, Error::Suggest(SuggestError::Variable { variable: 0 })),
                "{domain:?}: {e}"
            );
        }
        let e = refused(&|space| space[1].column = 0);
        assert!(matches!(e, Error::Suggest(SuggestError::Variable { variable: 1 })), "{e}");
        let e = refused(&|space| drop(space.remove(1)));
        assert!(matches!(e, Error::Suggest(SuggestError::Column { column: 1 })), "{e}");
        let e = stack.suggest(&space(), 0, Goal::Minimize, 0).unwrap_err();
        assert!(matches!(e, Error::Suggest(SuggestError::Count { count: 0 })), "{e}");
    }
}
