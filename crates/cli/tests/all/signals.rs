//! Ctrl-C, and readers that close the pipe.
use crate::common::{Folder, Table};
use std::os::unix::fs::FileTypeExt;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A folder with a table to fit, and an older model.
fn long_job() -> Folder {
    let folder = Folder::with("t.csv", Table::smooth(1500, 1).csv());
    folder.write("old.raysum", "an older model");
    folder
}

/// Starts a fit and interrupts it when it is well under way.
fn interrupted_fit(folder: &Folder, before: impl FnOnce(&mut Child)) -> Child {
    // This many starts take minutes on any machine.
    let mut child = folder.start("fit t.csv -t y -m rpa-1 --starts 1000 -o old.raysum");
    sleep(Duration::from_millis(500));
    assert!(child.try_wait().unwrap().is_none(), "the fit has ended by itself");
    before(&mut child);
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    child
}

/// The exit code of a job that ends within two seconds.
fn code_soon(child: &mut Child) -> Option<i32> {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(2) {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    panic!("still running two seconds after Ctrl-C");
}

#[test]
fn an_interrupted_fit_stops_at_once_and_leaves_no_trace() {
    let folder = long_job();
    let before = folder.snapshot();
    let mut child = interrupted_fit(&folder, |_| ());
    assert_eq!(code_soon(&mut child), Some(130));
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.ends_with("raysum: interrupted; no file was left half-written\n"), "{stderr}");
    assert!(output.stdout.is_empty());
    assert!(folder.snapshot() == before);
}

#[test]
fn a_fit_can_be_interrupted_when_nobody_reads_its_messages() {
    let folder = long_job();
    let before = folder.snapshot();
    let mut child = interrupted_fit(&folder, |child| drop(child.stderr.take()));
    assert_eq!(code_soon(&mut child), Some(130));
    assert!(folder.snapshot() == before);
}

/// A folder with a table, a model of it, and a table with nothing to learn in one column.
fn small() -> Folder {
    let table = Table::smooth(3000, 2);
    let mut short = table.clone();
    short.rows.truncate(30);
    let folder = Folder::with("t.csv", short.csv());
    folder.write("long.csv", table.csv());
    folder.write("flat.csv", short.and("flat", |_| "1".into()).csv());
    folder.stdout("fit t.csv -t y -m gam -o m.raysum");
    folder
}

#[test]
fn a_reader_that_closes_the_pipe_is_no_failure() {
    let folder = small();
    for line in [
        "predict m.raysum long.csv",
        "predict m.raysum long.csv --json",
        "fit t.csv -t y --effort quick",
        "inspect m.raysum",
        "evaluate t.csv -t y --folds 3 -m gam,rbf-ard --json",
        "--help",
    ] {
        let mut child = folder.start(line);
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{line}: {stderr}");
        assert_eq!(stderr, "", "{line}");
    }
}

#[test]
fn messages_that_nobody_reads_change_nothing() {
    let folder = small();
    for (line, code) in [
        ("predict m.raysum t.csv", 0),
        ("fit flat.csv -t y -m gam", 0),
        ("fit none.csv -t y", 1),
        ("fly", 2),
    ] {
        let mut child = folder.start(line);
        drop(child.stderr.take());
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(code), "{line}");
    }
}

#[test]
fn a_named_pipe_is_written_to_and_not_replaced() {
    let folder = small();
    let pipe = folder.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = {
        let pipe = pipe.clone();
        std::thread::spawn(move || std::fs::read_to_string(pipe))
    };
    folder.run("predict m.raysum t.csv -o pipe").succeeded();
    assert!(pipe.metadata().unwrap().file_type().is_fifo());
    let read = reader.join().unwrap().unwrap();
    assert_eq!(read, folder.stdout("predict m.raysum t.csv"));
}
