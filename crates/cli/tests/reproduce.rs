//! The paper's experiments in small, on made data: every one of them, and a run that is killed.

mod common;

use common::{Folder, gzip};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A table of so many rows and columns, the target last.
fn table(rows: usize, columns: usize, header: bool) -> String {
    let mut text = String::new();
    if header {
        let names: Vec<String> = (0..=columns).map(|c| format!("c{c}")).collect();
        text += &(names.join(",") + "\n");
    }
    for i in 0..rows {
        let value = |c: usize| ((i * 37 + c * 101) % 97) as f64 / 9.7;
        let mut cells: Vec<String> = (0..columns).map(|c| value(c).to_string()).collect();
        cells.push((value(0).sin() + 0.3 * value(1)).to_string());
        text += &(cells.join(",") + "\n");
    }
    text
}

/// A folder `data` with sets like the paper's, a few rows each.
fn with_data() -> Folder {
    let folder = Folder::new();
    let put = |kind: &str, name: &str, text: String| {
        std::fs::create_dir_all(folder.path(&format!("data/{kind}/{name}"))).unwrap();
        folder.write(&format!("data/{kind}/{name}/data.csv.gz"), gzip(text));
    };
    for name in ["challenger", "autos", "servo", "machine"] {
        put("uci", name, table(24, 3, false));
    }
    put("uci", "pendulum", table(30, 3, false));
    put("extra", "coepra2", table(16, 300, true));
    put("extra", "olivetti", table(6, 64 * 64, true));
    folder
}

fn lines(folder: &Folder, name: &str) -> Vec<String> {
    folder.text(name).lines().map(String::from).collect()
}

#[test]
fn everything_runs_in_small_and_the_page_shows_it() {
    let folder = with_data();
    let out = folder.stdout("reproduce all --quick --data data -o r");
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
    folder.stdout("reproduce uci --quick --data data -o r");
    assert_eq!(folder.text("r/uci.csv"), before);
    folder.stdout("--threads 1 reproduce uci --quick --data data -o again");
    assert_eq!(folder.text("again/uci.csv"), before);

    // Other sets come in beside them.
    folder.stdout("reproduce uci --quick --data data --larger -o r");
    assert_eq!(lines(&folder, "r/uci.csv").len(), 1 + 3 * (44 + 3));
    assert!(folder.text("r/uci-summary.csv").contains("pendulum,30,3,dpa-ard,3,"));
}

#[test]
fn a_killed_run_continues_to_the_same_results() {
    let folder = Folder::new();
    folder.stdout("reproduce synthetic --quick -o whole");
    let all = lines(&folder, "whole/synthetic.csv").len();
    let mut child = folder.start("reproduce synthetic --quick -o torn");
    let started = Instant::now();
    let so_far = |path: &Path| std::fs::read_to_string(path).map_or(0, |t| t.lines().count());
    while so_far(&folder.path("torn/synthetic.csv")) < 5 {
        assert!(started.elapsed() < Duration::from_secs(60), "nothing is written");
        sleep(Duration::from_millis(1));
    }
    folder.run("reproduce kernels --quick -o torn").failed(1, "another run is at work in torn;");
    child.kill().unwrap();
    child.wait().unwrap();
    let left = lines(&folder, "torn/synthetic.csv").len();
    assert!(left < all, "it had ended before it was killed");
    folder.stdout("reproduce synthetic --quick -o torn");
    assert_eq!(folder.text("torn/synthetic.csv"), folder.text("whole/synthetic.csv"));
}

#[test]
fn what_cannot_be_run_is_told_in_a_sentence() {
    let folder = with_data();
    folder.stdout("reproduce kernels --quick -o r");
    for (line, words) in [
        ("reproduce kernels --quick --seed 1 -o r", "were made with seed 0, not 1; give another"),
        ("reproduce kernels -o r", "were made with quick true, not false"),
        ("reproduce uci --quick --data nowhere -o s", "--data: nowhere is not a folder"),
        ("reproduce uci --quick --data data --sets iris -o s", "no data set iris: data/uci/iris"),
        ("reproduce uci --data data -o t", "no data set fertility"),
        ("reproduce uci --data data --sets autos --folds 30 -o v", "30 folds need more rows"),
        ("reproduce faces --data data -o data/uci/autos/data.csv.gz", "cannot make the folder"),
    ] {
        folder.run(line).failed(1, words);
    }
    for (line, words) in [
        ("reproduce", "Usage"),
        ("reproduce moons", "unrecognized subcommand"),
        ("reproduce uci --quick", "--data"),
        ("reproduce kernels --data d", "unexpected argument"),
        ("reproduce uci --data data --models svm", "unknown model 'svm'"),
    ] {
        let run = folder.run(line);
        assert_eq!(run.code, Some(2), "{line}");
        assert!(run.stderr.contains(words), "{line}: {}", run.stderr);
    }
    folder.write("r/uci.csv", "a,b\n");
    folder.run("reproduce uci --quick --data data -o r").failed(1, "is no file of this version's");
    // Without data what needs none is run, with a note.
    let run = folder.run("reproduce all --quick -o u");
    assert!(run.stderr.contains("without --data there are no uci"), "{}", run.stderr);
    assert!(folder.path("u/index.html").is_file() && !folder.path("u/uci.csv").exists());
}
