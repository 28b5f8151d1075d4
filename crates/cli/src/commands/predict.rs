//! `raysum predict`: one line of mean, std, lower, upper per row of the table.

use super::Voice;
use crate::args::PredictArgs;
use crate::{output, source};
use anyhow::Result;
use raysum::{Model, Prediction};
use serde_json::json;
use std::io::{self, Write};

pub(super) fn run(args: &PredictArgs, voice: Voice) -> Result<()> {
    output::check(&args.output)?;
    let model = Model::load(&args.model)?;
    let table = source::new_rows(&args.data, &args.reading, &model)?;
    voice.notes(&table.notes);
    let prediction = model.predict(&table.x)?;
    let lines = Lines::new(&prediction, args.level, table.rows, &table.kept)?;
    output::write(&args.output, |out| if voice.json { lines.json(out) } else { lines.csv(out) })
}

/// Predictions in the order of the table; rows that were left out stay empty, so that line k of
/// the output always belongs to row k of the input.
struct Lines {
    rows: Vec<Option<[f64; 4]>>,
}

impl Lines {
    /// Spreads predictions for the rows `kept` over `rows` lines.
    fn new(p: &Prediction, level: f64, rows: usize, kept: &[usize]) -> Result<Self> {
        let (lower, upper) = p.interval(level)?;
        let std = p.std();
        let mut lines = vec![None; rows];
        for (i, &row) in kept.iter().enumerate() {
            lines[row] = Some([p.mean[i], std[i], lower[i], upper[i]]);
        }
        Ok(Self { rows: lines })
    }

    fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "mean,std,lower,upper")?;
        for line in &self.rows {
            match line {
                Some([mean, std, lower, upper]) => {
                    writeln!(out, "{mean:?},{std:?},{lower:?},{upper:?}")?;
                }
                None => writeln!(out, ",,,")?,
            }
        }
        Ok(())
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        for line in &self.rows {
            let value = match line {
                Some([mean, std, lower, upper]) => {
                    json!({"mean": mean, "std": std, "lower": lower, "upper": upper})
                }
                None => json!({"mean": null, "std": null, "lower": null, "upper": null}),
            };
            writeln!(out, "{value}")?;
        }
        Ok(())
    }
}
