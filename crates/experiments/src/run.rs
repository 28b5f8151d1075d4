//! Runs experiments in a folder and reports on them.
//!
//! An experiment makes jobs (`pool`), each a fit whose record is added to a CSV file when it ends
//! (`journal`). The page and the figures are made from those files alone, so that a killed run can
//! be continued, and the page shows every experiment in the folder.

use crate::args::{Experiment, FoldsArgs, RunArgs};
use crate::journal::{Journal, Results};
use crate::page::{self, Section};
use crate::pool::{self, Job};
use crate::sets::Folder;
use crate::task::CrossValidation;
use crate::{faces, kernels, peptides, projections, scaling, settings, synthetic, uci};
use anyhow::{Context, Result};
use raysum_cli::output;
use raysum_cli::program::Voice;
use std::path::{Path, PathBuf};

/// The run that an experiment is part of.
pub(crate) struct Run {
    pub(crate) output: PathBuf,
    pub(crate) quick: bool,
    pub(crate) seed: u64,
    data: Option<Folder>,
    pub(crate) voice: Voice,
    /// The lock on the folder, held during the run.
    _alone: std::fs::File,
}

impl Run {
    fn new(args: &RunArgs, data: Option<&Path>, voice: Voice) -> Result<Self> {
        let RunArgs { output, quick, seed } = args.clone();
        let data = data.map(Folder::new).transpose()?;
        std::fs::create_dir_all(&output)
            .with_context(|| format!("cannot make the folder {}", output.display()))?;
        let alone = settings::lock(&output)?;
        settings::agree(&output, "seed", seed)?;
        settings::agree(&output, "quick", quick)?;
        settings::agree(&output, "version", env!("CARGO_PKG_VERSION"))?;
        Ok(Self { output, quick, seed, data, voice, _alone: alone })
    }

    /// The folder with the data.
    pub(crate) fn data(&self) -> Result<&Folder> {
        self.data.as_ref().context("which folder holds the data? Give --data")
    }

    /// The cross-validation of an experiment with this default number of repeats.
    fn folds(&self, name: &str, args: Option<FoldsArgs>, repeats: u32) -> Result<CrossValidation> {
        let (folds, usual) = if self.quick { (3, 1) } else { (10, repeats) };
        let given = args.unwrap_or(FoldsArgs { folds: None, repeats: None });
        let folds = given.folds.unwrap_or(folds);
        settings::agree(&self.output, &format!("folds of {name}"), folds)?;
        let repeats = given.repeats.unwrap_or(usual);
        Ok(CrossValidation { folds, repeats, run: folds, seed: self.seed })
    }

    /// Runs the remaining jobs of an experiment.
    fn fits(&self, name: &str, jobs: Vec<Job<'_>>) -> Result<()> {
        let mut journal = Journal::open(&self.output, name)?;
        pool::run(name, jobs, &mut journal, self.voice)?;
        journal.finish().map(drop)
    }

    fn uci(&self, wanted: &uci::Wanted, folds: Option<FoldsArgs>) -> Result<()> {
        let folds = self.folds(uci::NAME, folds, 2)?;
        self.fits(uci::NAME, uci::jobs(self, wanted, folds)?)
    }

    fn projections(&self, sets: &[String], folds: Option<FoldsArgs>) -> Result<()> {
        let folds = self.folds(projections::NAME, folds, 2)?;
        self.fits(projections::NAME, projections::jobs(self, sets, folds)?)
    }

    fn peptides(&self, folds: Option<FoldsArgs>) -> Result<()> {
        let folds = self.folds(peptides::NAME, folds, 1)?;
        self.fits(peptides::NAME, peptides::jobs(self, folds)?)
    }

    fn synthetic(&self) -> Result<()> {
        self.fits(synthetic::NAME, synthetic::jobs(self)?)
    }

    fn faces(&self) -> Result<()> {
        self.fits(faces::NAME, faces::jobs(self)?)
    }

    fn all(&self) -> Result<()> {
        kernels::run(self)?;
        scaling::run(self)?;
        self.synthetic()?;
        if self.data.is_none() {
            let note = "without --data there are no uci, projections, faces and peptides";
            self.voice.note(note);
            return Ok(());
        }
        self.peptides(None)?;
        self.faces()?;
        self.projections(&[], None)?;
        let wanted = uci::Wanted { larger: !self.quick, ..uci::Wanted::default() };
        self.uci(&wanted, None)
    }

