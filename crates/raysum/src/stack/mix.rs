//! What is learned from predictions of held-out rows: the spread of each member, mixing weights, and
//! the calibration of quantiles.

use super::candidates::{CONSTANT, RIDGE};
use super::weights;
use crate::error::Result;
use crate::model::{Calibration, Prediction};
use crate::scale::Standard;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Members with smaller mixing weights are left out.
const LEAST_WEIGHT: f64 = 0.02;
/// Rows of the expected spread that are added to those observed: few rows say little about it.
const PRIOR_ROWS: f64 = 2.0;
/// The members that do not bend.
const STRAIGHT: [usize; 2] = [RIDGE, CONSTANT];
/// Standard errors, and the share of the mean squared error, by which a member must be better than a
/// constant for this to be no member.
const NOT_CONSTANT: (f64, f64) = (3.0, 0.1);
/// Standard errors by which a mixture must be better than ridge regression at held-out rows, where it is
/// better by more than this share of the mean squared error, and where it is not.
const CLEAR_GAIN: f64 = 0.01;
const BETTER: (f64, f64) = (1.5, 2.0);
/// How much larger the mean squared error of the distribution's own mean may be.
const AS_GOOD: f64 = 1.002;
/// Standard errors by which ridge regression must be better than a constant to be a trend.
const LINE: f64 = 1.0;
/// Errors of all members that are larger than this, in medians of those of the first member, count less for
/// the weights in the mean.
const MISSED: f64 = 5.0;
/// Standard deviations from the range of the fitted rows from which on a row is far from all others.
const FAR: f64 = 10.0;
/// How far from the target's range, in widths of it, predictions of a member may lie.
const STRAY: f64 = 10.0;
/// Normal scores and gains larger than this, in medians of them, count as this large.
const OUTLYING: f64 = 30.0;
/// The same for the spread of an only member whose target is transformed. Its mean and standard deviation depend
/// on the spread exponentially, and one outlier must not decide on them; its quantiles hardly do, as held-out
/// rows say where they are.
const OUTLYING_TRANSFORMED: f64 = 8.0;
/// Bounds of the factor of a member's standard deviations.
const SPREADS: (f64, f64) = (1e-3, 1e6);

