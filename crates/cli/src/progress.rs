//! Progress of a fit: a bar on a terminal, occasional plain lines elsewhere, or nothing.

use crate::program::Voice;
use crate::{output, style};
use indicatif::{ProgressBar, ProgressStyle};
use raysum::progress::{Phase, Progress};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// How often a plain line is written.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Shows the progress of a job on standard error.
pub struct Reporter {
    surface: Surface,
}

enum Surface {
    /// Nothing.
    Quiet,
    /// A bar that is redrawn.
    Bar(ProgressBar),
    /// Lines.
    Lines { label: String, every: Duration, started: Instant, last: Instant },
}

impl Reporter {
    /// A reporter for a job with this name.
    pub fn new(label: &str, voice: Voice) -> Self {
        Self { surface: Self::surface(label, voice) }
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
        // The template is a constant; if it were invalid, the default bar would be used.
        if let Ok(style) = ProgressStyle::with_template("{prefix} {bar:24} {msg}") {
            bar.set_style(style);
        }
        bar.set_prefix(label.to_string());
        Surface::Bar(bar)
    }

    /// Reports an evaluation of a fit.
    pub(crate) fn evaluation(&mut self, p: &Progress) {
        let text = |elapsed: Duration| {
            let what = match p.phase {
                Phase::HeldOut => "choosing the shrinkage by held-out rows",
                Phase::Search => "searching",
            };
            let rows = if p.rows < p.all_rows {
                format!("{} of {} rows", p.rows, p.all_rows)
            } else {
                format!("{} rows", p.rows)
            };
            let fit = match p.fits {
                1 => String::new(),
                fits => format!(" for fit {} of {fits}", p.fit + 1),
            };
            let objective = style::number(p.objective);
            let (done, count) = (100.0 * p.done, p.evaluations);
            let left = time_left(elapsed, p.done);
            format!(
                "{done:.0} %, {what} on {rows}{fit}, evaluation {count}, objective {objective}{left}"
            )
        };
        self.show((1000.0 * p.done) as u64, 1000, text);
    }

    /// Reports `done` of `all` equal steps of a job.
    pub fn part(&mut self, done: usize, all: usize) {
        let text = |elapsed: Duration| {
            let left = time_left(elapsed, done as f64 / all.max(1) as f64);
            format!("{done} of {all}{left}")
        };
        self.show(done as u64, all as u64, text);
    }

    /// Reports the share of a long job that is done, with the step that was just finished.
    pub fn share(&mut self, share: f64, part: &str) {
        let text = |elapsed: Duration| {
            let left = time_left(elapsed, share);
            format!("{:.0} %, {part}{left}", 100.0 * share)
        };
        self.show((1000.0 * share) as u64, 1000, text);
    }

    /// Shows the progress; the text is only formatted if it is displayed.
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

    /// Reports the end of the job.
    pub fn finish(self) {
        if let Surface::Bar(bar) = self.surface {
            bar.finish_and_clear();
        }
    }
}

/// The part of a line with the time left; empty while there is no reliable estimate, and at the end.
fn time_left(elapsed: Duration, done: f64) -> String {
    if done <= 0.1 || done >= 1.0 {
        return String::new();
    }
    let left = elapsed.as_secs_f64() * (1.0 / done - 1.0);
    format!(", about {} left", style::seconds(left))
}
