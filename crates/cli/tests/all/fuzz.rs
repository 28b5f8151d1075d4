//! Replays the corpus of the fuzzers with reproducible mutations. `make fuzz` continues from here
//! with random ones.

use std::path::Path;

/// Mutations of each file; `RAYSUM_MUTATIONS` says more or fewer.
const MUTATIONS: u64 = 150;

/// A small reproducible generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// One to four changes: bits, bytes, cuts, repetitions, and pieces of other files.
fn mutated(bytes: &[u8], others: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        match random.below(7) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            1 if !bytes.is_empty() => bytes[at] = random.next() as u8,
            2 => bytes.truncate(at),
            3 if !bytes.is_empty() => drop(bytes.remove(at)),
            4 => {
                let odd = *b"0,\n\";\t-.eN \x00\xff1";
                bytes.insert(at, odd[random.below(odd.len())]);
            }
            5 => {
                let end = (at + random.below(40)).min(bytes.len());
                let piece = bytes[at.min(end)..end].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {
                let other = &others[random.below(others.len())];
                let from = random.below(other.len());
                let end = (from + random.below(60)).min(other.len());
                bytes.splice(at..at, other[from..end].iter().copied());
            }
        }
    }
    bytes
}

fn replay(target: &str, run: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut files: Vec<_> =
        std::fs::read_dir(&corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 5, "{} holds {} files", corpus.display(), files.len());
    let all: Vec<Vec<u8>> = files.iter().map(|path| std::fs::read(path).unwrap()).collect();
    let asked = std::env::var("RAYSUM_MUTATIONS").ok().and_then(|text| text.parse().ok());
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for (path, bytes) in files.iter().zip(&all) {
        run(bytes);
        for k in 0..asked.unwrap_or(MUTATIONS) {
            let changed = mutated(bytes, &all, &mut random);
            let caught = std::panic::catch_unwind(|| run(&changed));
            if caught.is_err() {
                let found = std::env::temp_dir().join(format!("raysum-{target}-{k}"));
                std::fs::write(&found, &changed).unwrap();
                panic!("mutation {k} of {} fails: {}", path.display(), found.display());
            }
        }
    }
}

#[test]
fn any_table() {
    replay("table", raysum_cli::fuzzing::table);
}

#[test]
fn any_model() {
    replay("model", raysum_cli::fuzzing::model);
}

#[test]
fn any_arguments() {
    replay("arguments", raysum_cli::fuzzing::arguments);
}
