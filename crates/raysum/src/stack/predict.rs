//! What a stack answers: predictions, slopes, functions, and what matters.

use super::Stack;
use super::mix::combined;
use crate::data::{Dataset, Matrix, MatrixRef};
use crate::error::{Error, Result};
use crate::model::{Component, Explanation, Functions, Model, Prediction, function_numbers};
use crate::rng::{Purpose, stream};
use rand::RngExt;

impl Stack {
    /// Number of columns of X.
    pub fn columns(&self) -> usize {
        self.first().columns()
    }

    /// Number of training rows.
    pub fn rows(&self) -> usize {
        self.first().report().rows
    }

    /// Mean and distribution of new observations at each row of `x`.
    pub fn predict<'a>(&self, x: impl Into<MatrixRef<'a>>) -> Result<Prediction> {
        let x = x.into();
        self.combine(|model| model.predict(x))
    }

    /// Like [`Stack::predict`], for rows whose noise is known: their standard deviations, in the
    /// target's units, are added to the noise of the model.
    pub fn predict_with_noise<'a>(
        &self,
        x: impl Into<MatrixRef<'a>>,
        noise_std: &[f64],
    ) -> Result<Prediction> {
        let x = x.into();
        self.combine(|model| model.predict_with_noise(x, noise_std))
    }

    /// Leave-one-out predictions of the training rows, which must be passed again, at the same
    /// hyperparameters and mixing weights.
    pub fn leave_one_out(&self, data: &Dataset<'_>) -> Result<Prediction> {
        self.combine(|model| model.leave_one_out(data))
    }

    fn combine(&self, predict: impl Fn(&Model) -> Result<Prediction>) -> Result<Prediction> {
        let each = self.members.iter().map(|m| Ok((m.share, predict(&m.model)?)));
        Ok(combined(each.collect::<Result<_>>()?, self.shifted, self.curve.as_ref()))
    }

    /// The mean at each row of `x` alone: that of [`Stack::predict`], at a fraction of its cost.
    pub fn predict_mean<'a>(&self, x: impl Into<MatrixRef<'a>>) -> Result<Vec<f64>> {
        let x = x.into();
        let mean = |model: &Model, inflation: f64| match model.target_transformation() {
            // The mean depends on the spread too.
            Some(_) => Ok(model.predict(x)?.inflated(inflation).mean),
            None => model.predict_mean(x),
        };
        let mut all = vec![0.0; x.rows()];
        for member in self.members.iter().filter(|m| m.share.mean > 0.0) {
            let own = mean(&member.model, member.share.inflation)?;
            all.iter_mut().zip(own).for_each(|(all, own)| *all += member.share.mean * own);
        }
        Ok(all)
    }

    /// The distance of each row of `x` from the range of the training rows, as
    /// [`Model::extrapolation`] has it.
    pub fn extrapolation<'a>(&self, x: impl Into<MatrixRef<'a>>) -> Result<Vec<f64>> {
        self.first().extrapolation(x)
    }

    /// Gradient of the predicted mean with respect to each column of X, one row per row of `x`.
    pub fn mean_gradient<'a>(&self, x: impl Into<MatrixRef<'a>>) -> Result<Matrix> {
        let x = x.into();
        let mut sum = Matrix::zeros(x.rows(), self.columns());
        for member in self.members.iter().filter(|m| m.share.mean > 0.0) {
            let own = member.model.mean_gradient_inflated(x, member.share.inflation)?;
            for i in 0..x.rows() {
                let each = sum.row_mut(i).iter_mut().zip(own.row(i));
                each.for_each(|(sum, own)| *sum += member.share.mean * own);
            }
        }
        Ok(sum)
    }

    /// What each original column contributes to the predicted mean at each row of `x`: the sum over
    /// members by their mixing weights.
    pub fn explain<'a>(&self, x: impl Into<MatrixRef<'a>>) -> Result<Explanation> {
        let x = x.into();
        let mut sum: Option<Explanation> = None;
        for member in self.members.iter().filter(|m| m.share.mean > 0.0) {
            let weight = member.share.mean;
            let own = member.model.explain_inflated(x, member.share.inflation)?;
            let all = sum.get_or_insert_with(|| Explanation {
                baseline: 0.0,
                contributions: Matrix::zeros(x.rows(), own.contributions.columns()),
            });
            all.baseline += weight * own.baseline;
            let each = all.contributions.as_mut_slice().iter_mut();
            each.zip(own.contributions.as_slice()).for_each(|(sum, own)| *sum += weight * own);
        }
        sum.ok_or(Error::NoTargets)
    }

    /// Standard deviation of the noise at each row of `x`, in the target's units: the root of the mean
    /// of its members' variances.
    pub fn noise_std_at<'a>(&self, x: impl Into<MatrixRef<'a>>) -> Result<Vec<f64>> {
        let x = x.into();
        let mut all = vec![0.0; x.rows()];
        for member in &self.members {
            let share = member.share;
            let own = member.model.noise_std_at(x)?;
            let std = own.into_iter().map(|std| share.spread.sqrt() * share.inflation * std);
            all.iter_mut().zip(std).for_each(|(all, std)| *all = f64::hypot(*all, std));
        }
        Ok(all)
    }

    /// Mean and full covariance of f at the rows of `x`, by the law of total variance.
    pub fn joint<'a>(&self, x: impl Into<MatrixRef<'a>>) -> Result<(Vec<f64>, Matrix)> {
        let x = x.into();
        let each = self.members.iter().map(|m| Ok((m.share, m.model.joint(x)?)));
        let each = each.collect::<Result<Vec<_>>>()?;
        let n = x.rows();
        let average = |weight: &dyn Fn(usize) -> f64| -> Vec<f64> {
            let at =
                |i| each.iter().enumerate().map(|(m, (_, (mean, _)))| weight(m) * mean[i]).sum();
            (0..n).map(at).collect()
        };
        let centre = average(&|m| each[m].0.spread);
        let covariance = Matrix::from_fn(n, n, |i, j| {
            let of = |(share, (mean, own)): &(super::Share, (Vec<f64>, Matrix))| {
                let between = (mean[i] - centre[i]) * (mean[j] - centre[j]);
                share.spread * (share.inflation.powi(2) * own[(i, j)] + between)
            };
            each.iter().map(of).sum()
        });
        Ok((average(&|m| each[m].0.mean), covariance))
    }

    /// How much each original column matters, as [`Model::relevance`] has it: the mean over members by
    /// their mixing weights.
    pub fn relevance(&self) -> Vec<f64> {
        let mut all = vec![0.0; self.first().relevance().len()];
        for member in &self.members {
            let own = member.model.relevance();
            all.iter_mut().zip(own).for_each(|(all, own)| *all += member.share.mean * own);
        }
        let total: f64 = all.iter().sum();
        if total > 0.0 {
            all.iter_mut().for_each(|share| *share /= total);
        }
        all
    }

    /// The functions of all members that can tell theirs apart, with the number of the member:
    /// multiplied by its mixing weight, so that together they are its part of the mean.
    pub fn components<'a>(&self, x: impl Into<MatrixRef<'a>>) -> Result<Vec<(usize, Component)>> {
        let x = x.into();
        let mut all = Vec::new();
        let mut failure = None;
        for (m, member) in self.members.iter().enumerate() {
            let weight = member.share.mean;
            match member.model.components(x) {
                Ok(components) => all.extend(components.into_iter().map(|c| {
                    let mean = c.mean.iter().map(|mean| weight * mean).collect();
                    let variance = c.variance.iter().map(|v| weight * weight * v).collect();
                    (m, Component { mean, variance })
                })),
                Err(error @ Error::Unsupported { .. }) => failure = Some(error),
                Err(error) => return Err(error),
            }
        }
        match failure {
            Some(failure) if all.is_empty() => Err(failure),
            _ => Ok(all),
        }
    }

    /// Draws functions f from the posterior: for each a member by its mixing weight in the
    /// distribution, among those whose engine can draw functions, and then one of its functions.
    /// Function k of a seed does not depend on the number of functions drawn.
    pub fn functions(&self, count: usize, seed: u64) -> Result<StackFunctions<'_>> {
        self.draw(count, seed, |model, numbers| model.numbered_functions(numbers, seed))
    }

    /// The same from the prior.
    pub fn prior_functions(&self, count: usize, seed: u64) -> Result<StackFunctions<'_>> {
        self.draw(count, seed, |model, numbers| model.numbered_prior_functions(numbers, seed))
    }

    fn draw<'s>(
        &'s self,
        count: usize,
        seed: u64,
        draw: impl Fn(&'s Model, Vec<u32>) -> Result<Functions<'s>>,
    ) -> Result<StackFunctions<'s>> {
        let able: Vec<usize> =
            (0..self.members.len()).filter(|m| self.members[*m].model.draws_functions()).collect();
        let all = if able.is_empty() { vec![0] } else { able };
        let total: f64 = all.iter().map(|m| self.members[*m].share.spread).sum();
        let mut chosen: Vec<Vec<u32>> = vec![Vec::new(); all.len()];
        for number in function_numbers(count, || 1)? {
            let mut left = stream(seed, Purpose::Members, number).random::<f64>() * total;
            let last = all.len() - 1;
            let place = all.iter().position(|m| {
                left -= self.members[*m].share.spread;
                left < 0.0
            });
            chosen[place.unwrap_or(last)].push(number);
        }
        let mut parts = Vec::new();
        for (member, numbers) in all.into_iter().zip(chosen) {
            let functions = draw(&self.members[member].model, numbers.clone())?;
            parts.push((numbers, functions));
        }
        Ok(StackFunctions { parts, count })
    }
}

