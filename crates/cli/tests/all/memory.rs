//! Requests beyond the memory give an error message, and tables beyond the memory can be read.

use crate::common::{Folder, Run, Table};
use std::process::Command;

/// Runs a command with a limit on its address space, in megabytes; every thread takes some.
fn run_within(megabytes: u64, folder: &Folder, line: &str) -> Run {
    let raysum = folder.command(&format!("{line} --threads 2"));
    let mut shell = Command::new("sh");
    let script = format!("ulimit -v {}; exec \"$@\"", megabytes * 1024);
    shell.args(["-c", &script, "sh"]).arg(raysum.get_program()).args(raysum.get_args());
    Run::new(line, shell.current_dir(folder).output().expect("there is a shell"))
}

/// Megabytes of address space that some threads reserve on this machine beyond those of a usual one:
/// matrix products reserve twice the last-level cache on each thread, and touch little of it. The
/// limits below are made for a cache of 64 MB.
fn more_for_a_large_cache(threads: u64) -> u64 {
    let size = std::fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index3/size");
    let size = size.unwrap_or_default();
    let kilobytes: u64 = size.trim().trim_end_matches('K').parse().unwrap_or(0);
    2 * threads * (kilobytes / 1024).saturating_sub(64)
}

#[test]
fn a_request_beyond_the_memory_is_a_sentence() {
    let folder = Folder::with("t.csv", Table::smooth(6000, 5).csv());
    folder.write("few.csv", Table::smooth(60, 5).csv());
    folder.stdout("fit few.csv -t y -m dpa-ard --held-out no -o m.raysum");
    let before = folder.snapshot();
    for (line, says) in [
        ("sample m.raysum t.csv --functions 10000 -o x.csv", "10000 functions would take 1.3 GB"),
        ("sample m.raysum t.csv --functions 10000 --prior", "10000 functions would take 1.3 GB"),
        (
            "fit t.csv -t y -m imq-ard --engine dense --subset 100 --held-out no -o x.raysum",
            "the kernel matrix of 6000 rows, which the dense engine needs, would take 864 MB",
        ),
        (
            "fit t.csv -t y --engine weight -m rpa-1 -J 1000000 -o x.raysum",
            "1000000 projections of ",
        ),
        (
            "fit t.csv -t y -m single-rp --engine ski --probes 10000 -o x.raysum",
            "the ski engine with 10000 probes and 1 projections of ",
        ),
    ] {
        let run = run_within(800, &folder, line);
        run.failed(1, says);
        assert!(
            run.stderr.contains(" of memory, but ") && run.stderr.contains(" MB is free"),
            "{run:?}"
        );
        assert!(folder.snapshot() == before, "{line} left something behind");
    }
}

#[test]
fn wide_answers_to_many_rows_take_little() {
    // 30,000 rows of 1,000 values: 240 MB, and several times, if they were there at once.
    let table = Table::new(["a", "y"], 30_000, |i| [(i % 977) as f64, (i % 13) as f64]);
    let folder = Folder::with("t.csv", table.csv());
    folder.write("few.csv", Table::new(["a", "y"], 30, |i| [i as f64, (i % 5) as f64]).csv());
    // Functions of a line take little time.
    folder.stdout("fit few.csv -t y -m linear --held-out no -o m.raysum");
    let limit = 700 + more_for_a_large_cache(2);
    let run = run_within(limit, &folder, "sample m.raysum t.csv --functions 1000 -o s.csv");
    run.succeeded();
    let all = folder.text("s.csv");
    assert_eq!(all.lines().count(), 30_001);
    // Each line belongs to its row.
    folder.write("some.csv", "a\n3\n500\n");
    let some = folder.stdout("sample m.raysum some.csv --functions 1000");
    let lines: Vec<&str> = all.lines().collect();
    let expected = [lines[0], lines[4 + 15 * 977], lines[501 + 9 * 977]].join("\n") + "\n";
    assert!(some == expected);
}

#[test]
fn rows_that_are_left_out_keep_their_empty_lines_in_wide_answers() {
    let folder = Folder::with("few.csv", Table::smooth(30, 5).csv());
    folder.stdout("fit few.csv -t y -m linear --held-out no -o m.raysum");
    let mut table = Table::smooth(900, 6);
    for row in (0..900).filter(|row| row % 7 == 3 || (300..700).contains(row)) {
        table = table.set(row, "b", "");
    }
    folder.write("gaps.csv", table.csv());
    // 400 rows at a time.
    let wide = folder.stdout("sample m.raysum gaps.csv --functions 10000 --missing drop");
    let narrow = folder.stdout("sample m.raysum gaps.csv --functions 2 --missing drop");
    assert_eq!(wide.lines().count(), 901);
    for (wide, narrow) in wide.lines().zip(narrow.lines()) {
        let first: Vec<&str> = wide.splitn(3, ',').take(2).collect();
        assert_eq!(first.join(","), narrow);
    }
}

#[test]
fn ever_more_repeats_need_no_more_memory() {
    let folder = Folder::with("t.csv", Table::smooth(20, 5).csv());
    let line = "evaluate t.csv -t y -m single-rp --folds 2 --repeats 4000000000 --threads 2";
    // Fits run on the main thread, too.
    let limit = (977 + more_for_a_large_cache(3)) * 1024;
    let mut shell = Command::new("sh");
    let raysum = folder.command(line);
    shell.args(["-c", &format!("ulimit -v {limit}; exec timeout 1 \"$@\""), "sh"]);
    shell.arg(raysum.get_program()).args(raysum.get_args()).current_dir(&folder);
    // It runs until it is stopped.
    assert_eq!(shell.output().unwrap().status.code(), Some(124));
}
