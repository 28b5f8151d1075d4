//! No command overwrites its input, and a replaced file keeps its permissions.

use crate::common::{Folder, Table};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};

/// A table with names that lead to it, a model of it, and statistics of some rows.
fn folder() -> Folder {
    let folder = Folder::with("t.csv", Table::smooth(60, 3).csv());
    folder.write("more.csv", Table::smooth(30, 4).csv());
    folder.stdout("fit t.csv -t y -m gam --engine weight --held-out no -o m.raysum");
    folder.stdout("stats m.raysum more.csv -o a.part");
    fs::hard_link(folder.path("t.csv"), folder.path("hard.csv")).unwrap();
    symlink("t.csv", folder.path("soft.csv")).unwrap();
    symlink("m.raysum", folder.path("soft.raysum")).unwrap();
    fs::create_dir(folder.path("sub")).unwrap();
    folder
}

#[test]
fn an_output_that_is_an_input_is_refused() {
    let folder = folder();
    let before = folder.snapshot();
    let (own, other) = ("it is an input of this command", "it is the same file as ");
    for (line, says) in [
        ("fit t.csv -t y -o t.csv", own),
        ("fit t.csv -t y -o hard.csv", other),
        ("fit t.csv -t y -o soft.csv", other),
        ("fit soft.csv -t y -o t.csv", other),
        ("fit t.csv -t y -o sub/../t.csv", other),
        ("fit t.csv -t y --checkpoint t.csv", own),
        ("fit t.csv -t y --checkpoint soft.csv -o x.raysum", other),
        ("fit t.csv -t y --checkpoint hard.csv", other),
        ("predict m.raysum t.csv -o t.csv", own),
        ("predict m.raysum t.csv -o hard.csv", other),
        ("predict m.raysum t.csv -o m.raysum", own),
        ("predict m.raysum t.csv -o soft.raysum", other),
        ("sample m.raysum t.csv -o t.csv", own),
        ("sample m.raysum t.csv -o m.raysum", own),
        ("update m.raysum more.csv -o more.csv", own),
        ("stats m.raysum more.csv -o more.csv", own),
        ("stats m.raysum more.csv -o m.raysum", own),
        ("merge m.raysum a.part -o a.part", own),
        ("merge m.raysum a.part -o m.raysum", own),
        ("merge m.raysum a.part -o soft.raysum", other),
    ] {
        let run = folder.run(line);
        run.failed(1, says);
        assert!(run.stderr.contains("; name another file"), "{run:?}");
        assert!(folder.snapshot() == before, "{line} changed a file");
    }
    let table = "the checkpoint and the model must be different files";
    for line in [
        "fit t.csv -t y --checkpoint x -o x",
        "fit t.csv -t y --checkpoint ./x -o sub/../x",
        "fit t.csv -t y --checkpoint soft.raysum -o m.raysum",
    ] {
        folder.run(line).failed(1, table);
        assert!(folder.snapshot() == before, "{line} changed a file");
    }
}

#[test]
fn arrays_are_inputs_too() {
    let folder = Folder::new();
    // Twelve rows of two columns, and twelve values.
    for (name, shape, count) in [("x.npy", "(12, 2)", 24), ("y.npy", "(12,)", 12)] {
        let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
        let mut bytes = b"\x93NUMPY\x01\x00v\x00".to_vec();
        bytes.extend(format!("{header:<117}\n").bytes());
        bytes.extend((0..count).flat_map(|i| f64::from(i * i % 7).to_le_bytes()));
        folder.write(name, bytes);
    }
    folder.stdout("fit x.npy --y y.npy -m gam --held-out no -o m.raysum");
    let before = folder.snapshot();
    for line in [
        "fit x.npy --y y.npy -o y.npy",
        "fit x.npy --y y.npy --checkpoint y.npy",
        "update m.raysum x.npy --y y.npy -o y.npy",
        "stats m.raysum x.npy --y y.npy -o y.npy",
    ] {
        folder.run(line).failed(1, "cannot write y.npy: it is an input of this command");
        assert!(folder.snapshot() == before, "{line} changed a file");
    }
}

