//! Kills at any moment, with a signal that cannot be caught: no file is lost or damaged, and a
//! resumed fit is bit-identical to an uninterrupted one.
//!
//! `RAYSUM_KILLS` is the number of kills per test; `make soak` uses many.
use crate::common::{Folder, Table};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The size in bytes from which a checkpoint holds more than its header.
const KEEPS_EVALUATIONS: u64 = 500;

/// Few enough for every day.
const KILLS: u32 = 5;

fn kills() -> u32 {
    std::env::var("RAYSUM_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS)
}

/// Shares of a whole, spread evenly and in no order.
fn moments(count: u32) -> impl Iterator<Item = f64> {
    (0..count).map(|k| (0.618_033_988_749_895 * f64::from(k + 1)).fract())
}

/// Runs a command and kills it after this time, if it has not ended by itself.
fn kill_after(folder: &Folder, line: &str, time: Duration) {
    let mut child = folder.start(line);
    sleep(time);
    child.kill().unwrap();
    child.wait_with_output().unwrap();
}

/// How long a command takes.
fn duration(folder: &Folder, line: &str) -> Duration {
    let started = Instant::now();
    folder.run(line).succeeded();
    started.elapsed()
}

#[test]
fn a_killed_fit_resumes_to_the_same_bits() {
    let folder = Folder::with("t.csv", Table::smooth(150, 1).csv());
    let fit = "fit t.csv -t y -m rpa-1 --starts 4 --held-out no -q";
    let whole = duration(&folder, &format!("{fit} -o whole.raysum"));
    folder.write("m.raysum", "an older model");
    let line = format!("{fit} -o m.raysum --checkpoint c");
    let mut known = 0;
    for moment in moments(kills()) {
        // Each kill hits a fit that continues the previous one, or starts again.
        kill_after(&folder, &line, whole.mul_f64(0.5 * moment));
        let now = folder.path("c").metadata().map_or(0, |c| c.len());
        if folder.bytes("m.raysum") == b"an older model" {
            assert!(now + 1000 >= known, "the checkpoint shrank from {known} to {now}");
        } else {
            // The fit was done: the checkpoint is removed, or about to be.
            assert!(folder.bytes("m.raysum") == folder.bytes("whole.raysum"));
            folder.write("m.raysum", "an older model");
        }
        known = now;
    }
    // The last one is killed as soon as it has evaluations to keep.
    let kept = (0..100).any(|_| {
        folder.write("m.raysum", "an older model");
        let mut child = folder.start(&line);
        let small = || folder.path("c").metadata().map_or(0, |c| c.len()) < KEEPS_EVALUATIONS;
        while small() && child.try_wait().unwrap().is_none() {
            sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        folder.bytes("m.raysum") == b"an older model"
    });
    assert!(kept, "every fit was done before it could be killed");
    let last = folder.run(&line.replace(" -q", "")).succeeded();
    assert!(last.stderr.contains("evaluations of an earlier run"), "{last:?}");
    assert!(folder.bytes("m.raysum") == folder.bytes("whole.raysum"));
    assert!(!folder.path("c").exists());
}

#[test]
fn a_killed_writer_leaves_the_old_file_or_the_new_one() {
    let table = Table::smooth(20_000, 1);
    let mut short = table.clone();
    short.rows.truncate(300);
    let folder = Folder::with("t.csv", short.csv());
    folder.write("long.csv", table.csv());
    folder.stdout("fit t.csv -t y -m gam --held-out no -o m.raysum");
    for (line, file) in [
        ("predict m.raysum long.csv -o out.csv", "out.csv"),
        ("fit t.csv -t y -m gam --held-out no -q -o out.raysum", "out.raysum"),
    ] {
        let whole = duration(&folder, line);
        let new = folder.bytes(file);
        for moment in moments(kills()) {
            folder.write(file, "what was there before");
            kill_after(&folder, line, whole.mul_f64(1.2 * moment));
            let now = folder.bytes(file);
            assert!(now == new || now == b"what was there before", "{line} at {moment}");
        }
    }
}

#[test]
fn an_interrupted_fit_says_what_it_keeps() {
    let folder = Folder::with("t.csv", Table::smooth(1500, 1).csv());
    let line = "fit t.csv -t y -m rpa-1 --starts 1000 -o m.raysum --checkpoint c";
    let child = folder.start(line);
    let started = Instant::now();
    while folder.path("c").metadata().map_or(0, |c| c.len()) < KEEPS_EVALUATIONS {
        assert!(started.elapsed() < Duration::from_secs(60), "nothing is kept");
        sleep(Duration::from_millis(5));
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let stderr = String::from_utf8(output.stderr).unwrap();
    let says = "raysum: interrupted; c keeps what was found so far, and the same command goes on \
                from there\n";
    assert!(stderr.ends_with(says), "{stderr}");
    assert!(folder.path("c").exists() && !folder.path("m.raysum").exists());
}

#[test]
fn checkpoints_that_cannot_serve_are_refused() {
    let folder = Folder::with("t.csv", Table::smooth(60, 1).csv());
    let mut child = folder.start("fit t.csv -t y -m rpa-1 --starts 1000 --checkpoint c -q");
    while folder.path("c").metadata().map_or(0, |m| m.len()) < 300 {
        sleep(Duration::from_millis(5));
    }
    folder
        .run("fit t.csv -t y -m gam --checkpoint c")
        .failed(1, "c: another run is writing to this");
    child.kill().unwrap();
    child.wait().unwrap();
    folder.write("notes.txt", "mine");
    let before = folder.snapshot();
    for (line, says) in [
        ("fit t.csv -t y -m gam --checkpoint c -q", "c: the checkpoint is of another fit"),
        ("fit t.csv -t y -m gam --checkpoint notes.txt", "notes.txt: not a checkpoint"),
        (
            "fit t.csv -t y -m gam --checkpoint t.csv",
            "cannot write t.csv: it is an input of this command",
        ),
        ("fit t.csv -t y -m gam --checkpoint none/c", "none/c: No such file or directory"),
        (
            "fit t.csv -t y -m gam --checkpoint m -o ./m",
            "m: the checkpoint and the model must be different files",
        ),
    ] {
        folder.run(line).failed(1, says);
        assert!(folder.snapshot() == before, "{line}");
    }
}
