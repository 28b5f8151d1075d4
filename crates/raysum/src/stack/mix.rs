//! What is learned from predictions of held-out rows: the spread of each member, mixing weights, and
//! the calibration of quantiles.

use super::weights;
use crate::error::Result;
use crate::model::{Calibration, Prediction};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Members with smaller mixing weights are left out.
const LEAST_WEIGHT: f64 = 0.02;
/// Rows of the expected spread that are added to those observed: few rows say little about it.
const PRIOR_ROWS: f64 = 2.0;
/// Ridge regression is the first candidate.
const RIDGE: usize = 0;
/// Standard errors by which a mixture must be better than ridge regression at held-out rows, where it is
/// better by more than this share of the mean squared error, and where it is not.
const CLEAR_GAIN: f64 = 0.01;
const BETTER: (f64, f64) = (1.5, 2.0);
/// Standard errors by which ridge regression must be better than a constant to be a trend.
const LINE: f64 = 1.0;
/// Errors of all members that are larger than this, in medians of those of the first member, count less for
/// the weights in the mean.
const MISSED: f64 = 5.0;
/// How far from the target's range, in widths of it, predictions of a member may lie.
const STRAY: f64 = 10.0;
/// Normal scores and gains larger than this, in medians of them, count as this large.
const OUTLYING: f64 = 30.0;
/// Bounds of the factor of a member's standard deviations.
const SPREADS: (f64, f64) = (1e-3, 1e6);

/// A block of held-out rows, with the predictions of every member, which were fitted without it.
pub(super) struct HeldBlock {
    pub(super) y: Vec<f64>,
    /// How much each row counts for the mean.
    pub(super) weights: Vec<f64>,
    pub(super) predictions: Vec<Prediction>,
}

/// The share of a member in a stack.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// Its mixing weight in the mean.
    pub mean: f64,
    /// Its mixing weight in the distribution.
    pub spread: f64,
    /// κ: what its standard deviations are multiplied by, so that errors of held-out rows are as large
    /// as it expects.
    pub inflation: f64,
}

/// How the predictions of members become one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mix {
    /// The numbers of the members, in order, and their shares.
    pub(super) members: Vec<(usize, Share)>,
    /// Whether the distribution is moved to the mean.
    pub(super) shifted: bool,
    pub(super) curve: Option<Arc<Calibration>>,
}

impl Mix {
    /// Learns shares and calibration from some blocks, for those of the members.
    pub(super) fn learn(blocks: &[&HeldBlock], among: &[usize], calibrate: bool) -> Result<Self> {
        let mut among = sound(blocks, among, calibrate)?;
        let has_ridge = among.contains(&RIDGE);
        let row_weights = row_weights(blocks, &among);
        let mut mix = loop {
            let mix = Self::of_members(blocks, &among, &row_weights, calibrate)?;
            let kept: Vec<usize> =
                mix.members.iter().filter(|(_, s)| s.is_worth_it()).map(|(m, _)| *m).collect();
            if kept.len() == among.len() {
                break mix;
            }
            among = kept;
        };
        if has_ridge && mix.members.len() > 1 && mix.is_a_line(blocks) {
            mix.give_mean_to(RIDGE, blocks, calibrate)?;
        }
        mix.learn_curve(blocks, calibrate)?;
        Ok(mix)
    }

    /// Whether there is a straight line to be seen, and nothing else: ridge regression is far better than
    /// a constant, and the mixture not clearly better than ridge regression.
    fn is_a_line(&self, blocks: &[&HeldBlock]) -> bool {
        let weights: Vec<f64> = blocks.iter().flat_map(|block| block.weights.clone()).collect();
        let total: f64 = weights.iter().sum();
        let y = || blocks.iter().flat_map(|block| &block.y);
        let middle: f64 = y().zip(&weights).map(|(y, weight)| weight / total * y).sum();
        let mut errors = [
            errors_of(blocks, |block| self.prediction(&block.predictions).mean),
            errors_of(blocks, |block| block.predictions[RIDGE].mean.clone()),
            y().map(|y| y - middle).collect(),
        ];
        scale_to_one(&mut errors);
        let squares = |errors: &Vec<f64>| -> Vec<f64> {
            errors.iter().zip(&weights).map(|(error, weight)| weight * error * error).collect()
        };
        let [own, of_ridge, constant] = errors.each_ref().map(squares);
        let (errors, share) = gain(&own, &of_ridge);
        let needed = if share > CLEAR_GAIN { BETTER.0 } else { BETTER.1 };
        gain(&of_ridge, &constant).0 > LINE && errors < needed
    }

