//! Runs many fits: small ones in parallel, one per core, large ones one at a time on all cores.

use crate::journal::Journal;
use crate::record::{Key, Record};
use anyhow::{Context, Result, anyhow};
use raysum_cli::program::Voice;
use raysum_cli::progress::Reporter;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Instant;

/// Number of rows above which a fit runs alone on all cores: its algebra can use them, and two such
/// fits may exceed the memory.
const WIDE: usize = 5_000;

/// A fit to be done.
pub(crate) struct Job<'a> {
    pub(crate) key: Key,
    /// Rows to fit, and the number of rows of all projections, which determine its cost.
    pub(crate) rows: usize,
    pub(crate) views: usize,
    pub(crate) work: Box<dyn Fn() -> Result<Record> + Send + Sync + 'a>,
}

impl Job<'_> {
    /// Relative cost, for the estimate of the time left.
    fn cost(&self) -> f64 {
        let n = self.rows.min(WIDE) as f64;
        3e7 + n * n * (n / 10.0 + 8.0 * self.views as f64)
    }
}

/// Runs the jobs that are not in the journal yet.
pub(crate) fn run(
    label: &str,
    jobs: Vec<Job<'_>>,
    journal: &mut Journal,
    voice: Voice,
) -> Result<()> {
    let (wide, narrow): (Vec<_>, Vec<_>) =
        jobs.into_iter().filter(|job| !journal.has(&job.key)).partition(|job| job.rows > WIDE);
    let all: f64 = wide.iter().chain(&narrow).map(Job::cost).sum();
    let mut reporter = Reporter::new(label, voice);
    let mut done = 0.0;
    let mut ended = |(cost, seconds, record): Done| {
        done += cost;
        reporter.share(done / all, &format!("{} {}", record.key.set, record.key.model));
        journal.add(record, seconds)
    };
    side_by_side(&narrow, &mut ended)?;
    for job in &wide {
        ended(done_alone(job)?)?;
    }
    reporter.finish();
    Ok(())
}

/// A fit that has ended: its cost, its seconds, its record.
type Done = (f64, f64, Record);

fn done_alone(job: &Job<'_>) -> Result<Done> {
    let started = Instant::now();
    let Key { set, model, j, repeat, fold, .. } = &job.key;
    let record = (job.work)()
        .with_context(|| format!("{set}, {model}, J = {j}, repeat {repeat}, fold {fold}"))?;
    Ok((job.cost(), started.elapsed().as_secs_f64(), record))
}

/// Runs one job per thread at a time, so that no thread waits for another.
fn side_by_side(jobs: &[Job<'_>], ended: &mut impl FnMut(Done) -> Result<()>) -> Result<()> {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let threads = rayon::current_num_threads().min(jobs.len());
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next, stop) = (sender.clone(), &next, &stop);
            scope.spawn(move || {
                let pool = match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
                    Ok(pool) => pool,
                    Err(e) => return drop(sender.send(Err(anyhow!("cannot start a thread: {e}")))),
                };
                while !stop.load(Ordering::Relaxed) {
                    let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                    if sender.send(pool.install(|| done_alone(job))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for done in receiver {
            if let Err(e) = done.and_then(&mut *ended) {
                stop.store(true, Ordering::Relaxed);
                return Err(e);
            }
        }
        Ok(())
    })
}
