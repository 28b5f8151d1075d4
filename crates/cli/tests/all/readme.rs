//! The README's shell lines are run as they stand. (Those of the paper's experiments are run by the tests of
//! that program.)

use std::path::Path;
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

#[test]
fn every_shell_line_of_the_readme_works() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let text = std::fs::read_to_string(readme).unwrap();
    let mut lines = shell_lines(&text);
    lines.retain(|line| !line.starts_with(EXPERIMENTS));
    assert!(lines.len() >= 5, "only {} lines were found", lines.len());
    let folder = tempfile::tempdir().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_raysum")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    for line in lines {
        let out = Command::new("sh")
            .args(["-ec", line])
            .current_dir(&folder)
            .env("PATH", &path)
            .output()
            .unwrap();
        assert!(out.status.success(), "{line}\n{}", String::from_utf8_lossy(&out.stderr));
    }
    let out = std::fs::read_to_string(folder.path().join("out.csv")).unwrap();
    assert_eq!(out.lines().count(), 393);
    assert!(out.starts_with("mean,std,lower,upper,extrapolation\n"));
    let functions = std::fs::read_to_string(folder.path().join("functions.csv")).unwrap();
    assert_eq!(functions.lines().count(), 393);
    assert!(functions.starts_with("sample_0,sample_1,"));
}

/// The table the README shows is the one the demo prints: the words to the letter, the numbers to
/// 2 % (another processor may round a fit another way).
#[test]
fn the_readme_shows_what_the_demo_prints() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let text = std::fs::read_to_string(readme).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let out = Command::new(env!("CARGO_BIN_EXE_raysum"))
        .arg("demo")
        .current_dir(&folder)
        .output()
        .unwrap();
    let printed = String::from_utf8(out.stdout).unwrap();
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
