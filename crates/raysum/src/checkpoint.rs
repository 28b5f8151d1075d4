//! A file that records the evaluations of a search, so that a stopped fit can be
//! resumed.
//!
//! A search is deterministic: run again, it evaluates the same points in the same order. The file
//! therefore records the result at each point, and a resumed fit reads these results instead of
//! computing them; the state of the optimiser is not needed. Each evaluation is appended and synced
//! with its own checksum; an incomplete entry, left by a kill or a full disk, is removed.

use crate::config::Config;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::file::check_name;
use crate::parameters::Freedom;
use std::collections::VecDeque;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The magic bytes, with the number of the format.
const MAGIC: &[u8; 24] = b"raysum checkpoint 000001";
const WORD: usize = 8;

/// The evaluations of one or more fits, in the order they were made.
#[derive(Debug)]
pub struct Checkpoint {
    path: PathBuf,
    file: File,
    /// Recorded evaluations that were not replayed yet.
    past: VecDeque<Entry>,
    evaluations: usize,
}

/// An entry of the file.
#[derive(Clone, Debug, PartialEq)]
enum Entry {
    /// A fit begins: to this data, with these settings.
    Fit(u64),
    /// The result at a point.
    Found { point: u64, found: Recorded },
    /// The evaluation of a point failed.
    Failed { point: u64 },
}

/// Value and gradient at a point, and what the engine remembers of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Recorded {
    pub(crate) value: f64,
    pub(crate) gradient: Vec<f64>,
    pub(crate) memory: Vec<f64>,
}

/// The record of a point.
pub(crate) enum Known {
    /// Its result.
    Found(Recorded),
    /// Its evaluation failed. The engine evaluates it again for the reason.
    Failed,
    /// No record.
    Nothing,
}

impl Checkpoint {
    /// Opens or creates a checkpoint; evaluations of an earlier run will be replayed.
    ///
    /// Any other file is refused and left unchanged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let io = |reason: io::Error| Error::Io { path: path.clone(), reason };
        check_name(&path).map_err(io)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&path).map_err(io)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                return Err(Error::CheckpointInUse { path: path.clone() });
            }
            // Some file systems do not support locks; they are not essential.
            Err(TryLockError::Error(_)) | Ok(()) => {}
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io)?;
        if !bytes.starts_with(MAGIC) && !MAGIC.starts_with(&bytes) {
            return Err(Error::NotACheckpoint { path: path.clone() });
        }
        let (past, whole) = read(bytes.get(MAGIC.len()..).unwrap_or_default());
        let end = MAGIC.len() + whole;
        if bytes.len() < MAGIC.len() {
            file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(MAGIC)).map_err(io)?;
        }
        file.set_len(end as u64).map_err(io)?;
        file.seek(SeekFrom::Start(end as u64)).map_err(io)?;
        file.sync_all().map_err(io)?;
        let evaluations = past.iter().filter(|entry| !matches!(entry, Entry::Fit(_))).count();
        Ok(Self { path, file, past, evaluations })
    }

    /// The number of evaluations it holds.
    pub fn evaluations(&self) -> usize {
        self.evaluations
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the file when the fit is done: the checkpoint is
    /// no longer needed.
    pub fn remove(self) {
        let path = self.path().to_owned();
        drop(self);
        let _ = std::fs::remove_file(path);
    }

    /// Begins a fit: the next one in the file, if its fingerprint is the same.
    pub(crate) fn begin(&mut self, fit: u64) -> Result<()> {
        match self.past.pop_front() {
            None => self.append(&Entry::Fit(fit)),
            Some(entry) if entry == Entry::Fit(fit) => Ok(()),
            Some(_) => Err(self.other()),
        }
    }

    /// What is known of this point; a gradient is as long as it.
    pub(crate) fn recall(&mut self, point: &[f64]) -> Result<Known> {
        let (here, length) = (Fingerprint::of(point), point.len());
        match self.past.pop_front() {
            None => Ok(Known::Nothing),
            Some(Entry::Found { point, found })
                if point == here && found.gradient.len() == length =>
            {
                Ok(Known::Found(found))
            }
            Some(Entry::Failed { point }) if point == here => Ok(Known::Failed),
            Some(_) => Err(self.other()),
        }
    }

    /// Records the result at a point, or its failure.
    pub(crate) fn keep(&mut self, point: &[f64], found: Option<Recorded>) -> Result<()> {
        let point = Fingerprint::of(point);
        self.evaluations += 1;
        match found {
            Some(found) => self.append(&Entry::Found { point, found }),
            None => self.append(&Entry::Failed { point }),
        }
    }

    fn append(&mut self, entry: &Entry) -> Result<()> {
        let written = self.file.write_all(&entry.bytes()).and_then(|()| self.file.sync_data());
        written.map_err(|reason| Error::Io { path: self.path.clone(), reason })
    }

    fn other(&self) -> Error {
        Error::OtherCheckpoint { path: self.path.clone() }
    }
}