    /// The sections of all experiments in the folder.
    fn sections(&self) -> Result<Vec<Section>> {
        let mut sections = Vec::new();
        let mut fits = |name: &str, make: fn(&Results) -> Result<Section>| -> Result<()> {
            if self.holds(name) {
                sections.push(make(&Journal::open(&self.output, name)?.finish()?)?);
            }
            Ok(())
        };
        fits(uci::NAME, uci::section)?;
        fits(projections::NAME, projections::section)?;
        fits(synthetic::NAME, synthetic::section)?;
        fits(faces::NAME, faces::section)?;
        fits(peptides::NAME, peptides::section)?;
        if self.holds(scaling::NAME) {
            sections.push(scaling::section(&self.output)?);
        }
        if self.holds(kernels::NAME) {
            sections.push(kernels::section(&self.output, self.seed)?);
        }
        Ok(sections)
    }

    fn holds(&self, name: &str) -> bool {
        self.output.join(format!("{name}.csv")).is_file()
    }

    /// Writes the figures and the page, and prints the findings of one experiment, or of all.
    fn report(&self, name: Option<&str>) -> Result<()> {
        let sections = self.sections()?;
        let write = |name: &str, text: &str| {
            output::write(&self.output.join(name), |out| out.write_all(text.as_bytes()))
        };
        for figure in sections.iter().flat_map(|s| &s.figures) {
            write(&figure.file, &figure.svg)?;
        }
        if self.holds(uci::NAME) {
            let results = Journal::open(&self.output, uci::NAME)?.finish()?;
            write("uci-summary.csv", &uci::summary(&results)?)?;
        }
        write("index.html", &page::html(&settings::words(&self.output)?, &sections))?;
        for section in sections.iter().filter(|s| name.is_none_or(|name| s.id == name)) {
            if self.voice.json {
                let line = serde_json::json!({ "experiment": section.id, "found": section.found });
                output::print_json(&line)?;
            } else {
                output::print_line(section.title)?;
                section.found.iter().try_for_each(|s| output::print_line(&format!("  {s}")))?;
            }
        }
        if !self.voice.json {
            let page = self.output.join("index.html");
            output::print_line(&format!("the page: {}", page.display()))?;
        }
        Ok(())
    }
}

/// Runs one experiment or all, and writes the page.
pub(crate) fn run(experiment: &Experiment, voice: Voice) -> Result<()> {
    let start = |args: &RunArgs, data: Option<&Path>| Run::new(args, data, voice);
    match experiment {
        Experiment::Uci(args) => {
            let run = start(&args.data.run, Some(&args.data.data))?;
            let (sets, models) = (args.sets.clone(), args.models.clone());
            run.uci(&uci::Wanted { sets, models, larger: args.larger }, Some(args.folds))?;
            run.report(Some(uci::NAME))
        }
        Experiment::Projections(args) => {
            let run = start(&args.data.run, Some(&args.data.data))?;
            run.projections(&args.sets, Some(args.folds))?;
            run.report(Some(projections::NAME))
        }
        Experiment::Synthetic(args) => {
            let run = start(args, None)?;
            run.synthetic()?;
            run.report(Some(synthetic::NAME))
        }
        Experiment::Faces(args) => {
            let run = start(&args.run, Some(&args.data))?;
            run.faces()?;
            run.report(Some(faces::NAME))
        }
        Experiment::Peptides(args) => {
            let run = start(&args.data.run, Some(&args.data.data))?;
            run.peptides(Some(args.folds))?;
            run.report(Some(peptides::NAME))
        }
        Experiment::Scaling(args) => {
            let run = start(args, None)?;
            scaling::run(&run)?;
            run.report(Some(scaling::NAME))
        }
        Experiment::Kernels(args) => {
            let run = start(args, None)?;
            kernels::run(&run)?;
            run.report(Some(kernels::NAME))
        }
        Experiment::All(args) => {
            let run = start(&args.run, args.data.as_deref())?;
            run.all()?;
            run.report(None)
        }
    }
}
