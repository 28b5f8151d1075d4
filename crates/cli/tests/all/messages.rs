//! The exact messages about invalid input: `messages.txt` has each command with its exit code and
//! its message. `RAYSUM_BLESS=1` rewrites the file after a message has changed.

use crate::common::{Folder, Table, gzip, npy, npy_of};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The files that the commands are about.
fn folder() -> Folder {
    let good = Table::smooth(20, 1);
    let folder = Folder::with("good.csv", good.csv());
    let slip = Table::smooth(60, 2).set(7, "b", "0.l5").csv();
    let known = Table::smooth(20, 1).set(3, "a", "").csv();
    let packed = gzip(Table::smooth(200, 2).csv());
    folder.write("cut.csv.gz", &packed[..packed.len() / 2]);
    for (name, content) in [
        ("bare.csv", good.bare(",")),
        ("slip.csv", slip),
        ("known.csv", known),
        ("other.csv", "a,b,c\n,1,1\n1,2,3\n,NA,4\n".into()),
        ("empty.csv", String::new()),
        ("header.csv", "a,b,y\n".into()),
        ("one.csv", "a,b,y\n1,2,3\n".into()),
        ("short.csv", "a,b,y\n1,2,3\n4,5\n6,7,8\n".into()),
        ("long.csv", "a,b,y\n1,2,3\n\n4,5,6,7\n".into()),
        ("quote.csv", "a,b,y\n1,2,3\n4,\"5,6\n7,8,9\n".into()),
        ("nul.csv", "a,b,y\n1,2,3\n4,\0,6\n".into()),
        ("inf.csv", "a,b,y\n1,2,3\n4,inf,6\n".into()),
        ("huge.csv", "a,b,y\n1,2,3\n4,5,-1e999\n".into()),
        ("gap.csv", "a,b,y\n1,2,3\n4,,6\n,,7\n".into()),
        ("gaps.csv", "a,b,y\n,2,3\n4,,6\n".into()),
        ("hole.csv", "a,b,y\n,2,3\n,5,6\n".into()),
        ("text.csv", "a,b,y\n1,2,low\n4,5,high\n".into()),
        ("no.csv", "a,b,y\n1,2,\n4,5,?\n".into()),
        ("twice.csv", "y,a,y\n1,2,3\n4,5,6\n".into()),
        ("alone.csv", "y\n1\n2\n3\n".into()),
        ("dates.csv", "a,y\n1,2026-01-01\n2,2026-01-02\n".into()),
        ("when.csv", "a,b,c\n2026-01-01,2,3\n".into()),
        ("weights.csv", "a,w,y\n1,1,1\n2,0,2\n3,1,4\n".into()),
        ("noise.csv", "a,s,y\n1,1,1\n2,-1,2\n3,1,4\n".into()),
        ("lack.csv", "a,b\n1,2\n".into()),
        ("word.csv", "a,b,c\n1,2,3\n4,many,6\n".into()),
        ("wide.csv", "1,2,3,4,5\n1,2,3,4,5\n".into()),
        ("magic.parquet", "PAR1 is how it starts".into()),
        ("magic.arrow", "ARROW1 is how it starts".into()),
        ("later.raysum", String::new()),
        ("local.csv", "a;b;y\n1,234;1;2\n5,678;2;3\n".into()),
        ("days.csv", "a,y\n01/02/2024,1\n03/04/2024,2\n".into()),
        ("marks.csv", "a;b;y\n8,8;1;2\n8.8;2;3\n".into()),
        ("money.csv", "a,y\n$5,2\n€6,3\n".into()),
        ("truth.csv", "a,y\n1,true\n2,false\n".into()),
        ("comma.csv", "a;b;c\n8,8;0,7;95\n".into()),
        ("odd.csv", format!("a,y\n{}31/31/2024,4\n", "2024-01-05,3\n".repeat(30))),
        ("escape.csv", "\"a\u{1b}[31m\",y\ninf,1\n2,2\n".into()),
    ] {
        folder.write(name, content);
    }
    folder.write("latin.csv", b"a,b,y\n1,2,3\n\xff,5,6\n");
    folder.write("zip.csv.zst", [0x28, 0xb5, 0x2f, 0xfd, 0, 1, 2, 3]);
    folder.write("bad.npy", b"\x93NUMPY\x01\x00and so on");
    folder.write("gap.npy", npy(&[vec![1.0, 2.0], vec![f64::NAN, 3.0], vec![4.0, 5.0]]));
    folder.write("inf.npy", npy(&[vec![1.0, 2.0], vec![f64::INFINITY, 3.0]]));
    folder.write("one.npy", npy(&[vec![1.0]]));
    folder.write("wide.npy", npy(&[vec![1.0; 5]]));
    folder.write("cube.npy", npy_of("<f8", "(1, 1, 1)", [0; 8]));
    folder.write("text.npy", npy_of("<U1", "(2, 1)", [0; 8]));
    folder.write("cut.npy", &npy(&vec![vec![1.0; 3]; 20])[..300]);
    folder.stdout("fit good.csv -t y -m gam --held-out no -o good.raysum");
    folder.stdout("fit bare.csv -t -1 -m gam --held-out no -o bare.raysum");
    folder.stdout("fit known.csv -t y -m gam --missing indicate --held-out no -o known.raysum");
    folder.stdout("fit good.csv -t y -o mixed.raysum");
    folder.stdout("stats good.raysum good.csv -o good.part");
    let model = folder.bytes("good.raysum");
    folder.write("cut.raysum", &model[..model.len() - 8]);
    let mut flipped = model.clone();
    let last = flipped.len() - 20;
    flipped[last] ^= 1;
    folder.write("flipped.raysum", &flipped);
    let format = |number: u64| format!(r#"\"format\":{number},"#).into_bytes();
    let (old, new) = (format(raysum::FORMAT), format(9));
    let at = model.windows(old.len()).position(|w| w == old).unwrap();
    let mut later = model;
    later[at..at + new.len()].copy_from_slice(&new);
    folder.write("later.raysum", &later);
    std::fs::create_dir(folder.path("taken")).unwrap();
    folder
}

fn list() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/messages.txt")
}

/// A command, its exit code, and what it says.
fn entry(folder: &Folder, line: &str) -> String {
    let run = folder.run(line);
    assert_eq!(run.stdout, "", "{run:?}");
    assert!(matches!(run.code, Some(1 | 2)), "{run:?}");
    let mut entry = String::new();
    writeln!(entry, "$ raysum {line}").unwrap();
    writeln!(entry, "{}", run.code.unwrap()).unwrap();
    // A wrong command line is followed by the parser's usage, which is not compared.
    let said = run.stderr.lines().take_while(|line| !line.is_empty());
    said.for_each(|line| writeln!(entry, "{}", line.trim_end()).unwrap());
    entry
}

#[test]
fn every_message_is_the_one_on_the_list() {
    let text = std::fs::read_to_string(list()).unwrap();
    let folder = folder();
    let before = folder.snapshot();
    let commands: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("$ raysum ")).collect();
    assert!(commands.len() >= 60, "only {} commands", commands.len());
    let entries: Vec<String> = commands.iter().map(|line| entry(&folder, line)).collect();
    assert!(folder.snapshot() == before, "a file has come or gone");
    let now = entries.join("\n");
    if std::env::var_os("RAYSUM_BLESS").is_some() {
        std::fs::write(list(), now).unwrap();
        return;
    }
    for (entry, expected) in entries.iter().zip(text.split("\n\n")) {
        assert_eq!(entry.trim_end(), expected.trim_end());
    }
    assert_eq!(now, text);
}
