//! Turns parsed arguments into jobs in which everything is decided: parse → resolve → run.

use crate::args::{
    AUTO, DatesOrder, Decimal, EvaluateArgs, FitArgs, MissingRule, OutputArgs, PredictArgs,
    ReadArgs, Recipe, RowsArgs, SampleArgs, TableArgs, YesNo,
};
use crate::{memory, output, same_file};
use anyhow::{Context, Result, ensure};
use raysum::schema::{DateOrder, DecimalMark};
use raysum::settings::Noise;
use raysum::{Intervals, Labels};
use raysum_table::{
    ColumnChoice, CsvOptions, InputPath, Missing, Notation, OutputFormat, PredictionOptions,
    SchemaOptions, TrainingOptions,
};
use std::path::{Path, PathBuf};

/// A training table.
#[derive(Debug)]
pub(crate) struct TableJob {
    pub(crate) place: InputPath,
    /// The targets, if they are in a separate file.
    pub(crate) y: Option<InputPath>,
    /// The columns of targets, sample weights and known noise, as the user names them.
    pub(crate) labels: Labels<String>,
    pub(crate) csv: CsvOptions,
    pub(crate) options: TrainingOptions,
}

/// A fit.
#[derive(Debug)]
pub(crate) struct FitJob<'a> {
    pub(crate) table: TableJob,
    /// As the user names it.
    pub(crate) model: &'a str,
    pub(crate) recipe: Recipe,
    pub(crate) seed: u64,
    pub(crate) output: Option<&'a Path>,
    pub(crate) checkpoint: Option<&'a Path>,
    pub(crate) held_out: bool,
    pub(crate) intervals: Intervals,
    pub(crate) shared: bool,
}

/// A cross-validation.
#[derive(Debug)]
pub(crate) struct EvaluateJob<'a> {
    pub(crate) table: TableJob,
    pub(crate) models: Vec<(&'a str, Recipe)>,
    pub(crate) seed: u64,
    pub(crate) intervals: Intervals,
    pub(crate) folds: usize,
    pub(crate) repeats: u32,
}

/// Rows to predict or sample with a saved model.
#[derive(Debug)]
pub(crate) struct AnswerJob<'a> {
    pub(crate) model: &'a Path,
    pub(crate) place: InputPath,
    pub(crate) csv: CsvOptions,
    pub(crate) options: PredictionOptions,
    pub(crate) output: &'a Path,
    pub(crate) format: OutputFormat,
}

/// More rows of the kind a saved model was fitted on.
#[derive(Debug)]
pub(crate) struct RowsJob<'a> {
    pub(crate) model: &'a Path,
    pub(crate) place: InputPath,
    pub(crate) y: Option<InputPath>,
    pub(crate) csv: CsvOptions,
    pub(crate) missing: Missing,
}

impl ReadArgs {
    fn csv(&self) -> CsvOptions {
        CsvOptions { header: self.header.map(YesNo::is_yes), notation: self.notation() }
    }

    fn notation(&self) -> Notation {
        Notation {
            decimal: self.decimal.map(|decimal| match decimal {
                Decimal::Comma => DecimalMark::Comma,
                Decimal::Point => DecimalMark::Point,
            }),
            dates: self.dates.map(|order| match order {
                DatesOrder::DayFirst => DateOrder::DayFirst,
                DatesOrder::MonthFirst => DateOrder::MonthFirst,
            }),
        }
    }

    fn missing(&self) -> Missing {
        match self.missing {
            MissingRule::Error => Missing::Error,
            MissingRule::Drop => Missing::Drop,
            MissingRule::Mean => Missing::Mean,
            MissingRule::Indicate => Missing::Indicate,
        }
    }
}

impl TableArgs {
    /// The files that the table is read from.
    fn files(&self) -> impl Iterator<Item = &Path> {
        [Some(&self.data), self.y.as_ref()].into_iter().flatten().map(PathBuf::as_path)
    }

    fn resolve(&self) -> TableJob {
        TableJob {
            place: InputPath::new(&self.data),
            y: self.y.as_ref().map(InputPath::new),
            labels: Labels {
                targets: self.target.iter().cloned().collect(),
                sample_weights: self.weights.clone(),
                noise: self.noise_std.clone(),
            },
            csv: self.reading.csv(),
            options: TrainingOptions {
                schema: SchemaOptions {
                    choice: ColumnChoice { columns: self.columns.clone(), drop: self.drop.clone() },
                    missing: self.reading.missing(),
                    categories: self.categories,
                },
                notation: self.reading.notation(),
                room: self.memory.unwrap_or_else(memory::half_of_free),
                ..TrainingOptions::default()
            },
        }
    }
}

