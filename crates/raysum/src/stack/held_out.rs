//! What held-out rows show: mixing weights, calibration, and scores beside simple predictions.

use super::folds::{self, Folds};
use super::job::{Eligible, Fitted, StackJob};
use super::mix::{self, HeldBlock, Mix};
use super::{Diagnostics, HeldOut, Tried};
use crate::error::{Error, Result};
use crate::model::{Prediction, Scores};
use crate::scale::Standard;

impl StackJob<'_, '_, '_> {
    /// What the held-out rows show about target k.
    pub(super) fn learn(
        &self,
        folds: &Folds,
        fitted: &[Option<Vec<Fitted>>],
        members: &[usize],
        k: usize,
    ) -> Result<(Mix, HeldOut)> {
        let y = self.data.targets()[k];
        let unit = Standard::of(y).std;
        let unit = if unit > 0.0 { unit } else { 1.0 };
        let nothing = || Prediction::new(Vec::new(), Vec::new(), &[]);
        let mut blocks = Vec::new();
        for (b, rows) in folds.blocks.iter().enumerate() {
            let labels = folds::labels(self.data, rows);
            let (fit, block) = if folds.are_all() { (b, 0) } else { (0, b) };
            let of = |fits: &Vec<Fitted>| fits[fit].blocks[block][k].clone();
            let any = fitted.iter().flatten().next().ok_or(Error::NoTargets)?;
            blocks.push(HeldBlock {
                y: labels.targets[k].clone(),
                weights: folds.weights[b].clone(),
                distances: any[fit].distances[block].clone(),
                predictions: fitted.iter().map(|f| f.as_ref().map_or_else(nothing, of)).collect(),
            });
        }
        let all: Vec<&HeldBlock> = blocks.iter().collect();
        let best = [mix::least_error(&all, members)];
        let members = if self.eligible == Eligible::Best { &best } else { members };
        let mix = Mix::learn(&all, members, self.calibrate)?;
        // Each block is predicted by what the others say, so that scores are those of new rows.
        let crossed = |among: &[usize]| -> Result<Vec<Prediction>> {
            let predict = |b: usize| {
                let others: Vec<&HeldBlock> =
                    (0..blocks.len()).filter(|o| *o != b).map(|o| &blocks[o]).collect();
                let mix = Mix::learn(&others, among, self.calibrate)?;
                Ok(mix.prediction(&blocks[b].predictions))
            };
            (0..blocks.len()).map(predict).collect()
        };
        let score = |predictions: &[Prediction]| -> Result<Option<Scores>> {
            let mut parts = Vec::new();
            for (block, p) in blocks.iter().zip(predictions) {
                parts.push((block.y.len(), Scores::standardised(&block.y, p, unit)?));
            }
            Ok(Scores::joined(&parts))
        };
        let predictions = crossed(members)?;
        let scores = score(&predictions)?;
        let parts: Vec<(&[f64], &Prediction)> =
            blocks.iter().zip(&predictions).map(|(b, p)| (b.y.as_slice(), p)).collect();
        let diagnostics = Some(Diagnostics::of(&parts)?);
        let mut tried = Vec::new();
        for (c, candidate) in self.candidates.iter().enumerate() {
            let scores = fitted[c].as_ref().map(|_| score(&crossed(&[c])?)).transpose()?;
            let seconds = fitted[c].iter().flatten().map(|fit| fit.seconds).sum();
            tried.push(Tried { name: candidate.name.clone(), scores: scores.flatten(), seconds });
        }
        let constant = self.constant(folds, k, unit)?;
        let ridge = tried[0].scores;
        let rows = blocks.iter().map(|block| block.y.len()).sum();
        let scores = scores.ok_or(Error::NoTargets)?;
        let folds = folds.fits.len();
        Ok((mix, HeldOut { rows, folds, unit, scores, constant, ridge, tried, diagnostics }))
    }

    /// The scores of a constant: mean and standard deviation of the rows that are not held out.
    fn constant(&self, folds: &Folds, k: usize, unit: f64) -> Result<Scores> {
        let y = self.data.targets()[k];
        let mut parts = Vec::new();
        for (b, rows) in folds.blocks.iter().enumerate() {
            let fit = if folds.are_all() { b } else { 0 };
            let known: Vec<f64> = folds.fits[fit].iter().map(|&i| y[i]).collect();
            let Standard { mean, std, .. } = Standard::of(&known);
            let std = if std > 0.0 { std } else { unit };
            let n = rows.len();
            let p = Prediction::new(vec![mean; n], vec![std; n], &vec![0.0; n]);
            let truth: Vec<f64> = rows.iter().map(|&i| y[i]).collect();
            parts.push((n, Scores::standardised(&truth, &p, unit)?));
        }
        Scores::joined(&parts).ok_or(Error::NoTargets)
    }
}
