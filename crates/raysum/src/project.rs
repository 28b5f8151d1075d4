//! The projections P_j: axes, Gaussian, uniform on the sphere, and two kinds of evenly spread
//! directions.

use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::limits::MAX_SPREAD_DIRECTIONS;
use crate::linalg;
use crate::named;
use crate::optimize::{Lbfgs, lbfgs};
use crate::rng::{Purpose, stream};
use crate::views::Views;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::str::FromStr;

/// Maximum number of entries of all projections (1.6 GB).
const MOST_ENTRIES: usize = 200_000_000;

/// How directions are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Directions {
    /// The coordinate axes, in order.
    Axes,
    /// Independent entries N(0, 1/D_j), the paper's RPA.
    Gaussian,
    /// Uniform on the unit sphere (divided by √D_j).
    Sphere,
    /// Unit vectors spread as evenly as possible (divided by √D_j), the paper's DPA.
    Diverse,
    /// The same with the energy distance to the uniform distribution in place of the paper's
    /// fourth powers: closer to the limit of many directions where d is small.
    Energy,
}

impl Directions {
    /// Every choice with its name.
    pub const ALL: [(&'static str, Directions); 5] = [
        ("axes", Directions::Axes),
        ("gaussian", Directions::Gaussian),
        ("sphere", Directions::Sphere),
        ("diverse", Directions::Diverse),
        ("energy", Directions::Energy),
    ];

    /// The name of the choice.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, d)| *d == self).map_or("", |(name, _)| name)
    }
}

impl FromStr for Directions {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        named::find("directions", &Self::ALL, name)
    }
}

/// The projections of all sub-kernels, stacked: row after row, sub-kernel after sub-kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Projections {
    views: Views,
    degrees: Vec<usize>,
}

impl Projections {
    /// Projections given as one stack of Σ D_j rows.
    pub fn new(matrix: Matrix, degrees: Vec<usize>) -> Result<Self> {
        Self::from_views(matrix.into(), degrees)
    }

    pub(crate) fn from_views(views: Views, degrees: Vec<usize>) -> Result<Self> {
        let rows = degrees.iter().fold(0_usize, |sum, d| sum.saturating_add(*d));
        if degrees.is_empty() || degrees.contains(&0) {
            return Err(Error::NoSubKernels);
        }
        if views.rows() != rows {
            return Err(Error::HyperparameterCount {
                name: "rows of the projections",
                expected: rows,
                found: views.rows(),
            });
        }
        Ok(Self { views, degrees })
    }

    /// Projections of the same degrees in other directions; `matrix` has the same shape.
    pub(crate) fn with_matrix(&self, matrix: Matrix) -> Self {
        Self { views: matrix.into(), degrees: self.degrees.clone() }
    }

    /// Chooses projections for `columns` features; the same seed gives the same projections.
    pub fn choose(
        directions: Directions,
        degrees: &[usize],
        columns: usize,
        seed: u64,
    ) -> Result<Self> {
        Self::choose_for(0, directions, degrees, columns, seed)
    }

    /// Chooses the projections of term number `term`: no two terms have the same random ones.
    pub(crate) fn choose_for(
        term: u32,
        directions: Directions,
        degrees: &[usize],
        columns: usize,
        seed: u64,
    ) -> Result<Self> {
        let rows = degrees.iter().fold(0_usize, |sum, d| sum.saturating_add(*d));
        let spread_apart = matches!(directions, Directions::Diverse | Directions::Energy);
        let too_many = spread_apart && rows > columns.max(MAX_SPREAD_DIRECTIONS);
        let too_large =
            directions != Directions::Axes && rows.saturating_mul(columns) > MOST_ENTRIES;
        if too_many || too_large {
            return Err(Error::TooManyProjections { rows, columns });
        }
        let mut rng = stream(seed, Purpose::Directions, term);
        let mut normal =
            |rows: usize| Matrix::from_fn(rows, columns, |_, _| StandardNormal.sample(&mut rng));
        let mut matrix = match directions {
            Directions::Axes if rows > columns => {
                return Err(Error::TooManyAxes { axes: rows, columns });
            }
            Directions::Axes => {
                return Self::from_views(Views::axes(rows, columns), degrees.to_vec());
            }
            Directions::Gaussian => normal(rows),
            Directions::Sphere => unit_rows(normal(rows)),
            Directions::Diverse | Directions::Energy if rows <= columns => {
                let q = linalg::orthonormal_rows(normal(rows).as_slice(), rows, columns);
                Matrix::from_row_major(rows, columns, q)?
            }
            Directions::Diverse => spread(normal(rows), fourth_power),
            Directions::Energy => spread(normal(rows), energy),
        };
        let mut row = 0;
        for &degree in degrees {
            for _ in 0..degree {
                let factor = 1.0 / (degree as f64).sqrt();
                matrix.row_mut(row).iter_mut().for_each(|v| *v *= factor);
                row += 1;
            }
        }
        Self::new(matrix, degrees.to_vec())
    }