/// The entries that are whole, and how many bytes they take.
fn read(bytes: &[u8]) -> (VecDeque<Entry>, usize) {
    let (words, _) = bytes.as_chunks::<WORD>();
    let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let mut entries = VecDeque::new();
    let mut rest = words.as_slice();
    while let Some((entry, left)) = Entry::read(rest) {
        entries.push_back(entry);
        rest = left;
    }
    (entries, (words.len() - rest.len()) * WORD)
}

impl Entry {
    /// Its length, its words, and a checksum of both.
    fn bytes(&self) -> Vec<u8> {
        let mut words = vec![0];
        match self {
            Entry::Fit(fit) => words.extend([0, *fit]),
            Entry::Found { point, found } => {
                words.extend([1, *point, found.value.to_bits(), found.gradient.len() as u64]);
                words.extend(found.gradient.iter().chain(&found.memory).map(|v| v.to_bits()));
            }
            Entry::Failed { point } => words.extend([2, *point]),
        }
        words[0] = words.len() as u64 - 1;
        words.push(Fingerprint::of_words(&words));
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// The first entry of some words, if it is whole, and the words after it.
    fn read(words: &[u64]) -> Option<(Self, &[u64])> {
        let length = usize::try_from(*words.first()?).ok()?;
        let end = length.checked_add(1)?;
        let (entry, rest) = (words.get(..end)?, words.get(end..)?);
        let (checksum, rest) = rest.split_first()?;
        if Fingerprint::of_words(entry) != *checksum {
            return None;
        }
        let numbers = |words: &[u64]| words.iter().map(|w| f64::from_bits(*w)).collect();
        let entry = match &entry[1..] {
            [0, fit] => Entry::Fit(*fit),
            [1, point, value, slopes, both @ ..] => {
                let (gradient, memory) = both.split_at_checked(usize::try_from(*slopes).ok()?)?;
                let (gradient, memory) = (numbers(gradient), numbers(memory));
                let found = Recorded { value: f64::from_bits(*value), gradient, memory };
                Entry::Found { point: *point, found }
            }
            [2, point] => Entry::Failed { point: *point },
            _ => return None,
        };
        Some((entry, rest))
    }
}

/// A hash of its input, the same on every machine: against mix-ups, not
/// against malice.
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    pub(crate) fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// A number for everything that a search depends on.
    pub(crate) fn of_fit(
        (config, freedom): (&Config, Option<Freedom>),
        data: &Dataset<'_>,
        first: &[f64],
    ) -> Result<u64> {
        let mut print = Self::new();
        print.text(env!("CARGO_PKG_VERSION"));
        print.text(&serde_json::to_string(config).expect("plain data serialises"));
        print.text(&format!("{freedom:?}"));
        print.data(data)?;
        print.numbers(first);
        Ok(print.finish())
    }

    fn of(numbers: &[f64]) -> u64 {
        let mut print = Self::new();
        print.numbers(numbers);
        print.0
    }

