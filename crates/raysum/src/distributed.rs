//! Fits to rows on many machines.
//!
//! Everything that a model in weight space needs from the rows is a sum over rows. A [`Job`] on one
//! machine, the driver, hands out tasks; each partition of the rows answers a task by [`run`]; the
//! answers are merged by [`merge_all`], and the job takes the result. Tasks and answers are bytes,
//! and `run` and `merge` are pure functions of them: any engine that calls functions on partitions
//! can do it, and repeat what was lost with a machine.
//!
//! The first task describes the rows and draws a sample of them. The search happens on the sample,
//! on the driver; at its end, and for the posterior, there are some ten to twenty tasks over all
//! rows.
//!
//! ```
//! # fn main() -> raysum::Result<()> {
//! use raysum::distributed::{Job, JobOptions, merge_all, run};
//! use raysum::{Config, Dataset, Matrix};
//!
//! let x = Matrix::from_fn(300, 2, |i, j| ((i * (7 + 4 * j)) % 61) as f64);
//! let y: Vec<f64> = (0..300).map(|i| (x[(i, 0)] / 9.0).sin() + 0.01 * x[(i, 1)]).collect();
//! let mut job = Job::new(Config::default(), JobOptions::default(), None)?;
//! while let Some(task) = job.task()? {
//!     let mut answers = Vec::new();
//!     for (number, rows) in [0..120, 120..300].into_iter().enumerate() {
//!         let part = x.gather(&rows.clone().collect::<Vec<_>>());
//!         let data = Dataset::rows_of(&part, &[&y[rows]])?;
//!         answers.push(run(&task, number as u64, &data)?);
//!     }
//!     job.answer(&merge_all(answers)?)?;
//! }
//! let models = job.models()?;
//! assert_eq!(models[0].report().rows, 300);
//! # Ok(())
//! # }
//! ```

mod census;
mod driver;
mod job;
mod message;
mod task;

pub use job::{Job, JobOptions, JobStep};
pub use task::{merge, merge_all, run};

#[cfg(test)]
mod tests;
