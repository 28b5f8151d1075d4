//! The number of threads of a command.

use std::num::NonZero;

/// The environment variable from which rayon takes the number of threads.
const VARIABLE: &str = "RAYON_NUM_THREADS";

/// Starts the number of threads given on the command line or by the environment, or else one per
/// core. There are never more threads than cores; a note says so.
pub(crate) fn start(asked: Option<u32>) -> anyhow::Result<Option<String>> {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let variable = std::env::var(VARIABLE).ok();
    let by_variable = variable.and_then(|text| text.trim().parse().ok()).filter(|n| *n > 0);
    let asked = asked.map(|n| n as usize).or(by_variable);
    let (threads, note) = capped(asked, cores);
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    Ok(note)
}

/// The number of threads to use, and a note if it is less than requested.
fn capped(asked: Option<usize>, cores: usize) -> (usize, Option<String>) {
    match asked {
        Some(asked) if asked > cores => {
            let there = if cores == 1 { "is 1 core".into() } else { format!("are {cores} cores") };
            (
                cores,
                Some(format!("{asked} threads were asked for, but there {there}: using {cores}")),
            )
        }
        asked => (asked.unwrap_or(cores), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_no_more_threads_than_cores() {
        assert_eq!(capped(None, 4), (4, None));
        assert_eq!(capped(Some(3), 4), (3, None));
        assert_eq!(capped(Some(4), 4), (4, None));
        let (threads, note) = capped(Some(1000), 4);
        assert_eq!(threads, 4);
        let note = note.unwrap();
        assert_eq!(note, "1000 threads were asked for, but there are 4 cores: using 4");
        assert!(capped(Some(2), 1).1.unwrap().ends_with("there is 1 core: using 1"));
    }
}