#[test]
fn an_empty_table_does_not_become_a_checkpoint() {
    let folder = Folder::with("empty.csv", "");
    let run = folder.run("fit empty.csv -t y --checkpoint empty.csv");
    run.failed(1, "cannot write empty.csv: it is an input of this command");
    assert_eq!(folder.text("empty.csv"), "");
}

#[test]
fn standard_input_and_output_may_be_the_file_as_well() {
    let folder = folder();
    let before = folder.snapshot();
    let open = |name: &str| fs::File::open(folder.path(name)).unwrap();
    let append = || fs::OpenOptions::new().append(true).open(folder.path("t.csv")).unwrap();
    let failed = |mut command: Command, says: &str| {
        let output = command.stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(says), "{said}");
        assert!(folder.snapshot() == before, "a file has changed");
    };
    let mut read = folder.command("predict m.raysum - -o t.csv");
    read.stdin(open("t.csv"));
    failed(read, "cannot write t.csv: it is the same file as standard input");
    // Rows that are appended to the file that is read would never end.
    let mut written = folder.command("predict m.raysum t.csv");
    written.stdout(append());
    failed(written, "cannot write standard output: it is the same file as t.csv");
    let mut both = folder.command("sample m.raysum -");
    both.stdin(open("t.csv")).stdout(append());
    failed(both, "cannot write standard output: it is the same file as standard input");
}

#[test]
fn a_model_is_updated_in_place_and_other_files_are_replaced() {
    let folder = folder();
    for line in ["update m.raysum more.csv", "update m.raysum more.csv -o m.raysum"] {
        folder.stdout(line);
    }
    assert!(folder.stdout("inspect m.raysum --json").contains(r#""n":120,"#));
    // A link to the model leads to it; what has another name stays.
    folder.stdout("update soft.raysum more.csv --remove");
    assert!(folder.stdout("inspect m.raysum --json").contains(r#""n":90,"#));
    folder.write("old.csv", "old");
    folder.stdout("predict m.raysum t.csv -o old.csv");
    assert!(folder.text("old.csv").starts_with("mean,std"));
    folder.stdout("predict m.raysum t.csv -o /dev/null");
}

#[test]
fn replaced_files_keep_their_permissions() {
    let folder = folder();
    folder.write("p.csv", "old");
    let files = ["m.raysum", "p.csv", "a.part"].map(|name| folder.path(name));
    let lines = [
        "fit t.csv -t y -m gam -o m.raysum",
        "update m.raysum more.csv",
        "predict m.raysum t.csv -o p.csv",
        "sample m.raysum t.csv -o p.csv",
        "stats m.raysum more.csv -o a.part",
        "merge m.raysum a.part -o p.csv",
    ];
    for bits in [0o600, 0o664] {
        for file in &files {
            fs::set_permissions(file, fs::Permissions::from_mode(bits)).unwrap();
        }
        for line in lines {
            folder.stdout(line);
            for file in &files {
                let found = fs::metadata(file).unwrap().permissions().mode() & 0o777;
                assert_eq!(found, bits, "{}: {found:o} after {line}", file.display());
            }
        }
    }
}

#[test]
fn new_files_follow_the_umask() {
    let folder = folder();
    for (umask, bits) in [("077", 0o600), ("027", 0o640), ("002", 0o664)] {
        for (line, name) in [
            ("fit t.csv -t y -m gam -o new", "new"),
            ("predict m.raysum t.csv -o new", "new"),
            ("stats m.raysum more.csv -o new", "new"),
        ] {
            let raysum = folder.command(line);
            let mut shell = Command::new("sh");
            shell.args(["-c", "umask \"$0\"; exec \"$@\"", umask]);
            shell.arg(raysum.get_program()).args(raysum.get_args()).current_dir(&folder);
            assert!(shell.output().unwrap().status.success(), "{line}");
            let path = folder.path(name);
            let found = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            assert_eq!(found, bits, "{found:o} with {umask} after {line}");
            fs::remove_file(path).unwrap();
        }
    }
}