    /// The stack, Σ D_j rows by d columns.
    pub(crate) fn views(&self) -> &Views {
        &self.views
    }

    /// The stack as a matrix, with all the zeros of axes.
    pub fn matrix(&self) -> Matrix {
        self.views.to_matrix()
    }

    /// The degrees D_j.
    pub fn degrees(&self) -> &[usize] {
        &self.degrees
    }

    /// The loss Σ_{j≠j'} (η_j·η_j')⁴ of the normalised rows: 0 if they are orthogonal.
    pub fn diversity_loss(&self) -> f64 {
        let unit = unit_rows(self.matrix());
        let rows = unit.rows();
        let mut loss = 0.0;
        for i in 0..rows {
            for k in 0..i {
                loss += 2.0 * dot(unit.row(i), unit.row(k)).powi(4);
            }
        }
        loss
    }

    /// The smallest angle between two rows as lines, in degrees; `None` for a single row.
    pub fn smallest_angle(&self) -> Option<f64> {
        let unit = unit_rows(self.matrix());
        let pairs = (0..unit.rows()).flat_map(|i| (0..i).map(move |k| (i, k)));
        pairs
            .map(|(i, k)| dot(unit.row(i), unit.row(k)).abs().min(1.0).acos().to_degrees())
            .min_by(f64::total_cmp)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn unit_rows(mut m: Matrix) -> Matrix {
    for i in 0..m.rows() {
        let norm = dot(m.row(i), m.row(i)).sqrt();
        if norm > 0.0 {
            m.row_mut(i).iter_mut().for_each(|v| *v /= norm);
        }
    }
    m
}

/// The paper's loss of two unit vectors with cosine c, and its slope.
fn fourth_power(c: f64) -> (f64, f64) {
    (c.powi(4), 4.0 * c.powi(3))
}

/// The loss whose sum is the energy distance of the set ±η_j to the uniform distribution on the
/// sphere, up to a constant: −|η − η'| − |η + η'|, here 0 for orthogonal vectors.
fn energy(c: f64) -> (f64, f64) {
    // The repulsion of two parallel vectors is infinite; a large value suffices.
    const NEAREST: f64 = 1e-10;
    let apart = |c: f64| (2.0 - 2.0 * c).max(NEAREST).sqrt();
    let (minus, plus) = (apart(c), apart(-c));
    (2.0 * std::f64::consts::SQRT_2 - minus - plus, 1.0 / minus - 1.0 / plus)
}

/// Minimises Σ_{j≠j'} loss(η_j·η_j') over unit rows, from `start`. `pair_loss` gives the loss of a
/// cosine and its slope.
///
/// The search runs over rows v of any length with η = v/|v|, so it is unconstrained; the chain
/// rule projects each gradient to the tangent plane, (g − η(η·g))/|v|.
fn spread(start: Matrix, pair_loss: fn(f64) -> (f64, f64)) -> Matrix {
    let (rows, columns) = (start.rows(), start.columns());
    let start = unit_rows(start);
    let mut loss = |v: &[f64], gradient: &mut [f64]| -> std::result::Result<f64, Infallible> {
        let norms: Vec<f64> = v.chunks(columns).map(|r| dot(r, r).sqrt()).collect();
        if norms.iter().any(|n| *n < 1e-12) {
            return Ok(f64::INFINITY);
        }
        let unit: Vec<f64> =
            v.chunks(columns).zip(&norms).flat_map(|(r, n)| r.iter().map(move |x| x / n)).collect();
        let mut gram = linalg::product_transposed(&unit, &unit, columns, linalg::Threads::All);
        let mut value = 0.0;
        for i in 0..rows {
            for c in &mut gram[i * rows..(i + 1) * rows] {
                let (loss, slope) = pair_loss(*c);
                value += loss;
                *c = 2.0 * slope;
            }
            // The pair of a row with itself adds a constant, which is subtracted.
            gram[i * rows + i] = 0.0;
        }
        let g = linalg::transposed_product(&gram, &unit, rows, linalg::Threads::All);
        for (i, norm) in norms.iter().enumerate() {
            let at = i * columns..(i + 1) * columns;
            let along = dot(&g[at.clone()], &unit[at.clone()]);
            for k in at {
                gradient[k] = (g[k] - along * unit[k]) / norm;
            }
        }
        Ok(value)
    };
    let options = Lbfgs {
        evaluations: 2000,
        value_tolerance: 1e-9,
        gradient_tolerance: 1e-9,
        ..Lbfgs::default()
    };
    let Ok(outcome) = lbfgs(start.as_slice(), &options, &mut loss);
    unit_rows(Matrix::from_fn(rows, columns, |i, j| outcome.point[i * columns + j]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(kind: Directions, j: usize, d: usize, seed: u64) -> Projections {
        Projections::choose(kind, &vec![1; j], d, seed).unwrap()
    }

    fn diverse(j: usize, d: usize, seed: u64) -> Projections {
        chosen(Directions::Diverse, j, d, seed)
    }

    #[test]
    fn up_to_d_spread_directions_are_orthonormal() {
        for kind in [Directions::Diverse, Directions::Energy] {
            for (j, d) in [(1, 1), (3, 7), (20, 20), (20, 128)] {
                let p = chosen(kind, j, d, 5);
                assert!(p.diversity_loss() < 1e-25, "{}", p.diversity_loss());
                for i in 0..j {
                    assert!((dot(p.matrix().row(i), p.matrix().row(i)) - 1.0).abs() < 1e-13);
                }
            }
        }
    }

    #[test]
    fn in_the_plane_the_energy_spaces_lines_equally() {
        for j in [3, 5, 16] {
            let angle = chosen(Directions::Energy, j, 2, 1).smallest_angle().unwrap();
            assert!((angle - 180.0 / j as f64).abs() < 1e-2, "J = {j}: {angle} degrees");
        }
    }

    #[test]
    fn slopes_of_the_pair_losses_match_differences_and_stay_finite() {
        for loss in [fourth_power, energy] {
            for c in [-0.9, -0.3, 0.0, 0.5, 0.99] {
                let h = 1e-6;
                let slope = (loss(c + h).0 - loss(c - h).0) / (2.0 * h);
                assert!((slope - loss(c).1).abs() < 1e-6, "{c}: {slope}");
            }
            assert!(loss(1.0).0.is_finite() && loss(1.0).1.is_finite());
            assert_eq!(loss(1.0).1, -loss(-1.0).1);
        }
        // Parallel rows at the start are handled, too.
        let twins = Matrix::from_fn(3, 2, |i, j| if i < 2 { 1.0 } else { j as f64 });
        assert!(spread(twins, energy).as_slice().iter().all(|v| v.is_finite()));
    }

    #[test]
    fn in_the_plane_diverse_directions_reach_the_bound_of_a_design() {
        // In d = 2 equally spaced lines are optimal, and any projective 4-design meets
        // Σ_{j,j'} (η·η')⁴ = J² · 3/(d(d+2)), so the loss is 3J²/8 − J.
        for j in [3, 5, 16] {
            let jf = j as f64;
            let bound = 3.0 * jf * jf / 8.0 - jf;
            let loss = diverse(j, 2, 1).diversity_loss();
            assert!((loss - bound).abs() < 1e-6, "J = {j}: {loss} against {bound}");
        }
    }

    #[test]
    fn diverse_directions_are_wider_apart_than_random_ones() {
        for d in [3, 8] {
            let random = Projections::choose(Directions::Sphere, &[1; 20], d, 3).unwrap();
            let p = diverse(20, d, 3);
            assert!(p.diversity_loss() < 0.9 * random.diversity_loss());
            assert!(p.smallest_angle() > random.smallest_angle());
        }
    }

    #[test]
    fn gaussian_entries_have_variance_one_over_the_degree() {
        let p = Projections::choose(Directions::Gaussian, &[1, 4], 4000, 9).unwrap();
        let mean_square = |i: usize| dot(p.matrix().row(i), p.matrix().row(i)) / 4000.0;
        assert!((mean_square(0) - 1.0).abs() < 0.1);
        for i in 1..5 {
            assert!((mean_square(i) - 0.25).abs() < 0.025);
        }
    }

    #[test]
    fn one_seed_one_set_of_directions() {
        for (_, kind) in Directions::ALL {
            let choose = |seed| {
                Projections::choose(
                    kind,
                    &[1; 6],
                    if kind == Directions::Axes { 6 } else { 4 },
                    seed,
                )
            };
            assert_eq!(choose(1).unwrap(), choose(1).unwrap());
            assert_eq!(kind == Directions::Axes, choose(1).unwrap() == choose(2).unwrap());
        }
    }

    #[test]
    fn more_axes_than_columns_is_an_error() {
        let e = Projections::choose(Directions::Axes, &[1; 6], 4, 0).unwrap_err();
        assert_eq!(e.to_string(), "the degrees ask for 6 axes, but there are 4 columns");
    }
}
