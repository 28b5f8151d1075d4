//! `raysum predict`: one line of mean, std, lower, upper per row of the table, for each target.

use super::{Voice, fit};
use crate::args::PredictArgs;
use crate::{describe, output, source};
use anyhow::{Context, Result};
use raysum::{Model, Prediction};
use serde_json::{Map, Value};
use std::io::{self, Write};

/// What is said of each row and target.
const COLUMNS: [&str; 4] = ["mean", "std", "lower", "upper"];

pub(super) fn run(args: &PredictArgs, voice: Voice) -> Result<()> {
    output::check(&args.output)?;
    let models = Model::load_all(&args.model)?;
    let first = models.first().context("the model file holds no model")?;
    let table = source::new_rows(&args.data, &args.reading, first)?;
    voice.notes(&table.notes);
    let mut lines = Lines { names: Vec::new(), rows: vec![None; table.rows] };
    for model in &models {
        let prediction = fit::predict(model, &table.x, table.noise_std.as_deref())?;
        let target = describe::target(model).filter(|_| models.len() > 1);
        lines.add(target, &prediction, args.level, &table.kept)?;
    }
    output::write(&args.output, |out| if voice.json { lines.json(out) } else { lines.csv(out) })
}

/// Predictions in the order of the table; rows that were left out stay empty, so that line k of
/// the output always belongs to row k of the input.
struct Lines {
    names: Vec<String>,
    rows: Vec<Option<Vec<f64>>>,
}

impl Lines {
    /// Adds columns with the predictions for the rows `kept`.
    fn add(
        &mut self,
        target: Option<&str>,
        p: &Prediction,
        level: f64,
        kept: &[usize],
    ) -> Result<()> {
        let (lower, upper) = p.interval(level)?;
        let std = p.std();
        let name = |what| target.map_or(String::from(what), |target| format!("{target}_{what}"));
        self.names.extend(COLUMNS.map(name));
        for (i, &row) in kept.iter().enumerate() {
            let line = self.rows[row].get_or_insert_default();
            line.extend([p.mean[i], std[i], lower[i], upper[i]]);
        }
        Ok(())
    }

    fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let quoted = |name: &String| {
            let plain = !name.contains([',', '"', '\n', '\r']);
            if plain { name.clone() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
        };
        writeln!(out, "{}", self.names.iter().map(quoted).collect::<Vec<_>>().join(","))?;
        for line in &self.rows {
            match line {
                Some(values) => {
                    let values: Vec<String> = values.iter().map(|v| format!("{v:?}")).collect();
                    writeln!(out, "{}", values.join(","))?;
                }
                None => writeln!(out, "{}", ",".repeat(self.names.len().saturating_sub(1)))?,
            }
        }
        Ok(())
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        for line in &self.rows {
            let value = |k: usize| line.as_ref().map_or(Value::Null, |values| values[k].into());
            let pairs = self.names.iter().enumerate().map(|(k, name)| (name.clone(), value(k)));
            writeln!(out, "{}", Value::Object(pairs.collect::<Map<_, _>>()))?;
        }
        Ok(())
    }
}
