//! Progress of a fit: a bar on a terminal, a plain line now and then elsewhere, or nothing.

use crate::commands::Voice;
use crate::{output, style};
use indicatif::{ProgressBar, ProgressStyle};
use raysum::Progress;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// How often a plain line is written.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Shows how a job goes on, on standard error.
pub(crate) struct Reporter {
    surface: Surface,
    stage: Stage,
}

enum Surface {
    /// Nothing.
    Quiet,
    /// A bar that is redrawn.
    Bar(ProgressBar),
    /// Lines.
    Lines { label: String, every: Duration, started: Instant, last: Instant },
}

/// The clock of one stage of a search: what an evaluation on its rows takes.
#[derive(Default)]
struct Stage {
    rows: usize,
    start: u32,
    /// When the stage's first evaluation was done.
    since: Option<Instant>,
}

impl Stage {
    /// Seconds that are left, or nothing while one evaluation is all there is to go by.
    fn left(&mut self, p: &Progress) -> Option<f64> {
        if self.since.is_none() || (self.rows, self.start) != (p.rows, p.start) {
            *self = Self { rows: p.rows, start: p.start, since: Some(Instant::now()) };
            return None;
        }
        let each = self.since?.elapsed().as_secs_f64() / (p.evaluations - 1).max(1) as f64;
        let usual = expected(p);
        let other_starts = f64::from(p.starts - p.start - 1) * usual as f64;
        Some(each * ((usual - p.evaluations) as f64 + other_starts + p.later))
    }
}

/// How many evaluations a search usually takes: a third of a generous limit, or all of a tight one.
fn expected(p: &Progress) -> usize {
    let usual = if p.limit > 30 { p.limit / 3 } else { p.limit };
    usual.max(p.evaluations + p.evaluations / 4).min(p.limit.max(p.evaluations))
}

impl Reporter {
    /// A reporter for a job with this name.
    pub(crate) fn new(label: &str, voice: Voice) -> Self {
        Self { surface: Self::surface(label, voice), stage: Stage::default() }
    }

    fn surface(label: &str, voice: Voice) -> Surface {
        let silent = voice.quiet || voice.json;
        if voice.verbose || !(silent || std::io::stderr().is_terminal()) {
            let started = Instant::now();
            let every = if voice.verbose { Duration::ZERO } else { LINE_EVERY };
            return Surface::Lines { label: label.into(), every, started, last: started };
        }
        if silent {
            return Surface::Quiet;
        }
        let bar = ProgressBar::new(1);
        // The template is a constant; were it wrong, the default bar would do.
        if let Ok(style) = ProgressStyle::with_template("{prefix} {bar:24} {msg}") {
            bar.set_style(style);
        }
        bar.set_prefix(label.to_string());
        Surface::Bar(bar)
    }

    /// After an evaluation of a fit.
    pub(crate) fn evaluation(&mut self, p: &Progress) {
        let left = self.stage.left(p);
        let text = |_: Duration| {
            let start = if p.starts > 1 {
                format!("start {} of {}, ", p.start + 1, p.starts)
            } else {
                String::new()
            };
            let objective = style::number(p.objective);
            let left =
                left.map_or(String::new(), |s| format!(", about {} left", style::seconds(s)));
            format!(
                "{} rows, {start}evaluation {}, objective {objective}{left}",
                p.rows, p.evaluations
            )
        };
        self.show(p.evaluations as u64, expected(p) as u64, text);
    }

    /// After `done` of `all` equal parts of a job.
    pub(crate) fn part(&mut self, done: usize, all: usize) {
        let text = |elapsed: Duration| {
            let left = elapsed.as_secs_f64() / done.max(1) as f64 * (all - done) as f64;
            format!("{done} of {all}, about {} left", style::seconds(left))
        };
        self.show(done as u64, all as u64, text);
    }

    /// After this share of a long job, the last of it some part of a whole.
    pub(crate) fn share(&mut self, share: f64, part: &str) {
        let text = |elapsed: Duration| {
            let left = elapsed.as_secs_f64() * (1.0 / share.max(1e-9) - 1.0);
            format!("{:.0} %, {part}, about {} left", 100.0 * share, style::seconds(left))
        };
        self.show((1000.0 * share) as u64, 1000, text);
    }

    /// Shows how far the job is; the words are only made if they are to be seen.
    fn show(&mut self, position: u64, length: u64, text: impl Fn(Duration) -> String) {
        match &mut self.surface {
            Surface::Quiet => {}
            Surface::Bar(bar) => {
                bar.set_length(length);
                bar.set_position(position);
                bar.set_message(text(bar.elapsed()));
            }
            Surface::Lines { label, every, started, last } => {
                if last.elapsed() >= *every {
                    *last = Instant::now();
                    output::say(&format!("{label}: {}", text(started.elapsed())));
                }
            }
        }
    }

    /// The job is done.
    pub(crate) fn finish(self) {
        if let Surface::Bar(bar) = self.surface {
            bar.finish_and_clear();
        }
    }
}
