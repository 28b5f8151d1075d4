//! Reduced versions of all experiments on generated data, and a run that is killed.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A temporary folder to run experiments in.
struct Folder(TempDir);

/// The result of a run.
#[derive(Debug)]
struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Starts the program with the words of `line`; `""` is an empty word.
    fn start(&self, line: &str) -> Child {
        let words = line.split_whitespace().map(|word| if word == "\"\"" { "" } else { word });
        Command::new(env!("CARGO_BIN_EXE_raysum-experiments"))
            .args(words)
            .current_dir(&self.0)
            // The environment of the tests must not name a data folder.
            .env_remove("RAYSUM_DATA")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn run(&self, line: &str) -> Run {
        let output = self.start(line).wait_with_output().unwrap();
        Run {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// What a run prints when it succeeds.
    #[track_caller]
    fn stdout(&self, line: &str) -> String {
        let run = self.run(line);
        assert_eq!(run.code, Some(0), "{line}: {run:?}");
        run.stdout
    }
}

impl Run {
    /// Checks that the run ended with this code, a message that contains `says`, and no result.
    #[track_caller]
    fn failed(&self, code: i32, says: &str) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(self.stderr.contains(says), "no '{says}' in {self:?}");
        assert!(!self.stderr.contains("panicked"), "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        if code == 1 {
            assert!(self.stderr.starts_with("raysum-experiments: "), "{self:?}");
            assert_eq!(self.stderr.trim_end().lines().count(), 1, "{self:?}");
        }
    }
}

fn gzip(content: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// A table with this number of rows and columns, the target last.
fn table(rows: usize, columns: usize, header: bool) -> String {
    let mut text = String::new();
    if header {
        let names: Vec<String> = (0..=columns).map(|c| format!("c{c}")).collect();
        text += &(names.join(",") + "\n");
    }
    for i in 0..rows {
        let value = |c: usize| ((i * 37 + c * 101) % 97) as f64 / 9.7;
        let mut cells: Vec<String> = (0..columns).map(|c| value(c).to_string()).collect();
        // Searches are long where there is no noise.
        let noise = (i * i * 7 % 11) as f64 / 5.0;
        cells.push((value(0).sin() + 0.3 * value(1) + noise).to_string());
        text += &(cells.join(",") + "\n");
    }
    text
}

/// A folder `data` with sets like the paper's, a few rows each.
fn with_data() -> Folder {
    let folder = Folder::new();
    let put = |kind: &str, name: &str, text: String| {
        std::fs::create_dir_all(folder.path(&format!("data/{kind}/{name}"))).unwrap();
        folder.write(&format!("data/{kind}/{name}/data.csv.gz"), gzip(&text));
    };
    for name in ["challenger", "autos", "servo", "machine"] {
        put("uci", name, table(24, 3, false));
    }
    put("uci", "pendulum", table(30, 3, false));
    put("extra", "coepra2", table(16, 100, true));
    put("extra", "olivetti", table(6, 64 * 64, true));
    folder
}

/// What experiments that need no data leave behind in a folder `r`, and what was said beside it: they take
/// long, and are run once.
static WITHOUT_DATA: LazyLock<(Folder, String)> = LazyLock::new(|| {
    let folder = Folder::new();
    let run = folder.run("all --quick -o r");
    assert_eq!(run.code, Some(0), "{run:?}");
    (folder, run.stderr)
});

/// Puts the results of experiments that need no data into a folder.
fn copy_results(to: &Folder) {
    std::fs::create_dir(to.path("r")).unwrap();
    for entry in std::fs::read_dir(WITHOUT_DATA.0.path("r")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, to.path("r").join(path.file_name().unwrap())).unwrap();
    }
}

fn lines(folder: &Folder, name: &str) -> Vec<String> {
    folder.text(name).lines().map(String::from).collect()
}

#[test]
fn everything_runs_in_small_and_the_page_shows_it() {
    let folder = with_data();
    copy_results(&folder);
    let out = folder.stdout("all --quick --data data -o r");
    for (name, rows) in [
        ("uci", 4 * 11 * 3),
        ("projections", 3 * (2 + 3 * 4)),
        ("peptides", 3 * (2 + 2 * 2)),
        ("faces", 2 + 2 * 2),
        ("synthetic", 4 * 4 * 3 * 2),
        ("scaling", 3 * 2),
        ("kernels", 3 * 2 * 7),
    ] {
        assert_eq!(lines(&folder, &format!("r/{name}.csv")).len(), rows + 1, "{name}");
    }
    let page = folder.text("r/index.html");
    for figure in
        "uci projections synthetic faces peptides scaling kernels kernels-convergence".split(' ')
    {
        let svg = folder.text(&format!("r/{figure}.svg"));
        assert!(svg.starts_with("<svg") && page.contains(&svg), "{figure}");
        assert!(!svg.contains("NaN"), "{figure}");
    }
    assert!(!page.contains("src=") && !page.contains("<link"), "the page needs other files");
    assert!(page.contains("paper 1.04"), "the paper's number is beside ours");
    assert!(!page.contains("NaN"), "a number is missing");
    for words in ["of 40 cells are at or below the paper's mean", "the page: r/index.html"] {
        assert!(out.contains(words), "{words}: {out}");
    }
    assert_eq!(lines(&folder, "r/uci-summary.csv").len(), 4 * 11 + 1);

    // Nothing is left to do, and nothing changes; times of fits are not in the results.
    let before = folder.text("r/uci.csv");
    folder.stdout("uci --quick --data data -o r");
    assert_eq!(folder.text("r/uci.csv"), before);
    // Nor does the number of threads change anything, in a folder of their own; one set is enough.
    folder.stdout("--threads 1 uci --quick --data data --sets autos -o again");
    let of_autos = |line: &&String| line.starts_with("autos,") || line.starts_with("set,");
    let expected: Vec<String> =
        lines(&folder, "r/uci.csv").iter().filter(of_autos).cloned().collect();
    assert_eq!(expected.len(), 11 * 3 + 1);
    assert_eq!(lines(&folder, "again/uci.csv"), expected);

    // Other sets are added.
    folder.stdout("uci --quick --data data --larger -o r");
    assert_eq!(lines(&folder, "r/uci.csv").len(), 1 + 3 * (44 + 3));
    assert!(folder.text("r/uci-summary.csv").contains("pendulum,30,3,dpa-ard,3,"));
}

#[test]
fn a_killed_run_continues_to_the_same_results() {
    let folder = Folder::new();
    let whole = WITHOUT_DATA.0.text("r/synthetic.csv");
    let all = whole.lines().count();
    let mut child = folder.start("synthetic --quick -o torn");
    let started = Instant::now();
    let so_far = |path: &Path| std::fs::read_to_string(path).map_or(0, |t| t.lines().count());
    while so_far(&folder.path("torn/synthetic.csv")) < 5 {
        assert!(started.elapsed() < Duration::from_secs(60), "nothing is written");
        sleep(Duration::from_millis(1));
    }
    folder.run("kernels --quick -o torn").failed(1, "another run is at work in torn;");
    child.kill().unwrap();
    child.wait().unwrap();
    let left = lines(&folder, "torn/synthetic.csv").len();
    assert!(left < all, "it had ended before it was killed");
    folder.stdout("synthetic --quick -o torn");
    assert_eq!(folder.text("torn/synthetic.csv"), whole);
}

#[test]
fn what_cannot_be_run_is_told_in_a_sentence() {
    let folder = with_data();
    copy_results(&folder);
    for (line, words) in [
        ("kernels --quick --seed 1 -o r", "were made with seed 0, not 1; give another"),
        ("kernels -o r", "were made with quick true, not false"),
        ("uci --quick --data nowhere -o s", "--data: nowhere is not a folder"),
        ("uci --quick --data data --sets iris -o s", "no data set iris: data/uci/iris"),
        ("uci --data data -o t", "no data set fertility"),
        ("uci --data data --sets autos --folds 30 -o v", "30 folds need more rows"),
        ("faces --data data -o data/uci/autos/data.csv.gz", "cannot make the folder"),
    ] {
        folder.run(line).failed(1, words);
    }
    for (line, words) in [
        ("", "Usage"),
        ("moons", "unrecognized subcommand"),
        ("uci --quick", "--data"),
        ("kernels --data d", "unexpected argument"),
        ("uci --data data --models svm", "unknown model 'svm'"),
        ("uci --data data --folds -1", "'--folds <N>': must be a whole number from 2 to"),
        ("uci --data data --repeats -1", "'--repeats <N>': must be a whole number from 1 to 1000"),
        ("synthetic --seed -1", "'--seed <SEED>': must be a whole number from 0 to"),
        ("synthetic --threads -1", "'--threads <N>': must be a whole number from 1 to"),
        ("synthetic -o \"\"", "'--output <FOLDER>': the name of the folder is empty"),
        ("faces --data \"\"", "'--data <FOLDER>': the name of the folder is empty"),
    ] {
        folder.run(line).failed(2, words);
    }
    folder.write("r/uci.csv", "a,b\n");
    folder.run("uci --quick --data data -o r").failed(1, "is no file of this version's");
    // Without data only what needs none is run, with a note.
    let (folder, said) = &*WITHOUT_DATA;
    assert!(said.contains("without --data there are no uci"), "{said}");
    assert!(folder.path("r/index.html").is_file() && !folder.path("r/uci.csv").exists());
}

/// Commands in documents that run experiments work; those that need data fail because it is absent.
#[test]
fn the_lines_in_documents_work() {
    const START: &str = "cargo run --release -p raysum-experiments -- ";
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut seen = 0;
    for document in ["docs/accuracy.md", "experiments/README.md"] {
        let text = std::fs::read_to_string(root.join(document)).unwrap();
        for line in text.lines().filter_map(|line| line.trim().strip_prefix(START)) {
            let line = line.split('#').next().unwrap();
            let folder = Folder::new();
            if line.contains("--data DIR") {
                folder.run(line).failed(1, "--data: DIR is not a folder");
            } else if line.contains("--quick") {
                folder.stdout(line);
                assert!(folder.path("reproduction/index.html").is_file(), "{line}");
            } else {
                folder.stdout(&format!("{line} --quick"));
            }
            seen += 1;
        }
    }
    assert_eq!(seen, 4, "lines that run experiments");
}
