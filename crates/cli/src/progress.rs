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
pub(crate) enum Reporter {
    /// Nothing.
    Quiet,
    /// A bar that is redrawn.
    Bar(ProgressBar),
    /// Lines.
    Lines { label: String, every: Duration, started: Instant, last: Instant },
}

impl Reporter {
    /// A reporter for a job with this name.
    pub(crate) fn new(label: &str, voice: Voice) -> Self {
        let silent = voice.quiet || voice.json;
        if voice.verbose || !(silent || std::io::stderr().is_terminal()) {
            let started = Instant::now();
            let every = if voice.verbose { Duration::ZERO } else { LINE_EVERY };
            return Self::Lines { label: label.into(), every, started, last: started };
        }
        if silent {
            return Self::Quiet;
        }
        let bar = ProgressBar::new(1);
        // The template is a constant; were it wrong, the default bar would do.
        if let Ok(style) = ProgressStyle::with_template("{prefix} {bar:24} {msg}") {
            bar.set_style(style);
        }
        bar.set_prefix(label.to_string());
        Self::Bar(bar)
    }

    /// After an evaluation of a fit.
    pub(crate) fn evaluation(&mut self, p: &Progress) {
        // A search rarely takes a third of its limit, so the bar counts in that.
        let expected = (p.limit / 3).max(p.evaluations + p.evaluations / 4) as u64;
        let text = |elapsed: Duration| {
            let start = if p.starts > 1 {
                format!("start {} of {}, ", p.start + 1, p.starts)
            } else {
                String::new()
            };
            let each = elapsed.as_secs_f64() / p.evaluations.max(1) as f64;
            let left = each * (expected as f64 - p.evaluations as f64).max(0.0);
            let objective = style::number(p.objective);
            let left = style::seconds(left);
            format!(
                "{} rows, {start}evaluation {}, objective {objective}, at most about {left} left",
                p.rows, p.evaluations
            )
        };
        self.show(p.evaluations as u64, expected, text);
    }

    /// After `done` of `all` equal parts of a job.
    pub(crate) fn part(&mut self, done: usize, all: usize) {
        let text = |elapsed: Duration| {
            let left = elapsed.as_secs_f64() / done.max(1) as f64 * (all - done) as f64;
            format!("{done} of {all}, about {} left", style::seconds(left))
        };
        self.show(done as u64, all as u64, text);
    }

    /// Shows how far the job is; the words are only made if they are to be seen.
    fn show(&mut self, position: u64, length: u64, text: impl Fn(Duration) -> String) {
        match self {
            Self::Quiet => {}
            Self::Bar(bar) => {
                bar.set_length(length);
                bar.set_position(position);
                bar.set_message(text(bar.elapsed()));
            }
            Self::Lines { label, every, started, last } => {
                if last.elapsed() >= *every {
                    *last = Instant::now();
                    output::say(&format!("{label}: {}", text(started.elapsed())));
                }
            }
        }
    }

    /// The job is done.
    pub(crate) fn finish(self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}
