//! The shell lines of README and of the pages in `docs/` are run as they stand. (Those of the
//! paper's experiments are run by the tests of that program.)

use crate::common::demo;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// How lines of the experiments begin.
const EXPERIMENTS: &str = "cargo run --release -p raysum-experiments -- ";

/// The lines of all fenced blocks marked `sh`.
fn shell_lines(text: &str) -> Vec<&str> {
    let mut inside = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        match line.trim() {
            "```sh" => inside = true,
            "```" => inside = false,
            line if inside && !line.is_empty() => lines.push(line),
            _ => {}
        }
    }
    lines
}

#[test]
fn the_rust_of_readme_is_what_the_library_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let readme = text("README.md");
    let example = readme.split("```rust\n").nth(1).unwrap().split("```").next().unwrap();
    assert!(example.contains("Model::load"), "{example}");
    assert!(text("crates/raysum/README.md").contains(example.trim_end()), "{example}");
}

/// README and every page in `docs/`.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = pages.filter(|page| page.extension().is_some_and(|end| end == "md"));
    std::iter::once(root.join("README.md")).chain(pages).collect()
}

/// The folders that lines leave behind, by the commands of all lines up to there. Many documents begin
/// alike, and the same commands in equal folders do the same, so they are run once.
type Folders = BTreeMap<Vec<String>, TempDir>;

/// The line that most documents begin with.
const DEMO: [&str; 1] = ["raysum demo"];

/// The rows of the demo's table that the lines are run on.
const ROWS: usize = 80;

/// Runs the lines of a document in its own folder, and returns their number.
fn run_lines(document: &Path, text: &str, folders: &mut Folders) -> usize {
    let mut lines = shell_lines(text);
    lines.retain(|line| !line.starts_with(EXPERIMENTS));
    let binary = Path::new(env!("CARGO_BIN_EXE_raysum")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    let mut commands = Vec::new();
    for &line in &lines {
        let before = folders.get(&commands);
        commands.push(line.split('#').next().unwrap().trim().to_string());
        if folders.contains_key(&commands) {
            continue;
        }
        let folder = before.map_or_else(|| tempfile::tempdir().unwrap(), copy);
        let out = Command::new("sh")
            .args(["-ec", line])
            .current_dir(&folder)
            .env("PATH", &path)
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{}: {line}\n{stderr}", document.display());
        folders.insert(commands.clone(), folder);
    }
    for (name, start) in [
        ("out.csv", "mean,std,lower,upper,extrapolation\n"),
        ("functions.csv", "sample_0,sample_1,"),
    ] {
        let Some(folder) = folders.get(&commands) else { continue };
        if let Ok(written) = std::fs::read_to_string(folder.path().join(name)) {
            assert_eq!(written.lines().count(), ROWS + 1, "{}: {name}", document.display());
            assert!(written.starts_with(start), "{}: {name}", document.display());
        }
    }
    lines.len()
}

/// A folder with the same files.
fn copy(folder: impl AsRef<Path>) -> TempDir {
    let to = tempfile::tempdir().unwrap();
    copy_files(folder.as_ref(), to.path());
    to
}

fn copy_files(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_files(&path, &to);
        } else {
            std::fs::copy(&path, to).unwrap();
        }
    }
}

#[test]
fn every_shell_line_of_the_documents_works() {
    let all = Folders::from([(DEMO.map(String::from).to_vec(), copy(&demo().folder))]);
    // The demo fits the whole table; that these lines work is shown by some of its rows as well.
    let few = copy(&demo().folder);
    let table = few.path().join("demo/cars.csv");
    let rows = std::fs::read_to_string(&table).unwrap();
    let rows: Vec<&str> = rows.lines().take(ROWS + 1).collect();
    std::fs::write(table, rows.join("\n") + "\n").unwrap();
    let few = Folders::from([(DEMO.map(String::from).to_vec(), few)]);
    let mut folders = [all, few];
    let mut run = |document: &PathBuf| {
        let text = std::fs::read_to_string(document).unwrap();
        // A document that cuts the table itself needs all of it.
        let [all, few] = &mut folders;
        run_lines(document, &text, if text.contains("head -n ") { all } else { few })
    };
    let lines: usize = documents().iter().map(&mut run).sum();
    assert!(lines >= 20, "only {lines} lines were found");
}

/// The table in the README is the one that the demo prints: text exactly, numbers to 2 % (another
/// processor may round differently).
#[test]
fn the_readme_shows_what_the_demo_prints() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let text = std::fs::read_to_string(readme).unwrap();
    let printed = &demo().printed;
    let first = printed.lines().next().unwrap();
    let shown = text.lines().skip_while(|line| *line != first);
    let mut compared = 0;
    for (shown, printed) in shown.zip(printed.lines()).take(6) {
        for (shown, printed) in shown.split_whitespace().zip(printed.split_whitespace()) {
            match (shown.parse::<f64>(), printed.parse::<f64>()) {
                (Ok(a), Ok(b)) => assert!((a - b).abs() <= 0.02 * b.abs(), "{shown}, {printed}"),
                _ => assert_eq!(shown, printed),
            }
            compared += 1;
        }
    }
    assert!(compared > 20, "the README does not show the demo's table");
}