/// A block of held-out rows, with the predictions of every member, which were fitted without it.
pub(super) struct HeldBlock {
    pub(super) y: Vec<f64>,
    /// How much each row counts for the mean.
    pub(super) weights: Vec<f64>,
    /// How far each row is from the range of those that were fitted, in standard deviations.
    pub(super) distances: Vec<f64>,
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
        let mut straight: Vec<usize> = STRAIGHT.to_vec();
        let has_line = straight.iter().all(|m| among.contains(m));
        let is_clearly_better = |m: &usize| {
            let (errors, share) = gain_of(blocks, *m, CONSTANT);
            errors > NOT_CONSTANT.0 && share > NOT_CONSTANT.1
        };
        if has_line && among.iter().any(is_clearly_better) {
            among.retain(|m| *m != CONSTANT);
            straight.retain(|m| *m != CONSTANT);
        }
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
        if has_line && mix.members.len() > 1 && mix.is_a_line(blocks) {
            let line = Self::of_members(blocks, &straight, &row_weights, calibrate)?;
            mix.take_mean_of(&line);
        }
        mix.learn_curve(blocks, calibrate)?;
        Ok(mix)
    }

    /// Whether there is a straight line to be seen, and nothing else: ridge regression is far better than
    /// a constant, and the mixture not clearly better than ridge regression.
    fn is_a_line(&self, blocks: &[&HeldBlock]) -> bool {
        let own = |block: &HeldBlock| self.prediction(&block.predictions).mean;
        let (errors, share) = gain(blocks, own, |block| block.predictions[RIDGE].mean.clone());
        let needed = if share > CLEAR_GAIN { BETTER.0 } else { BETTER.1 };
        gain_of(blocks, RIDGE, CONSTANT).0 > LINE && errors < needed
    }

    /// Makes the mean that of a line; the other members stay in the spread.
    ///
    /// Where ridge regression predicts as well as any mixture, there is nothing but a straight line to
    /// be seen, and beyond the rows it is the straight line that goes on as they do.
    fn take_mean_of(&mut self, line: &Self) {
        self.members.iter_mut().for_each(|(_, share)| share.mean = 0.0);
        for (m, of_line) in &line.members {
            match self.members.iter_mut().find(|(own, _)| own == m) {
                Some((_, share)) => share.mean = of_line.mean,
                None => self.members.push((*m, Share { spread: 0.0, ..*of_line })),
            }
        }
        self.members.sort_by_key(|(m, _)| *m);
        self.members.retain(|(_, share)| share.is_worth_it());
        let (mean, spread) = self.members.iter().fold((0.0, 0.0), |(mean, spread), (_, share)| {
            (mean + share.mean, spread + share.spread)
        });
        for (_, share) in &mut self.members {
            share.mean /= mean;
            share.spread /= spread;
        }
        self.shifted = self.members.len() > 1;
    }

    /// Moves the distribution to the mean, or the mean to that of the distribution, so that they agree. The
    /// distribution stays where its log score is better, and its own mean is as good.
    fn settle_shift(&mut self, blocks: &[&HeldBlock]) -> Result<()> {
        self.shifted = false;
        if self.members.len() < 2 {
            return Ok(());
        }
        let shifted = Self { shifted: true, ..self.clone() };
        let mut own = self.clone();
        own.members.iter_mut().for_each(|(_, share)| share.mean = share.spread);
        let stays = shifted.log_score(blocks)? < own.log_score(blocks)?
            && own.mean_square(blocks) <= AS_GOOD * shifted.mean_square(blocks);
        *self = if stays { own } else { shifted };
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
        let outlying = match among {
            [only] if is_transformed(blocks, *only) => OUTLYING_TRANSFORMED,
            _ => OUTLYING,
        };
        for &m in among {
            let inflation = if calibrate { inflation(blocks, m, outlying)? } else { 1.0 };
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
        let bends: Vec<bool> = among.iter().map(|m| !STRAIGHT.contains(m)).collect();
        let means = if among == STRAIGHT {
            weights::of_two(&errors, row_weights)
        } else {
            weights::of_means(&errors, row_weights, &bends)
        };
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

    /// The mean squared error, in a unit of its own.
    fn mean_square(&self, blocks: &[&HeldBlock]) -> f64 {
        let errors = errors_of(blocks, |block| self.prediction(&block.predictions).mean);
        let weights = blocks.iter().flat_map(|block| &block.weights);
        errors.iter().zip(weights).map(|(error, weight)| weight * error * error).sum()
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
/// that strays, as a bent target can, would spoil mean and standard deviation of the mixture however small
/// its weight. At rows far from all others anything may happen.
fn sound(blocks: &[&HeldBlock], among: &[usize], calibrate: bool) -> Result<Vec<usize>> {
    let all = || blocks.iter().flat_map(|block| &block.y);
    let low = all().copied().fold(f64::INFINITY, f64::min);
    let high = all().copied().fold(f64::NEG_INFINITY, f64::max);
    let reach = STRAY * (high - low);
    if among.len() < 2 || !(reach > 0.0 && reach.is_finite()) {
        return Ok(among.to_vec());
    }
    let is_near = |m: usize| -> Result<bool> {
        let inflation = if calibrate { inflation(blocks, m, OUTLYING)? } else { 1.0 };
        let near = |block: &&HeldBlock| {
            let p = block.predictions[m].clone().inflated(inflation);
            let predicted = p.mean.iter().zip(p.std()).zip(&block.distances);
            let near = predicted.filter(|(_, distance)| **distance <= FAR);
            near.map(|(predicted, _)| predicted)
                .all(|(mean, std)| (low - reach..=high + reach).contains(mean) && std <= reach)
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
    let weights = row_weights(blocks, among);
    let error = |m: usize| -> f64 {
        let errors = errors_of(blocks, |block| block.predictions[m].mean.clone());
        errors.iter().zip(&weights).map(|(error, weight)| weight * error * error).sum()
    };
    let least = among.iter().copied().min_by(|a, b| error(*a).total_cmp(&error(*b)));
    least.unwrap_or_default()
}

/// Calibrates predictions of one model across folds: those of each fold, which it was fitted without,
/// by the errors of the other folds. Every fold has its observations and their predictions.
pub fn cross_calibrated(folds: Vec<(Vec<f64>, Prediction)>) -> Result<Vec<Prediction>> {
    let block = |(y, prediction): (Vec<f64>, Prediction)| {
        let (weights, distances) = (vec![1.0; y.len()], vec![0.0; y.len()]);
        HeldBlock { y, weights, distances, predictions: vec![prediction] }
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
/// Neither must a row far from all others, such as a typo: the largest of its errors counts as a standard
/// deviation of the target.
fn row_weights(blocks: &[&HeldBlock], among: &[usize]) -> Vec<f64> {
    let sizes_of = |m: usize| -> Vec<f64> {
        let errors = errors_of(blocks, |block| block.predictions[m].mean.clone());
        errors.into_iter().map(f64::abs).collect()
    };
    let mut sizes = sizes_of(among[0]);
    let (mut least, mut largest) = (sizes.clone(), sizes.clone());
    for &m in &among[1..] {
        for ((least, largest), size) in least.iter_mut().zip(&mut largest).zip(sizes_of(m)) {
            (*least, *largest) = (least.min(size), largest.max(size));
        }
    }
    sizes.sort_by(f64::total_cmp);
    let most = MISSED * sizes.get(sizes.len() / 2).copied().unwrap_or(0.0);
    let y: Vec<f64> = blocks.iter().flat_map(|block| block.y.clone()).collect();
    let unit = Standard::of(&y).std;
    let counts = |((distance, least), largest): ((&f64, &f64), &f64)| {
        let missed = if *least > most && most > 0.0 { most / least } else { 1.0 };
        let far = if *distance > FAR && *largest > unit { (unit / largest).powi(2) } else { 1.0 };
        missed.min(far)
    };
    let distances = blocks.iter().flat_map(|block| &block.distances);
    let counts = distances.zip(&least).zip(&largest).map(counts);
    let weights = blocks.iter().flat_map(|block| &block.weights);
    weights.zip(counts).map(|(weight, count)| weight * count).collect()
}

/// The errors of some means of each block.
fn errors_of(blocks: &[&HeldBlock], mean: impl Fn(&HeldBlock) -> Vec<f64>) -> Vec<f64> {
    let means = blocks.iter().flat_map(|block| mean(block));
    blocks.iter().flat_map(|block| &block.y).zip(means).map(|(y, mean)| y - mean).collect()
}

/// By how many standard errors the squared errors of some means are smaller than those of others, and by
/// which share of those. Rows far from all others count as less far: one of them must not decide.
fn gain(
    blocks: &[&HeldBlock],
    means: impl Fn(&HeldBlock) -> Vec<f64>,
    others: impl Fn(&HeldBlock) -> Vec<f64>,
) -> (f64, f64) {
    let mut errors = [errors_of(blocks, means), errors_of(blocks, others)];
    scale_to_one(&mut errors);
    let weights = || blocks.iter().flat_map(|block| &block.weights);
    let squares = |errors: &Vec<f64>| -> Vec<f64> {
        errors.iter().zip(weights()).map(|(error, weight)| weight * error * error).collect()
    };
    let [own, others] = errors.each_ref().map(squares);
    let mut gains: Vec<f64> = others.iter().zip(&own).map(|(o, s)| o - s).collect();
    let mut sizes: Vec<f64> = gains.iter().map(|gain| gain.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let most = OUTLYING * sizes.get(sizes.len() / 2).copied().unwrap_or(0.0);
    gains.iter_mut().for_each(|gain| *gain = gain.max(-most).min(most));
    let (n, gain) = (gains.len() as f64, gains.iter().sum::<f64>());
    let spread = gains.iter().map(|g| (g - gain / n).powi(2)).sum::<f64>().sqrt();
    (if spread > 0.0 { gain / spread } else { 0.0 }, gain / others.iter().sum::<f64>())
}

/// The gain of one member over another.
fn gain_of(blocks: &[&HeldBlock], member: usize, other: usize) -> (f64, f64) {
    let mean = |m: usize| move |block: &HeldBlock| block.predictions[m].mean.clone();
    gain(blocks, mean(member), mean(other))
}

/// Whether the predictions of a member are those of a transformed target.
fn is_transformed(blocks: &[&HeldBlock], member: usize) -> bool {
    blocks.iter().any(|block| block.predictions[member].is_transformed())
}

/// κ of a member: the root of the mean squared normal score. One observation far from all others must not
/// widen the predictions of all rows: scores count as `outlying` medians at most.
fn inflation(blocks: &[&HeldBlock], member: usize, outlying: f64) -> Result<f64> {
    let mut sizes = Vec::new();
    for block in blocks {
        sizes.extend(block.predictions[member].scores(&block.y)?.iter().map(|z| z.abs()));
    }
    sizes.sort_by(f64::total_cmp);
    let most = outlying * sizes.get(sizes.len() / 2).copied().unwrap_or(1.0).max(1.0);
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