    /// Makes the mean that of one member alone; the others stay in the spread.
    ///
    /// Where ridge regression predicts as well as any mixture, there is nothing but a straight line to
    /// be seen, and beyond the rows it is the straight line that goes on as they do.
    fn give_mean_to(
        &mut self,
        member: usize,
        blocks: &[&HeldBlock],
        calibrate: bool,
    ) -> Result<()> {
        if self.members.iter().all(|(m, _)| *m != member) {
            let inflation = if calibrate { inflation(blocks, member)? } else { 1.0 };
            self.members.push((member, Share { mean: 0.0, spread: 0.0, inflation }));
            self.members.sort_by_key(|(m, _)| *m);
        }
        for (m, share) in &mut self.members {
            share.mean = if *m == member { 1.0 } else { 0.0 };
        }
        self.members.retain(|(_, share)| share.is_worth_it());
        let total: f64 = self.members.iter().map(|(_, share)| share.spread).sum();
        self.members.iter_mut().for_each(|(_, share)| share.spread /= total);
        self.settle_shift(blocks)
    }

    /// Moves the distribution to the mean if that improves the log score.
    fn settle_shift(&mut self, blocks: &[&HeldBlock]) -> Result<()> {
        self.shifted = false;
        if self.members.len() > 1 {
            let shifted = Self { shifted: true, ..self.clone() };
            self.shifted = shifted.log_score(blocks)? >= self.log_score(blocks)?;
        }
        Ok(())
    }

    /// Without the curve, and with members whose weights are small.
    fn of_members(
        blocks: &[&HeldBlock],
        among: &[usize],
        row_weights: &[f64],
        calibrate: bool,
    ) -> Result<Self> {
        let (mut errors, mut logs, mut inflations) = (Vec::new(), Vec::new(), Vec::new());
        for &m in among {
            let inflation = if calibrate { inflation(blocks, m)? } else { 1.0 };
            let (mut error, mut log) = (Vec::new(), Vec::new());
            for block in blocks {
                let p = block.predictions[m].clone().inflated(inflation);
                error.extend(block.y.iter().zip(&p.mean).map(|(y, mean)| y - mean));
                log.extend(p.log_density(&block.y)?);
            }
            errors.push(error);
            logs.push(log);
            inflations.push(inflation);
        }
        scale_to_one(&mut errors);
        let bends: Vec<bool> = among.iter().map(|m| *m != RIDGE).collect();
        let means = weights::of_means(&errors, row_weights, &bends);
        let spreads = weights::of_densities(&logs);
        let share =
            |k: usize| Share { mean: means[k], spread: spreads[k], inflation: inflations[k] };
        let members = among.iter().enumerate().map(|(k, m)| (*m, share(k))).collect();
        let mut mix = Self { members, shifted: false, curve: None };
        mix.settle_shift(blocks)?;
        Ok(mix)
    }

    fn learn_curve(&mut self, blocks: &[&HeldBlock], calibrate: bool) -> Result<()> {
        if calibrate {
            let mut scores = Vec::new();
            for block in blocks {
                scores.extend(self.prediction(&block.predictions).scores(&block.y)?);
            }
            self.curve = Some(Arc::new(Calibration::of_scores(&scores)));
        }
        Ok(())
    }

    fn log_score(&self, blocks: &[&HeldBlock]) -> Result<f64> {
        let mut total = 0.0;
        for block in blocks {
            let logs = self.prediction(&block.predictions).log_density(&block.y)?;
            total += logs.into_iter().sum::<f64>();
        }
        Ok(total)
    }

