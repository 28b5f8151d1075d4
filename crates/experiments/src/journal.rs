//! The journal of an experiment: a line is appended to a file when a fit ends, so that a killed run
//! can be continued.

use crate::record::{HEADER, Key, Record};
use anyhow::{Context, Result, ensure};
use raysum_cli::{interrupt, output};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The columns of the file with the times, which differ between runs.
const TIMES_HEADER: &str = "set,rows,model,j,repeat,fold,seconds";

/// The results so far.
pub(crate) struct Journal {
    results: Lines,
    times: Lines,
    records: BTreeMap<Key, Record>,
    seconds: BTreeMap<Key, f64>,
}

impl Journal {
    /// Opens or creates the files of an experiment in a folder.
    pub(crate) fn open(folder: &Path, experiment: &str) -> Result<Self> {
        let (results, lines) = Lines::open(folder.join(format!("{experiment}.csv")), HEADER)?;
        let mut records = BTreeMap::new();
        for (number, line) in lines.iter().enumerate() {
            let record = Record::parse(line).with_context(|| results.place(number))?;
            records.insert(record.key.clone(), record);
        }
        let path = folder.join(format!("{experiment}-times.csv"));
        let (times, lines) = Lines::open(path, TIMES_HEADER)?;
        let mut seconds = BTreeMap::new();
        for (number, line) in lines.iter().enumerate() {
            let (key, value) = parse_time(line).with_context(|| times.place(number))?;
            seconds.insert(key, value);
        }
        Ok(Self { results, times, records, seconds })
    }

    /// Whether this fit has ended already.
    pub(crate) fn has(&self, key: &Key) -> bool {
        self.records.contains_key(key)
    }

    /// Adds a fit that has ended.
    pub(crate) fn add(&mut self, record: Record, seconds: f64) -> Result<()> {
        let key = record.key.clone();
        self.times.add(&time_line(&key, seconds))?;
        self.results.add(&record.line())?;
        self.seconds.insert(key.clone(), seconds);
        self.records.insert(key, record);
        Ok(())
    }

    /// All results in an order that does not depend on which ended first; the files are sorted,
    /// too.
    pub(crate) fn finish(&self) -> Result<Results> {
        self.results.rewrite(HEADER, self.records.values().map(Record::line))?;
        self.times.rewrite(TIMES_HEADER, self.seconds.iter().map(|(k, s)| time_line(k, *s)))?;
        Ok(Results {
            records: self.records.values().cloned().collect(),
            seconds: self.seconds.clone(),
        })
    }
}

/// The results of an experiment, in order.
pub(crate) struct Results {
    pub(crate) records: Vec<Record>,
    seconds: BTreeMap<Key, f64>,
}

impl Results {
    /// The total time of these fits.
    pub(crate) fn seconds(&self, of: impl Fn(&Key) -> bool) -> f64 {
        self.seconds.iter().filter(|(key, _)| of(key)).map(|(_, s)| s).sum()
    }
}

fn time_line(key: &Key, seconds: f64) -> String {
    let Key { set, rows, model, j, repeat, fold } = key;
    format!("{set},{rows},{model},{j},{repeat},{fold},{seconds:.4}")
}

fn parse_time(line: &str) -> Result<(Key, f64)> {
    let cells: Vec<&str> = line.split(',').collect();
    ensure!(cells.len() == 7, "{} cells", cells.len());
    let key = Key {
        set: cells[0].into(),
        rows: cells[1].parse()?,
        model: cells[2].into(),
        j: cells[3].parse()?,
        repeat: cells[4].parse()?,
        fold: cells[5].parse()?,
    };
    Ok((key, cells[6].parse()?))
}

/// A file of lines under a header.
pub(crate) struct Lines {
    path: PathBuf,
    file: File,
}

impl Lines {
    /// Opens or creates the file, and returns its complete lines. An incomplete last line, left by
    /// a kill, is removed.
    pub(crate) fn open(path: PathBuf, header: &str) -> Result<(Self, Vec<String>)> {
        let name = path.display().to_string();
        let old = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(e) => return Err(e).with_context(|| format!("cannot read {name}")),
        };
        let whole = old.rfind('\n').map_or(0, |end| end + 1);
        let mut lines = old[..whole].lines();
        if let Some(found) = lines.next() {
            ensure!(
                found == header,
                "{name} is no file of this version's: its first line is '{found}', not '{header}'"
            );
        }
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .with_context(|| format!("cannot write {name}"))?;
        file.set_len(whole as u64).with_context(|| format!("cannot write {name}"))?;
        if whole == 0 {
            writeln!(file, "{header}").with_context(|| format!("cannot write {name}"))?;
        }
        Ok((Self { path, file }, lines.map(str::to_string).collect()))
    }

    /// Appends a line in one write.
    pub(crate) fn add(&mut self, line: &str) -> Result<()> {
        let written = interrupt::whole(|| {
            self.file.write_all(format!("{line}\n").as_bytes())?;
            self.file.sync_data()
        });
        written.with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// Replaces all lines.
    pub(crate) fn rewrite(&self, header: &str, lines: impl Iterator<Item = String>) -> Result<()> {
        output::write(&self.path, |out| {
            writeln!(out, "{header}")?;
            lines.into_iter().try_for_each(|line| writeln!(out, "{line}"))
        })
    }

    /// The location of a line, for messages.
    pub(crate) fn place(&self, number: usize) -> String {
        format!("{}, line {}, cannot be read", self.path.display(), number + 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::example;

    fn text(folder: &Path) -> String {
        std::fs::read_to_string(folder.join("uci.csv")).unwrap()
    }

    #[test]
    fn a_torn_run_ends_as_an_undisturbed_one() {
        let whole = tempfile::tempdir().unwrap();
        let records: Vec<_> = (0..4).map(|k| example("yacht", "gam", k, 0.5)).collect();
        let mut journal = Journal::open(whole.path(), "uci").unwrap();
        records.iter().for_each(|r| journal.add(r.clone(), 1.0).unwrap());
        journal.finish().unwrap();

        let torn = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(torn.path(), "uci").unwrap();
        // Results in another order, with a kill while the third was written.
        journal.add(records[2].clone(), 1.0).unwrap();
        journal.add(records[0].clone(), 1.0).unwrap();
        drop(journal);
        let path = torn.path().join("uci.csv");
        std::fs::write(&path, text(torn.path()) + "yacht,50,4,gam,20,0,3,0.").unwrap();
        let mut journal = Journal::open(torn.path(), "uci").unwrap();
        for record in &records {
            if !journal.has(&record.key) {
                journal.add(record.clone(), 2.0).unwrap();
            }
        }
        let results = journal.finish().unwrap();
        assert_eq!(results.records.len(), 4);
        assert_eq!(results.seconds(|k| k.model == "gam"), 6.0);
        assert_eq!(text(torn.path()), text(whole.path()));
    }

    #[test]
    fn other_files_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("uci.csv"), "a,b\n1,2\n").unwrap();
        let error = Journal::open(folder.path(), "uci").err().unwrap().to_string();
        assert!(error.contains("uci.csv is no file of this version's"), "{error}");
        assert_eq!(text(folder.path()), "a,b\n1,2\n");
    }
}
