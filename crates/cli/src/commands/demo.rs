//! `raysum demo`: fit, score, save, predict, plot and report on a bundled table.

use super::{Voice, fit, report};
use crate::args::{AUTO, DemoArgs};
use crate::picture::{self, Held};
use crate::{baseline, describe, held_out, interrupt, output, splits, style, tables};
use anyhow::{Context, Result};
use raysum::{Effort, Prediction, Scores, Stack, StackFit};
use raysum_table::{CsvOptions, InputPath, TableFile, TrainingOptions, TrainingTable};
use serde_json::json;
use std::path::{Path, PathBuf};

const CARS: &str = include_str!("../../data/cars.csv");
const TARGET: &str = "mpg";
const HOLDOUT: f64 = 0.2;
const LEVEL: f64 = 0.95;

pub(super) fn run(args: &DemoArgs, voice: Voice) -> Result<()> {
    let folder = &args.output;
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let cars = folder.join("cars.csv");
    output::write(&cars, |out| out.write_all(CARS.as_bytes()))?;
    let file = TableFile::open(&InputPath::new(&cars), CsvOptions::default())?;
    let table = tables::simple(&file, &TrainingOptions::default(), TARGET)?;
    let demo = Demo::fit(&table)?;
    let files = demo.write(folder, &table)?;
    if voice.json {
        return output::print_json(&demo.json(&files));
    }
    output::print_line(demo.text(&table, &files).trim_end())
}

/// A model fitted on four fifths of the rows, with its predictions and those of baselines for the
/// rest.
struct Demo {
    stack: Stack,
    truth: Vec<f64>,
    prediction: Prediction,
    scores: Vec<(&'static str, Scores)>,
}

impl Demo {
    fn fit(table: &TrainingTable) -> Result<Self> {
        let split = splits::holdout(table.rows(), HOLDOUT, 0).context("the cars are enough")?;
        let (x, labels) = split.train(table);
        let (x_new, truth) = split.test(table);
        let (y, truth) = (&labels.targets[0], truth.targets[0].clone());
        let groups = table.schema.groups();
        let data = labels.dataset(x, 0..1)?.grouped(&groups)?;
        let mut stack = StackFit::auto(Effort::Normal).run(&data)?.swap_remove(0);
        fit::attach(&mut stack, table, 0)?;
        let prediction = stack.predict(x_new)?;
        let unit = stack.first().target_scale().std;
        let score = |p: &Prediction| -> Result<Scores> {
            Ok(Scores::standardised(&truth, p, unit)?.in_units(unit))
        };
        let scores = vec![
            ("constant", score(&baseline::constant(y, truth.len()))?),
            ("linear", score(&baseline::linear(x, y, x_new)?)?),
            ("raysum", score(&prediction)?),
        ];
        Ok(Self { stack, truth, prediction, scores })
    }

    fn write(&self, folder: &Path, table: &TrainingTable) -> Result<Vec<(PathBuf, &'static str)>> {
        let files = vec![
            (folder.join("cars.csv"), "the table"),
            (folder.join("cars.raysum"), "the model; try: raysum inspect"),
            (folder.join("predictions.csv"), "held-out rows with their 95 % intervals"),
            (folder.join("cars.svg"), "the picture"),
            (folder.join("report.html"), "the report: open it in a browser"),
        ];
        interrupt::whole(|| self.stack.save(&files[1].0))?;
        let (lower, upper) = self.prediction.interval(LEVEL)?;
        let std = self.prediction.std();
        output::write(&files[2].0, |out| -> std::io::Result<()> {
            writeln!(out, "true,mean,std,lower,upper")?;
            for i in 0..self.truth.len() {
                let (t, m) = (self.truth[i], self.prediction.mean[i]);
                writeln!(out, "{t},{m},{},{},{}", std[i], lower[i], upper[i])?;
            }
            Ok(())
        })?;
        let held =
            Held { target: TARGET, truth: &self.truth, prediction: &self.prediction, level: LEVEL };
        let svg = picture::draw(&held, &self.stack)?;
        output::write(&files[3].0, |out| out.write_all(svg.as_bytes()))?;
        let stacks = std::slice::from_ref(&self.stack);
        let commands = report::commands(stacks, &files[1].0, &files[0].0, &files[4].0);
        let page = report::page(stacks, table, &files[0].0.display().to_string(), commands)?;
        report::write(&files[4].0, &page)?;
        Ok(files)
    }

    fn json(&self, files: &[(PathBuf, &str)]) -> serde_json::Value {
        json!({
            "model": AUTO,
            "n": self.stack.rows(),
            "d": self.stack.columns(),
            "members": held_out::members_json(&self.stack),
            "holdout_rows": self.truth.len(),
            "scores": self.scores.iter().map(|(n, s)| (n.to_string(), json!(s))).collect::<serde_json::Map<_, _>>(),
            "files": files.iter().map(|(path, _)| path.display().to_string()).collect::<Vec<_>>(),
        })
    }

    fn text(&self, table: &TrainingTable, files: &[(PathBuf, &str)]) -> String {
        let mut text = format!(
            "Fuel economy of {} cars from {} columns; {} rows held out.\n\n",
            table.rows(),
            table.schema.features.len(),
            self.truth.len()
        );
        let head = ["", "RMSE (mpg)", "NLPD", "inside 95 % interval"];
        let mut rows = vec![head.map(String::from).to_vec()];
        for (name, s) in &self.scores {
            rows.push(vec![
                (*name).to_string(),
                style::number(s.rmse),
                style::number(s.nlpd),
                format!("{:.0} %", 100.0 * s.coverage95),
            ]);
        }
        text += &style::columns(&rows);
        text += "\nWhat the fitted model is mixed from:\n";
        text += &held_out::members(&self.stack);
        text += "\nWhat it goes by:\n";
        text += &describe::relevance(self.stack.first(), &self.stack.relevance(), 6);
        text += "\nWritten:\n";
        let rows: Vec<Vec<String>> = files
            .iter()
            .map(|(path, words)| vec![format!("{}   {words}", path.display())])
            .collect();
        text + &style::columns(&rows)
    }
}