    /// The prediction of the stack, from those of all members, of which it has some.
    pub(super) fn prediction(&self, of_all: &[Prediction]) -> Prediction {
        let own = self.members.iter().map(|(m, share)| (*share, of_all[*m].clone()));
        combined(own.collect(), self.shifted, self.curve.as_ref())
    }
}

impl Share {
    /// That of the only member.
    pub(crate) const WHOLE: Self = Self { mean: 1.0, spread: 1.0, inflation: 1.0 };

    fn is_worth_it(&self) -> bool {
        self.mean.max(self.spread) >= LEAST_WEIGHT
    }
}

/// The members whose predictions of held-out rows are near the target's range; all, if none is. One
/// that strays, as a bent target or a straight line far from the other rows can, would spoil mean and
/// standard deviation of the mixture however small its weight.
fn sound(blocks: &[&HeldBlock], among: &[usize], calibrate: bool) -> Result<Vec<usize>> {
    let all = || blocks.iter().flat_map(|block| &block.y);
    let low = all().copied().fold(f64::INFINITY, f64::min);
    let high = all().copied().fold(f64::NEG_INFINITY, f64::max);
    let reach = STRAY * (high - low);
    if among.len() < 2 || !(reach > 0.0 && reach.is_finite()) {
        return Ok(among.to_vec());
    }
    let is_near = |m: usize| -> Result<bool> {
        let inflation = if calibrate { inflation(blocks, m)? } else { 1.0 };
        let near = |block: &&HeldBlock| {
            let p = block.predictions[m].clone().inflated(inflation);
            p.mean.iter().all(|mean| (low - reach..=high + reach).contains(mean))
                && p.std().iter().all(|std| *std <= reach)
        };
        Ok(blocks.iter().all(near))
    };
    let mut kept = Vec::new();
    for &m in among {
        if is_near(m)? {
            kept.push(m);
        }
    }
    Ok(if kept.is_empty() { among.to_vec() } else { kept })
}

/// The member with the least mean squared error at held-out rows.
pub(super) fn least_error(blocks: &[&HeldBlock], among: &[usize]) -> usize {
    let error = |m: usize| {
        let of_block = |block: &&HeldBlock| -> f64 {
            let each = block.y.iter().zip(&block.predictions[m].mean).zip(&block.weights);
            each.map(|((y, mean), weight)| weight * (y - mean).powi(2)).sum()
        };
        blocks.iter().map(of_block).sum::<f64>()
    };
    let least = among.iter().copied().min_by(|a, b| error(*a).total_cmp(&error(*b)));
    least.unwrap_or_default()
}

/// Calibrates predictions of one model across folds: those of each fold, which it was fitted without,
/// by the errors of the other folds. Every fold has its observations and their predictions.
pub fn cross_calibrated(folds: Vec<(Vec<f64>, Prediction)>) -> Result<Vec<Prediction>> {
    let block = |(y, prediction): (Vec<f64>, Prediction)| {
        let weights = vec![1.0; y.len()];
        HeldBlock { y, weights, predictions: vec![prediction] }
    };
    let blocks: Vec<HeldBlock> = folds.into_iter().map(block).collect();
    let calibrated = |b: usize| {
        let others: Vec<&HeldBlock> =
            (0..blocks.len()).filter(|o| *o != b).map(|o| &blocks[o]).collect();
        Ok(Mix::learn(&others, &[0], true)?.prediction(&blocks[b].predictions))
    };
    (0..blocks.len()).map(calibrated).collect()
}

/// One prediction, from those of members with their shares.
pub(super) fn combined(
    mut parts: Vec<(Share, Prediction)>,
    shifted: bool,
    curve: Option<&Arc<Calibration>>,
) -> Prediction {
    for (share, p) in &mut parts {
        *p = std::mem::replace(p, Prediction::new(Vec::new(), Vec::new(), &[]))
            .inflated(share.inflation);
    }
    if parts.len() == 1 {
        let only = parts.swap_remove(0).1;
        return only.calibrated(curve.cloned());
    }
    let rows = parts.first().map_or(0, |(_, p)| p.len());
    let mean: Vec<f64> =
        (0..rows).map(|i| parts.iter().map(|(share, p)| share.mean * p.mean[i]).sum()).collect();
    let weighted = parts.into_iter().filter(|(share, _)| share.spread > 0.0);
    let weighted: Vec<_> = weighted.map(|(share, p)| (share.spread, p)).collect();
    let mut mixed = Prediction::mixed(weighted, shifted.then(|| mean.clone()));
    mixed.mean = mean;
    mixed.calibrated(curve.cloned())
}

