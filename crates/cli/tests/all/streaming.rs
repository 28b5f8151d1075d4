//! Tables are predicted in chunks: the same lines as in one piece, in the same order.

use crate::common::{Folder, Table};

/// More rows than a chunk of a table has.
const ROWS: usize = 70_000;

/// A model of two numbers and a text, and a long table for it.
fn folder() -> Folder {
    let kinds = ["red", "7", "blue"];
    let table = Table::smooth(ROWS, 5).and("kind", |i| kinds[i % 3].into());
    let mut short = table.clone();
    short.rows.truncate(200);
    let folder = Folder::with("short.csv", short.csv());
    folder.write("long.csv", table.csv());
    folder.stdout("fit short.csv -t y -m gam --held-out no -o m.raysum");
    folder
}

#[test]
fn parts_are_the_whole_in_order() {
    let folder = folder();
    let all = folder.stdout("predict m.raysum long.csv");
    assert_eq!(all.lines().count(), ROWS + 1);
    let text = folder.text("long.csv");
    let (header, rows) = text.split_once('\n').unwrap();
    let rows: Vec<&str> = rows.lines().collect();
    let lines: Vec<&str> = all.lines().collect();
    // Inside each chunk, and at its ends.
    for first in [0, 20_000, 32_760, 65_530, ROWS - 9] {
        let few = format!("{header}\n{}\n", rows[first..first + 9].join("\n"));
        let here = folder.run_on("predict m.raysum -", few).succeeded().stdout;
        let here: Vec<&str> = here.lines().skip(1).collect();
        assert_eq!(here, lines[1 + first..10 + first], "from {first}");
    }
    folder.stdout("predict m.raysum long.csv -o out.csv");
    assert!(folder.text("out.csv") == all);
    let piped = folder.run_on("predict m.raysum -", &text).succeeded();
    assert!(piped.stdout == all);
    let json = folder.stdout("predict m.raysum long.csv --json");
    assert_eq!(json.lines().count(), ROWS);
    let drawn = folder.stdout("sample m.raysum long.csv --functions 2");
    assert_eq!(drawn.lines().count(), ROWS + 1);
}

#[test]
fn what_is_said_of_the_parts_adds_up() {
    let folder = folder();
    let mut rows: Vec<String> = folder.text("long.csv").lines().map(String::from).collect();
    rows[0] = "a,b,c,y,kind".into();
    for (row, line) in rows.iter_mut().enumerate().skip(1) {
        // A cell is gone, and there is a new kind.
        let gone = [5, 40_000, 69_999].contains(&row);
        *line = if gone { format!(",2,3,4,green{}", row % 2) } else { "1,2,3,4,red".into() };
    }
    folder.write("gaps.csv", rows.join("\n"));
    let run = folder.run("predict m.raysum gaps.csv --missing mean -o out.csv").succeeded();
    assert!(run.stderr.contains("3 missing cells in 3 rows filled"), "{run:?}");
    assert!(run.stderr.contains("3 rows with categories that training did not have"), "{run:?}");
    assert!(run.stderr.contains("('green1', 'green0')"), "{run:?}");
    let run = folder.run("predict m.raysum gaps.csv --missing drop").succeeded();
    assert!(run.stderr.contains("3 of 70000 rows left out"), "{run:?}");
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(
        (lines.len(), lines[5], lines[40_000], lines[69_999]),
        (70_001, ",,,,", ",,,,", ",,,,")
    );
}

#[test]
fn an_error_late_in_a_table_leaves_no_file() {
    let folder = folder();
    let mut text = folder.text("long.csv");
    text.push_str("1,2,3\n");
    folder.write("cut.csv", &text);
    folder.write("old.csv", "an older file");
    let before = folder.snapshot();
    let says = "cut.csv, line 70002: found 3 fields";
    folder.run("predict m.raysum cut.csv -o old.csv").failed(1, says);
    assert!(folder.snapshot() == before);
}

/// Several parts of a table with gaps, a category, and a text that turns up late in a column of
/// numbers; more columns than the fit uses.
fn awkward() -> Folder {
    let kinds = ["red", "7", "blue"];
    let table = Table::smooth(40_000, 5)
        .and("kind", |i| kinds[i % 3].into())
        .and("gap", |i| if i % 97 == 3 { String::new() } else { format!("{}", i % 50) })
        .and("late", |i| if i < 39_000 { format!("{}", i % 4) } else { "x".into() })
        .and("id", |i| format!("no {i}"));
    Folder::with("t.csv", table.csv())
}

#[test]
fn a_fit_from_a_file_is_the_fit_from_memory() {
    let folder = awkward();
    let fit = "fit t.csv -t y -m gam --drop id --missing mean --max-evaluations 2 --subset 500";
    let whole = folder.run(&format!("{fit} -o a.raysum")).succeeded();
    let parts = folder.run(&format!("{fit} --memory 1MB -o b.raysum")).succeeded();
    assert_eq!(whole.stderr, parts.stderr);
    assert!(whole.stderr.contains("413 missing cells in 413 rows filled"), "{whole:?}");
    assert!(
        whole.stderr.contains("'x' is not a number, so the whole column is taken"),
        "{whole:?}"
    );
    assert!(folder.bytes("a.raysum") == folder.bytes("b.raysum"));
    let piped = folder.run_on(
        &format!("{} --memory 1MB -o c.raysum", fit.replace("t.csv", "-")),
        folder.text("t.csv"),
    );
    piped.succeeded();
    let lines = |file: &str| folder.stdout(&format!("inspect {file}"));
    assert_eq!(
        lines("a.raysum").replace("a.raysum", ""),
        lines("c.raysum").replace("c.raysum", "")
    );
    // Missing cells of all chunks are counted.
    let fit = fit.replace("--missing mean", "");
    for memory in ["", "--memory 1MB"] {
        let says =
            "t.csv, line 5, column 'gap': the value is missing (and 412 more cells in 412 rows)";
        folder.run(&format!("{fit} {memory}")).failed(1, says);
    }
    // And evaluation reads from the file, too.
    let scores = "evaluate t.csv -t y -m gam --columns a,b --folds 2 --repeats 1 --json \
                  --max-evaluations 2 --subset 500";
    let score = |more: &str| {
        let json = folder.stdout(&format!("{scores} {more}"));
        json[json.find("nlpd_mean").unwrap()..].to_string()
    };
    assert_eq!(score(""), score("--memory 1MB"));
}
