//! Functions drawn from a model: drawn once, evaluated anywhere later.

use super::{Model, require};
use crate::data::{Matrix, MatrixRef};
use crate::engine::path::evaluate_prior;
use crate::engine::{Draw, Draws};
use crate::error::{Error, Result};
use crate::memory;
use crate::rng::{Purpose, stream};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

/// Number of functions that are evaluated together.
const TOGETHER: usize = 128;

/// Functions drawn from a model's posterior or prior, by [`Model::functions`] and
/// [`Model::prior_functions`].
///
/// Each is a fixed function of x: the value at a row is bit-identical in every call, whatever other
/// rows are passed. Function k of a seed does not depend on the number of functions drawn.
#[derive(Debug)]
pub struct Functions<'m> {
    model: &'m Model,
    /// The number of each function among those of the seed.
    numbers: Vec<u32>,
    draws: Vec<Draw>,
    origin: Origin<'m>,
}

#[derive(Clone, Copy, Debug)]
enum Origin<'m> {
    Prior,
    Posterior(&'m dyn Draws),
}

impl Model {
    /// Draws functions f from the posterior. Jointly at any rows they have the mean and covariance
    /// of [`Model::joint`]; unlike [`Model::sample`] they need not know the rows beforehand.
    ///
    /// ```
    /// use raysum::{Config, Dataset, Matrix};
    /// let x = Matrix::from_fn(40, 1, |i, _| i as f64);
    /// let y: Vec<f64> = (0..40).map(|i| (i as f64 / 5.0).sin()).collect();
    /// let model = Config::preset("gam")?.fit(&Dataset::new(&x, &y)?)?;
    /// let functions = model.functions(3, 7)?;
    /// let all = functions.evaluate(&x)?;                    // 3 rows of 40 values
    /// let one = functions.evaluate(&x.gather(&[5]))?;       // later, elsewhere
    /// assert_eq!(one[(2, 0)], all[(2, 5)]);
    /// # Ok::<(), raysum::Error>(())
    /// ```
    pub fn functions(&self, count: usize, seed: u64) -> Result<Functions<'_>> {
        let draws = self.ability(self.posterior.draws(), "drawing functions")?;
        let numbers = numbers(count, || draws.draw(seed, 0).numbers())?;
        self.numbered_functions(numbers, seed)
    }

    /// Whether its engine can draw functions.
    pub(crate) fn draws_functions(&self) -> bool {
        self.posterior.draws().is_some()
    }

    /// The functions with these numbers among those of a seed.
    pub(crate) fn numbered_functions(&self, numbers: Vec<u32>, seed: u64) -> Result<Functions<'_>> {
        let draws = self.ability(self.posterior.draws(), "drawing functions")?;
        Functions::draw(self, numbers, Origin::Posterior(draws), |index| draws.draw(seed, index))
    }

    /// Those of the prior.
    pub(crate) fn numbered_prior_functions(
        &self,
        numbers: Vec<u32>,
        seed: u64,
    ) -> Result<Functions<'_>> {
        let draw = |index| Draw::of_prior(self.prior(), seed, index);
        Functions::draw(self, numbers, Origin::Prior, draw)
    }

    /// Draws functions from the prior at the fitted hyperparameters. Posterior functions with the
    /// same seed approach them far from the data.
    pub fn prior_functions(&self, count: usize, seed: u64) -> Result<Functions<'_>> {
        let numbers = numbers(count, || Draw::of_prior(self.prior(), seed, 0).numbers())?;
        self.numbered_prior_functions(numbers, seed)
    }
}

/// The numbers of `count` functions, if there is memory for them: they are all of the same size.
pub(crate) fn numbers(count: usize, size: impl FnOnce() -> usize) -> Result<Vec<u32>> {
    let last = u32::try_from(count).map_err(|_| Error::OutOfRange {
        name: "the number of functions",
        value: count as f64,
        rule: "below 4294967296".into(),
    })?;
    if count > 0 {
        let size = size();
        memory::require(format_args!("{count} functions"), memory::count(&[&[count, size]]))?;
    }
    Ok((0..last).collect())
}

impl<'m> Functions<'m> {
    fn draw(
        model: &'m Model,
        numbers: Vec<u32>,
        origin: Origin<'m>,
        draw: impl Fn(u32) -> Draw + Sync + Send,
    ) -> Result<Self> {
        if let Some(&first) = numbers.first() {
            // They are all of the same size.
            let (count, size) = (numbers.len(), draw(first).numbers());
            memory::require(format_args!("{count} functions"), memory::count(&[&[count, size]]))?;
        }
        let draws = numbers.par_iter().map(|number| draw(*number)).collect();
        Ok(Self { model, numbers, draws, origin })
    }

    /// Number of functions.
    pub fn len(&self) -> usize {
        self.draws.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.draws.is_empty()
    }

    /// Their values at the rows of `x`, in the target's units: one row per function.
    pub fn evaluate<'a>(&self, x: impl Into<MatrixRef<'a>>) -> Result<Matrix> {
        self.observed(self.model.check(x)?, None)
    }

    /// New observations of them at the rows of `x`: their values with noise, which a seed gives for
    /// each function and each row by its number.
    pub fn observe<'a>(&self, x: impl Into<MatrixRef<'a>>, seed: u64) -> Result<Matrix> {
        self.observed(self.model.check(x)?, Some(seed))
    }

    fn observed(&self, x: MatrixRef<'_>, noise_seed: Option<u64>) -> Result<Matrix> {
        let what = format!("values of {} functions", self.len());
        require(x, &what, &[&[self.len(), x.rows(), 2]])?;
        let blocks = self.model.by_block(x, |rows| {
            self.draws.par_chunks(TOGETHER).map(|draws| self.values(draws, rows)).collect()
        })?;
        let mut out = Matrix::zeros(self.len(), x.rows());
        let levels = match noise_seed {
            Some(_) => self.model.noise_levels(x)?,
            None => None,
        };
        let noise_std = |row| self.model.noise_variance(levels.as_deref(), row).sqrt();
        let noise_of = |number: &u32| noise_seed.map(|seed| stream(seed, Purpose::Noise, *number));
        let mut noise: Vec<_> = self.numbers.iter().map(noise_of).collect();
        let mut start = 0;
        for block in blocks {
            let parts: Vec<Matrix> = block;
            let columns = parts.first().map_or(0, Matrix::columns);
            let values = parts.iter().flat_map(|part| (0..part.rows()).map(|s| part.row(s)));
            for (s, values) in values.enumerate() {
                let out = &mut out.row_mut(s)[start..start + columns];
                for (k, (out, f)) in out.iter_mut().zip(values).enumerate() {
                    let error = noise[s].as_mut().map_or(0.0, |rng| {
                        noise_std(start + k) * Distribution::<f64>::sample(&StandardNormal, rng)
                    });
                    *out = self.model.scaler.undo(f + error);
                }
                if let Some(row) = out.iter().position(|f| !f.is_finite()) {
                    return Err(Error::NotFinitePrediction { row: start + row });
                }
            }
            start += columns;
        }
        Ok(out)
    }

    fn values(&self, draws: &[Draw], rows: &Matrix) -> Matrix {
        match self.origin {
            Origin::Prior => evaluate_prior(self.model.prior(), draws, rows),
            Origin::Posterior(posterior) => posterior.evaluate_draws(draws, rows),
        }
    }
}