impl FitArgs {
    pub(crate) fn resolve(&self) -> Result<FitJob<'_>> {
        let recipe = self.settings.recipe(&self.model, self.effort)?;
        let auto = matches!(recipe, Recipe::Auto(_));
        ensure!(
            !(auto && self.shared),
            "--model auto fits each target by itself; leave --shared out"
        );
        let varies = matches!(&recipe, Recipe::One(config) if config.noise == Noise::Columns);
        ensure!(
            !(varies && self.shared),
            "--noise columns fits the noise of each target by itself; leave --shared out"
        );
        ensure!(
            !auto || self.held_out.is_yes(),
            "--model auto chooses by held-out rows; leave --held-out out, or name a model"
        );
        ensure!(
            self.held_out.is_yes() || self.intervals != Some(Intervals::Calibrated),
            "intervals are calibrated by held-out rows; leave out either --held-out no or \
             --intervals calibrated"
        );
        let (output, checkpoint) = (self.output.as_deref(), self.checkpoint.as_deref());
        if let Some(path) = output {
            output::check(path, self.table.files())?;
        }
        if let Some(checkpoint) = checkpoint {
            output::check_inputs(checkpoint, self.table.files())?;
            let same = output.is_some_and(|output| same_file::same(output, checkpoint));
            let shown = checkpoint.display();
            ensure!(!same, "{shown}: the checkpoint and the model must be different files");
        }
        Ok(FitJob {
            table: self.table.resolve(),
            model: &self.model,
            recipe,
            seed: self.settings.seed,
            output,
            checkpoint,
            held_out: self.held_out.is_yes(),
            intervals: self.intervals.unwrap_or_default(),
            shared: self.shared,
        })
    }
}

impl EvaluateArgs {
    pub(crate) fn resolve(&self) -> Result<EvaluateJob<'_>> {
        // Of several models the message has to say which.
        let names: Vec<&String> = self.model.iter().flat_map(|list| &list.0).collect();
        let several = names.len() > 1;
        let recipe = |name: &String| {
            // Among several models the effort is that of auto.
            let effort = self.effort.filter(|_| !several || name == AUTO);
            let recipe = self.settings.recipe(name, effort);
            if several { recipe.context(name.clone()) } else { recipe }
        };
        let models: Result<Vec<(&str, Recipe)>> =
            names.into_iter().map(|name| Ok((name.as_str(), recipe(name)?))).collect();
        Ok(EvaluateJob {
            models: models?,
            seed: self.settings.seed,
            intervals: self.intervals,
            table: self.table.resolve(),
            folds: self.folds as usize,
            repeats: self.repeats,
        })
    }
}

impl PredictArgs {
    pub(crate) fn resolve(&self, json: bool) -> Result<AnswerJob<'_>> {
        answers(&self.model, &self.data, &self.reading, &self.output, json)
    }
}

impl SampleArgs {
    pub(crate) fn resolve(&self, json: bool) -> Result<AnswerJob<'_>> {
        answers(&self.model, &self.data, &self.reading, &self.output, json)
    }
}

fn answers<'a>(
    model: &'a Path,
    data: &Path,
    reading: &ReadArgs,
    to: &'a OutputArgs,
    json: bool,
) -> Result<AnswerJob<'a>> {
    output::check(&to.output, [model, data])?;
    let usual = if json { OutputFormat::JSON_LINES } else { OutputFormat::CSV };
    let format = OutputFormat::of(&to.output)?.unwrap_or(usual);
    Ok(AnswerJob {
        model,
        place: InputPath::new(data),
        csv: reading.csv(),
        options: PredictionOptions {
            missing: reading.missing(),
            notation: reading.notation(),
            keep: to.keep.clone(),
        },
        output: &to.output,
        format,
    })
}

impl RowsArgs {
    pub(crate) fn resolve(&self) -> RowsJob<'_> {
        let y: Option<&PathBuf> = self.y.as_ref();
        RowsJob {
            model: &self.model,
            place: InputPath::new(&self.data),
            y: y.map(InputPath::new),
            csv: self.reading.csv(),
            missing: self.reading.missing(),
        }
    }
}
