//! Helpers of the tests of the command line: a folder to run `raysum` in, tables, predictions.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::LazyLock;
use tempfile::TempDir;

/// A temporary folder in which `raysum` runs.
pub(crate) struct Folder(TempDir);

/// What `raysum demo` writes and prints.
pub(crate) struct Demo {
    pub(crate) folder: Folder,
    pub(crate) printed: String,
}

/// The demo, which takes seconds: tests that look at it share one run.
pub(crate) fn demo() -> &'static Demo {
    static DEMO: LazyLock<Demo> = LazyLock::new(|| {
        let folder = Folder::new();
        let printed = folder.stdout("demo");
        Demo { folder, printed }
    });
    &DEMO
}

/// The result of a run of `raysum`.
#[derive(Debug)]
pub(crate) struct Run {
    #[expect(dead_code, reason = "it is shown when an assertion fails")]
    pub(crate) line: String,
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A folder with one file in it.
    pub(crate) fn with(name: &str, content: impl AsRef<[u8]>) -> Self {
        let folder = Self::new();
        folder.write(name, content);
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    /// Every file below the folder with its content, and every folder with nothing.
    pub(crate) fn snapshot(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.0.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path.clone());
                }
                found.insert(path.clone(), fs::read(path).unwrap_or_default());
            }
        }
        found
    }

    /// `raysum` with the words of `line`, in this folder; `""` is an empty word.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_raysum"));
        // The environment of the tests must not name a data folder.
        let words = line.split_whitespace().map(|word| if word == "\"\"" { "" } else { word });
        command.current_dir(&self.0).args(words).env_remove("RAYSUM_DATA");
        command
    }

    /// Starts `raysum` with pipes on all sides.
    pub(crate) fn start(&self, line: &str) -> Child {
        let pipe = Stdio::piped;
        self.command(line).stdin(pipe()).stdout(pipe()).stderr(pipe()).spawn().unwrap()
    }

    /// Runs `raysum` to its end.
    pub(crate) fn run(&self, line: &str) -> Run {
        self.run_on(line, "")
    }

    /// Runs `raysum` to its end with this on its standard input.
    pub(crate) fn run_on(&self, line: &str, stdin: impl AsRef<[u8]>) -> Run {
        let mut child = self.start(line);
        let (mut pipe, content) = (child.stdin.take().unwrap(), stdin.as_ref().to_vec());
        // In parallel with reading: a run may write before it has read everything. A run that does
        // not read its input closes the pipe, which is not an error.
        let writer = std::thread::spawn(move || drop(pipe.write_all(&content)));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        Run::new(line, output)
    }

    /// What `raysum` prints when it succeeds.
    pub(crate) fn stdout(&self, line: &str) -> String {
        self.run(line).succeeded().stdout
    }
}

impl AsRef<Path> for Folder {
    fn as_ref(&self) -> &Path {
        self.0.path()
    }
}

