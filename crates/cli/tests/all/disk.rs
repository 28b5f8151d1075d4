//! A full disk gives an error message, and no incomplete file.

use crate::common::{Folder, Run, Table};
use std::process::Command;

fn folder() -> Folder {
    let folder = Folder::with("t.csv", Table::smooth(300, 5).csv());
    folder.stdout("fit t.csv -t y -m gam --held-out no -o m.raysum");
    folder.stdout("predict m.raysum t.csv -o p.csv");
    folder
}

/// Runs a command that can write no file of more than a few bytes, as on a disk without room.
fn run_full(folder: &Folder, line: &str) -> Run {
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$@\"";
    let raysum = folder.command(line);
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh"]).arg(raysum.get_program()).args(raysum.get_args());
    shell.current_dir(folder);
    Run::new(line, shell.output().expect("there is a shell"))
}

#[test]
fn a_full_disk_costs_nothing_that_was_there() {
    let folder = folder();
    let before = folder.snapshot();
    let cases = [
        ("fit t.csv -t y -m gam -o m.raysum", "m.raysum"),
        ("fit t.csv -t y -m gam -o new.raysum", "new.raysum"),
        ("predict m.raysum t.csv -o p.csv", "p.csv"),
        ("sample m.raysum t.csv -o p.csv", "p.csv"),
        ("update m.raysum t.csv", "m.raysum"),
        ("stats m.raysum t.csv -o part.raysum", "part.raysum"),
        (
            "fit t.csv -t y -m gam --memory 0 -o new.raysum",
            "rows cannot be kept in a temporary file",
        ),
    ];
    for (line, says) in cases {
        let run = run_full(&folder, line);
        run.failed(1, says);
        assert!(run.stderr.contains("File too large"), "{run:?}");
        assert!(folder.snapshot() == before, "{line} left something behind");
    }
}

#[test]
fn a_checkpoint_on_a_full_disk_ends_the_fit_and_is_of_use() {
    let folder = folder();
    let fit = "fit t.csv -t y -m gam --checkpoint c -o new.raysum";
    let run = run_full(&folder, fit);
    run.failed(1, "c: ");
    assert!(!folder.path("new.raysum").exists());
    // When there is space again, the same command continues from there.
    folder.stdout(fit);
    folder.stdout("fit t.csv -t y -m gam -o plain.raysum");
    assert!(folder.bytes("new.raysum") == folder.bytes("plain.raysum"));
}

#[test]
fn a_pipe_without_room_is_said() {
    let folder = folder();
    let line = "predict m.raysum t.csv -o /dev/full";
    folder.run(line).failed(1, "No space left on device");
}