    fn of_words(words: &[u64]) -> u64 {
        let mut print = Self::new();
        words.iter().for_each(|word| print.word(*word));
        print.0
    }

    fn word(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn text(&mut self, text: &str) {
        self.word(text.len() as u64);
        text.bytes().for_each(|byte| self.word(u64::from(byte)));
    }

    pub(crate) fn numbers(&mut self, numbers: &[f64]) {
        self.word(numbers.len() as u64);
        numbers.iter().for_each(|number| self.word(number.to_bits()));
    }

    fn data(&mut self, data: &Dataset<'_>) -> Result<()> {
        let columns = data.columns();
        data.x().in_blocks(|_, rows| rows.chunks(columns).for_each(|row| self.numbers(row)))?;
        for values in data.labels().slots() {
            self.numbers(values.copied().unwrap_or_default());
        }
        Ok(())
    }

    pub(crate) fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(value: f64) -> Recorded {
        Recorded { value, gradient: vec![-value], memory: vec![7.0] }
    }

    /// A file with one fit of three evaluations.
    fn three() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c");
        let mut checkpoint = Checkpoint::open(&path).unwrap();
        checkpoint.begin(42).unwrap();
        checkpoint.keep(&[1.0], Some(found(1.0))).unwrap();
        checkpoint.keep(&[2.0], None).unwrap();
        checkpoint.keep(&[3.0], Some(found(3.0))).unwrap();
        (folder, path)
    }

    #[test]
    fn what_was_kept_is_told_again_and_more_follows() {
        let (_folder, path) = three();
        for more in 0..2 {
            let mut again = Checkpoint::open(&path).unwrap();
            assert_eq!(again.evaluations(), 3 + more);
            again.begin(42).unwrap();
            assert!(matches!(again.recall(&[1.0]).unwrap(), Known::Found(f) if f == found(1.0)));
            assert!(matches!(again.recall(&[2.0]).unwrap(), Known::Failed));
            assert!(matches!(again.recall(&[3.0]).unwrap(), Known::Found(f) if f == found(3.0)));
            if more == 0 {
                assert!(matches!(again.recall(&[4.0]).unwrap(), Known::Nothing));
                again.keep(&[4.0], Some(found(4.0))).unwrap();
            }
        }
    }

    #[test]
    fn wherever_it_is_cut_off_the_whole_entries_are_kept() {
        let (_folder, path) = three();
        let bytes = std::fs::read(&path).unwrap();
        let mut most = 0;
        for end in 0..bytes.len() {
            std::fs::write(&path, &bytes[..end]).unwrap();
            let kept = Checkpoint::open(&path).unwrap().evaluations();
            assert!(kept >= most && kept < 3, "{end}: {kept}");
            most = kept;
            // The rest is gone, so that what follows can be read.
            assert_eq!(Checkpoint::open(&path).unwrap().evaluations(), kept);
        }
        assert_eq!(most, 2);
        // A flipped bit ends it, too.
        for at in MAGIC.len()..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 4;
            std::fs::write(&path, &flipped).unwrap();
            assert!(Checkpoint::open(&path).unwrap().evaluations() < 3, "{at}");
        }
    }

    #[test]
    fn other_fits_other_files_and_other_runs_are_told_apart() {
        let (folder, path) = three();
        let mut again = Checkpoint::open(&path).unwrap();
        let e = Checkpoint::open(&path).unwrap_err().to_string();
        assert!(e.contains("another run"), "{e}");
        let e = again.begin(43).unwrap_err().to_string();
        assert!(e.contains("another fit"), "{e}");
        drop(again);
        let mut again = Checkpoint::open(&path).unwrap();
        again.begin(42).unwrap();
        assert!(matches!(again.recall(&[5.0]), Err(Error::OtherCheckpoint { .. })));
        let other = folder.path().join("notes.txt");
        std::fs::write(&other, "my notes").unwrap();
        let e = Checkpoint::open(&other).unwrap_err();
        assert!(matches!(e, Error::NotACheckpoint { .. }));
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "my notes");
    }
}
