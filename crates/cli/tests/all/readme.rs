//! The shell lines of README and of the pages in `docs/` are run as they stand. (Those of the
//! paper's experiments are run by the tests of that program.)

use crate::common::demo;
use std::path::{Path, PathBuf};
use std::process::Command;

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

/// README and every page in `docs/`.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = pages.filter(|page| page.extension().is_some_and(|end| end == "md"));
    std::iter::once(root.join("README.md")).chain(pages).collect()
}

/// The line that most documents begin with. It does the same everywhere, so it is run once.
const DEMO: &str = "raysum demo";

/// Runs the lines of a document in its own folder, where `demo` is a copy of what the demo wrote
/// there, and returns their number.
fn run_lines(document: &Path, demo: &Path) -> usize {
    let text = std::fs::read_to_string(document).unwrap();
    let mut lines = shell_lines(&text);
    lines.retain(|line| !line.starts_with(EXPERIMENTS));
    let folder = tempfile::tempdir().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_raysum")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    for &line in &lines {
        if line.split('#').next().is_some_and(|command| command.trim() == DEMO) {
            copy_files(demo, &folder.path().join("demo"));
            continue;
        }
        let out = Command::new("sh")
            .args(["-ec", line])
            .current_dir(&folder)
            .env("PATH", &path)
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{}: {line}\n{stderr}", document.display());
    }
    for (name, start) in [
        ("out.csv", "mean,std,lower,upper,extrapolation\n"),
        ("functions.csv", "sample_0,sample_1,"),
    ] {
        if let Ok(written) = std::fs::read_to_string(folder.path().join(name)) {
            assert_eq!(written.lines().count(), 393, "{}: {name}", document.display());
            assert!(written.starts_with(start), "{}: {name}", document.display());
        }
    }
    lines.len()
}

fn copy_files(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

#[test]
fn every_shell_line_of_the_documents_works() {
    let demo = demo().folder.path("demo");
    let lines: usize = documents().iter().map(|document| run_lines(document, &demo)).sum();
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