impl Run {
    /// The result of a finished command.
    pub(crate) fn new(line: &str, output: Output) -> Self {
        Self {
            line: line.into(),
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The run itself, if it ended well.
    #[track_caller]
    pub(crate) fn succeeded(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// Checks that the run ended with this code, a message that contains `says`, and no result.
    #[track_caller]
    pub(crate) fn failed(&self, code: i32, says: &str) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(self.stderr.contains(says), "no '{says}' in {self:?}");
        assert!(!self.stderr.contains("panicked"), "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        if code == 1 {
            assert!(self.stderr.starts_with("raysum: "), "{self:?}");
            assert_eq!(self.stderr.trim_end().lines().count(), 1, "{self:?}");
        }
    }
}

/// A table of texts with named columns.
#[derive(Clone)]
pub(crate) struct Table {
    pub(crate) names: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    /// A table of numbers, with each row made from its index.
    pub(crate) fn new<const D: usize>(
        names: [&str; D],
        rows: usize,
        row: impl FnMut(usize) -> [f64; D],
    ) -> Self {
        let spell = |row: [f64; D]| row.iter().map(|v| format!("{v:?}")).collect();
        Self {
            names: names.iter().map(ToString::to_string).collect(),
            rows: (0..rows).map(row).map(spell).collect(),
        }
    }

    /// A smooth function of `a` and `b`, and of nothing in `c`, with noise of deviation 0.1.
    pub(crate) fn smooth(rows: usize, seed: u64) -> Self {
        let mut random = Random::new(seed);
        Self::new(["a", "b", "c", "y"], rows, |_| {
            let [a, b, c] = [(); 3].map(|()| random.normal());
            [a, b, c, smooth(a, b) + 0.1 * random.normal()]
        })
    }

    fn place(&self, name: &str) -> usize {
        self.names.iter().position(|n| n == name).unwrap()
    }

    /// These columns, in this order.
    pub(crate) fn columns(&self, names: &[&str]) -> Self {
        let pick = |row: &Vec<String>| names.iter().map(|n| row[self.place(n)].clone()).collect();
        Self {
            names: names.iter().map(ToString::to_string).collect(),
            rows: self.rows.iter().map(pick).collect(),
        }
    }

    /// The table with one more column in front.
    pub(crate) fn and(mut self, name: &str, cell: impl Fn(usize) -> String) -> Self {
        self.names.insert(0, name.into());
        self.rows.iter_mut().enumerate().for_each(|(i, row)| row.insert(0, cell(i)));
        self
    }

    /// The table with one cell changed.
    pub(crate) fn set(mut self, row: usize, name: &str, cell: &str) -> Self {
        let place = self.place(name);
        self.rows[row][place] = cell.into();
        self
    }

    /// The numbers of one column.
    pub(crate) fn numbers(&self, name: &str) -> Vec<f64> {
        let place = self.place(name);
        self.rows.iter().map(|row| row[place].parse().unwrap()).collect()
    }

    /// The lines, with this between two fields.
    pub(crate) fn joined(&self, delimiter: &str) -> String {
        format!("{}\n{}", self.names.join(delimiter), self.bare(delimiter))
    }

    /// The lines without the header.
    pub(crate) fn bare(&self, delimiter: &str) -> String {
        self.rows.iter().map(|row| row.join(delimiter) + "\n").collect()
    }

    /// As CSV.
    pub(crate) fn csv(&self) -> String {
        self.joined(",")
    }
}

/// A small smooth table.
pub(crate) fn small() -> Table {
    Table::smooth(60, 1)
}

/// A fit that ends soon, for tests in which any model will do.
pub(crate) const SHORT: &str = "-m dpa-ard -J 5 --held-out no --max-evaluations 10";

/// A folder with `t.csv` and a model of its target `y`, `m.raysum`.
pub(crate) fn fitted(table: &Table) -> Folder {
    let folder = Folder::with("t.csv", table.csv());
    folder.stdout(&format!("fit t.csv -t y {SHORT} -o m.raysum"));
    folder
}

/// The function behind [`Table::smooth`].
pub(crate) fn smooth(a: f64, b: f64) -> f64 {
    (1.5 * a).sin() + 0.5 * b
}

/// Compresses.
pub(crate) fn gzip(content: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content.as_ref()).unwrap();
    encoder.finish().unwrap()
}

/// One line of a prediction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Predicted {
    pub(crate) mean: f64,
    pub(crate) std: f64,
    pub(crate) lower: f64,
    pub(crate) upper: f64,
    pub(crate) extrapolation: f64,
}

/// Reads predictions; a row that was left out is `None`.
#[track_caller]
pub(crate) fn predictions(csv: &str) -> Vec<Option<Predicted>> {
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("mean,std,lower,upper,extrapolation"));
    lines.map(predicted).collect()
}

#[track_caller]
fn predicted(line: &str) -> Option<Predicted> {
    if line == ",,,," {
        return None;
    }
    let fields: Vec<f64> = line.split(',').map(|field| field.parse().unwrap()).collect();
    let [mean, std, lower, upper, extrapolation] = fields[..] else { panic!("{line}") };
    Some(Predicted { mean, std, lower, upper, extrapolation })
}

/// Reads predictions that have to be there for `rows` rows, finite and with proper intervals.
#[track_caller]
pub(crate) fn sound_predictions(csv: &str, rows: usize) -> Vec<Predicted> {
    let all: Vec<Predicted> = predictions(csv).into_iter().flatten().collect();
    assert_eq!(all.len(), rows, "{csv}");
    for p in &all {
        assert!([p.mean, p.std, p.lower, p.upper].iter().all(|v| v.is_finite()), "{p:?}");
        assert!(p.std > 0.0 && p.lower <= p.mean && p.mean <= p.upper, "{p:?}");
        assert!(p.extrapolation >= 0.0 && p.extrapolation.is_finite(), "{p:?}");
    }
    all
}

/// The objects that a command printed with `--json`.
#[track_caller]
pub(crate) fn json_lines(text: &str) -> Vec<serde_json::Value> {
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

#[track_caller]
pub(crate) fn number(object: &serde_json::Value, key: &str) -> f64 {
    object[key].as_f64().unwrap_or_else(|| panic!("{key} in {object}"))
}

/// Numbers that are the same on every machine (Steele, Lea and Flood's `SplitMix64`).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform on [0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Nearly normal: the sum of twelve uniform numbers has variance 1.
    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// The bytes of a `.npy` file of 64-bit floats.
pub(crate) fn npy(rows: &[Vec<f64>]) -> Vec<u8> {
    let values: Vec<u8> = rows.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
    npy_of("<f8", &format!("({}, {})", rows.len(), rows.first().map_or(0, Vec::len)), values)
}

/// The bytes of a `.npy` file of this type and shape.
pub(crate) fn npy_of(descr: &str, shape: &str, values: impl AsRef<[u8]>) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    // The header ends at a multiple of 64.
    let padding = 63 - (10 + header.len()) % 64;
    let header = format!("{header}{}\n", " ".repeat(padding));
    let length = u16::try_from(header.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), values.as_ref()].concat()
}