/// Functions drawn from a stack, by [`Stack::functions`] and [`Stack::prior_functions`]: each is a
/// fixed function of x.
#[derive(Debug)]
pub struct StackFunctions<'s> {
    /// The functions of each member, and their numbers.
    parts: Vec<(Vec<u32>, Functions<'s>)>,
    count: usize,
}

impl StackFunctions<'_> {
    /// Their values at the rows of `x`, in the target's units: one row per function.
    pub fn evaluate<'a>(&self, x: impl Into<MatrixRef<'a>>) -> Result<Matrix> {
        let x = x.into();
        self.joined(x, |functions| functions.evaluate(x))
    }

    /// New observations of them at the rows of `x`: their values with noise.
    pub fn observe<'a>(&self, x: impl Into<MatrixRef<'a>>, seed: u64) -> Result<Matrix> {
        let x = x.into();
        self.joined(x, |functions| functions.observe(x, seed))
    }

    fn joined(
        &self,
        x: MatrixRef<'_>,
        values: impl Fn(&Functions<'_>) -> Result<Matrix>,
    ) -> Result<Matrix> {
        if let [(_, only)] = self.parts.as_slice() {
            return values(only);
        }
        let mut all = Matrix::zeros(self.count, x.rows());
        for (numbers, functions) in &self.parts {
            let own = values(functions)?;
            for (k, number) in numbers.iter().enumerate() {
                all.row_mut(*number as usize).copy_from_slice(own.row(k));
            }
        }
        Ok(all)
    }
}