/// How much each row counts for the weights in the mean. One that all members miss by far counts in
/// proportion to its error, not to the square: a few such rows, as heavy tails have them, must not decide.
fn row_weights(blocks: &[&HeldBlock], among: &[usize]) -> Vec<f64> {
    let sizes_of = |m: usize| -> Vec<f64> {
        let errors = errors_of(blocks, |block| block.predictions[m].mean.clone());
        errors.into_iter().map(f64::abs).collect()
    };
    let mut sizes = sizes_of(among[0]);
    let mut least = sizes.clone();
    for &m in &among[1..] {
        least.iter_mut().zip(sizes_of(m)).for_each(|(least, size)| *least = least.min(size));
    }
    sizes.sort_by(f64::total_cmp);
    let most = MISSED * sizes.get(sizes.len() / 2).copied().unwrap_or(0.0);
    let count = |least: &f64| if *least > most && most > 0.0 { most / least } else { 1.0 };
    let weights = blocks.iter().flat_map(|block| &block.weights);
    weights.zip(&least).map(|(weight, least)| weight * count(least)).collect()
}

/// The errors of some means of each block.
fn errors_of(blocks: &[&HeldBlock], mean: impl Fn(&HeldBlock) -> Vec<f64>) -> Vec<f64> {
    let means = blocks.iter().flat_map(|block| mean(block));
    blocks.iter().flat_map(|block| &block.y).zip(means).map(|(y, mean)| y - mean).collect()
}

/// By how many standard errors squared errors are smaller than others, and by which share of those. Rows
/// far from all others count as less far: one of them must not decide.
fn gain(squares: &[f64], others: &[f64]) -> (f64, f64) {
    let mut gains: Vec<f64> = others.iter().zip(squares).map(|(o, s)| o - s).collect();
    let mut sizes: Vec<f64> = gains.iter().map(|gain| gain.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let most = OUTLYING * sizes.get(sizes.len() / 2).copied().unwrap_or(0.0);
    gains.iter_mut().for_each(|gain| *gain = gain.max(-most).min(most));
    let (n, gain) = (gains.len() as f64, gains.iter().sum::<f64>());
    let spread = gains.iter().map(|g| (g - gain / n).powi(2)).sum::<f64>().sqrt();
    (if spread > 0.0 { gain / spread } else { 0.0 }, gain / others.iter().sum::<f64>())
}

/// κ of a member: the root of the mean squared normal score.
fn inflation(blocks: &[&HeldBlock], member: usize) -> Result<f64> {
    let mut sizes = Vec::new();
    for block in blocks {
        sizes.extend(block.predictions[member].scores(&block.y)?.iter().map(|z| z.abs()));
    }
    sizes.sort_by(f64::total_cmp);
    // One observation far from all others must not widen the predictions of all rows.
    let most = OUTLYING * sizes.get(sizes.len() / 2).copied().unwrap_or(1.0).max(1.0);
    let sum: f64 = sizes.iter().map(|z| z.min(most).powi(2)).sum();
    let factor = ((PRIOR_ROWS + sum) / (PRIOR_ROWS + sizes.len() as f64)).sqrt();
    Ok(if factor.is_nan() { SPREADS.1 } else { factor.clamp(SPREADS.0, SPREADS.1) })
}

/// Divides errors by the largest, so that their squares neither overflow nor underflow.
fn scale_to_one(errors: &mut [Vec<f64>]) {
    let largest = errors.iter().flatten().fold(0.0_f64, |most, e| most.max(e.abs()));
    if largest > 0.0 && largest.is_finite() {
        errors.iter_mut().flatten().for_each(|e| *e /= largest);
    }
}
