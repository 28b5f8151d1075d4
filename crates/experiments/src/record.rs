//! The result of one fit, and its line in a CSV file.

use anyhow::{Context, Result, ensure};
use raysum::Scores;

/// The scores that a line has, in standard deviations of the target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordScores {
    pub(crate) rmse: f64,
    pub(crate) nlpd: f64,
    pub(crate) coverage95: f64,
    pub(crate) crps: f64,
}

impl From<Scores> for RecordScores {
    fn from(all: Scores) -> Self {
        let Scores { rmse, nlpd, coverage95, crps, .. } = all;
        Self { rmse, nlpd, coverage95, crps }
    }
}

/// The columns of a result, in the order of its line.
pub(crate) const HEADER: &str = "set,rows,columns,model,j,repeat,fold,rmse,nlpd,coverage95,crps,\
                                 log_marginal_likelihood,noise_std,evaluations,engine";

/// The key that identifies a fit within its experiment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) set: String,
    /// Rows of the data set, or of the training sample where the test rows are extra.
    pub(crate) rows: usize,
    pub(crate) model: String,
    /// The number of sub-kernels J.
    pub(crate) j: usize,
    pub(crate) repeat: u32,
    pub(crate) fold: u32,
}

/// The result of a fit. Its time is not included: the same seed gives the same records.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) key: Key,
    pub(crate) columns: usize,
    /// In units of the training rows' standard deviation.
    pub(crate) scores: RecordScores,
    pub(crate) log_marginal_likelihood: f64,
    /// In the same units.
    pub(crate) noise_std: f64,
    pub(crate) evaluations: usize,
    pub(crate) engine: String,
}

impl Record {
    /// The line, without its terminator.
    pub(crate) fn line(&self) -> String {
        let Key { set, rows, model, j, repeat, fold } = &self.key;
        let RecordScores { rmse, nlpd, coverage95, crps } = self.scores;
        let (columns, likelihood, noise) =
            (self.columns, self.log_marginal_likelihood, self.noise_std);
        format!(
            "{set},{rows},{columns},{model},{j},{repeat},{fold},{rmse},{nlpd},{coverage95},{crps},\
             {likelihood},{noise},{},{}",
            self.evaluations, self.engine
        )
    }

    /// Reads a line back.
    pub(crate) fn parse(line: &str) -> Result<Self> {
        let cells: Vec<&str> = line.split(',').collect();
        ensure!(cells.len() == HEADER.split(',').count(), "{} cells", cells.len());
        let number = |k: usize| -> Result<f64> {
            cells[k].parse().with_context(|| format!("'{}' is not a number", cells[k]))
        };
        let count = |k: usize| -> Result<usize> {
            cells[k].parse().with_context(|| format!("'{}' is not a count", cells[k]))
        };
        let key = Key {
            set: cells[0].into(),
            rows: count(1)?,
            model: cells[3].into(),
            j: count(4)?,
            repeat: u32::try_from(count(5)?)?,
            fold: u32::try_from(count(6)?)?,
        };
        let scores = RecordScores {
            rmse: number(7)?,
            nlpd: number(8)?,
            coverage95: number(9)?,
            crps: number(10)?,
        };
        Ok(Self {
            key,
            columns: count(2)?,
            scores,
            log_marginal_likelihood: number(11)?,
            noise_std: number(12)?,
            evaluations: count(13)?,
            engine: cells[14].into(),
        })
    }
}

#[cfg(test)]
pub(crate) fn example(set: &str, model: &str, fold: u32, rmse: f64) -> Record {
    let key = Key { set: set.into(), rows: 50, model: model.into(), j: 20, repeat: 0, fold };
    let scores = RecordScores { rmse, nlpd: 0.1, coverage95: 0.95, crps: 0.2 };
    let engine = "dense".into();
    Record {
        key,
        columns: 4,
        scores,
        log_marginal_likelihood: -7.5,
        noise_std: 0.3,
        evaluations: 41,
        engine,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_read_back_as_they_were_written() {
        let record = example("yacht", "dpa-ard", 3, 0.1 + 0.2);
        let again = Record::parse(&record.line()).unwrap();
        assert_eq!(again.line(), record.line());
        assert_eq!(again.key, record.key);
        assert_eq!(again.scores.rmse, 0.1 + 0.2);
    }

    #[test]
    fn torn_lines_are_refused() {
        let line = example("yacht", "dpa-ard", 3, 0.5).line();
        for end in [0, 5, line.len() / 2, line.len() - 8] {
            assert!(Record::parse(&line[..end]).is_err(), "{}", &line[..end]);
        }
    }
}
