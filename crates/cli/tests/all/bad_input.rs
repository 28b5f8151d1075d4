//! Invalid input ends with one sentence and an exit code, and changes no file; unusual but valid
//! input gives finite predictions.

use crate::common::{Folder, Random, Table, gzip, sound_predictions};
use std::fs;
use std::sync::OnceLock;

/// Rows of `good.csv`.
const ROWS: usize = 20;

/// A good table.
fn good() -> Table {
    Table::smooth(ROWS, 1)
}

/// The bytes of two models of the good table: by the names of its columns, and by position.
fn models() -> &'static [Vec<u8>; 2] {
    static MODELS: OnceLock<[Vec<u8>; 2]> = OnceLock::new();
    MODELS.get_or_init(|| {
        let folder = Folder::with("named.csv", good().csv());
        folder.write("bare.csv", good().bare(","));
        ["named", "bare"].map(|name| {
            folder.stdout(&format!("fit {name}.csv -t -1 -m gam -o {name}.raysum"));
            folder.bytes(&format!("{name}.raysum"))
        })
    })
}

/// A folder with a good table, two models of it, and older results that must not change.
fn prepared() -> Folder {
    let folder = Folder::with("good.csv", good().csv());
    let [named, bare] = models();
    folder.write("good.raysum", named);
    folder.write("bare.raysum", bare);
    folder.write("old.raysum", named);
    folder.write("old.csv", "mean,std,lower,upper\n1,1,0,2\n");
    fs::create_dir(folder.path("taken")).unwrap();
    folder
}

/// Checks that a command fails with this code and message, and that no file is created or removed.
#[track_caller]
fn fails(folder: &Folder, line: &str, code: i32, says: &str) {
    let before = folder.snapshot();
    folder.run(line).failed(code, says);
    assert!(folder.snapshot() == before, "{line}: the files in the folder are others");
}

/// Here and not on the list of messages, which leaves the usage out.
#[test]
fn no_command_at_all() {
    fails(&prepared(), "", 2, "Usage: raysum");
}

/// Here and not on the list of messages: the residual it names may differ from machine to machine.
#[test]
fn a_solve_that_does_not_converge() {
    let line = "fit good.csv -t y -m dpa-ard --engine ski --cg-iterations 1 --cg-tolerance 1e-14 -o old.raysum";
    fails(&prepared(), line, 1, "conjugate gradients did not converge: after 1 iterations");
}

#[test]
fn tables_that_cannot_be_fitted() {
    let whole = gzip(Table::smooth(200, 2).csv());
    let slip = Table::smooth(60, 2).set(7, "b", "0.l5").csv();
    let cases: [(&[u8], &str); 23] = [
        (b"", "bad.csv is empty"),
        (b"\n\n", "bad.csv is empty"),
        (b"a,b,y\n", "bad.csv has a header line but no rows"),
        (b"a,b,y\n1,2,3\n", "a fit needs at least 2 rows, but there is 1 left"),
        (b"a,b,y\n1,2,3\n4,5\n6,7,8\n", "line 3: found 2 fields, expected 3 as in line 1"),
        (b"a,b,y\n1,2,3\n\n4,5,6,7\n", "line 4: found 4 fields, expected 3 as in line 1"),
        (b"a,b,y\n1,2,3\n\xff\xfe,5,6\n", "line 3: this is not UTF-8 text"),
        (b"a,b,y\n1,2,3\n4,\"5,6\n7,8,9\n", "line 3: a quoted field is opened here and never"),
        (b"a,b,y\n1,2,3\n4,\0,6\n", "NUL bytes"),
        (b"\xff\xfea\0,\0y\0\n\0", "NUL bytes"),
        (&whole[..whole.len() / 2], "the compressed data is cut off or damaged"),
        (&whole[..whole.len() - 1], "the compressed data is cut off or damaged"),
        (&whole[..3], "the compressed data is cut off or damaged"),
        (b"a,b,y\n1,2,3\n4,inf,6\n", "line 3, column 'b': 'inf' is not a finite number"),
        (b"a,b,y\n1,2,3\n4,5,-Inf\n", "line 3, column 'y': '-Inf' is not a finite number"),
        (b"a,b,y\n1,1e400,3\n4,5,6\n", "line 2, column 'b': '1e400' is not a finite number"),
        (b"a,b,y\n1,2,3\n4,NaN,6\n", "line 3, column 'b': the value is missing"),
        (b"a,b,y\n1,2,3\n4,5,\n", "line 3, column 'y': the value is missing"),
        (b"a,b,y\n1,2,low\n4,5,high\n", "the target 'y' holds text ('low' at line 2)"),
        (b"a,b,y\n1,2,\n4,5,?\n", "the target 'y' has no values"),
        (b"a,b,y\n,2,3\n,5,6\n", "column 'a': it has no values; use --drop a"),
        (b"y,a,y\n1,2,3\n4,5,6\n", "columns 0 and 2 (counted from 0) are both named 'y'"),
        (slip.as_bytes(), "line 9, column 'b': '0.l5' is not a number"),
    ];
    let folder = prepared();
    for (content, says) in cases {
        folder.write("bad.csv", content);
        fails(&folder, "fit bad.csv -t y -o old.raysum", 1, says);
        fails(&folder, "evaluate bad.csv -t y --folds 2", 1, says);
    }
    folder.write("bad.csv", "y\n1\n2\n3\n");
    fails(&folder, "fit bad.csv -t y -o old.raysum", 1, "no columns are left to predict 'y'");
}

#[test]
fn tables_that_cannot_be_predicted() {
    let cut = gzip(good().csv());
    let cases: [(&str, &[u8], &str); 14] = [
        ("good", b"", "bad.csv is empty"),
        ("good", b"a,b,c\n", "bad.csv has a header line but no rows"),
        ("good", b"a,b\n1,2\n", "needs 1 column that is not there: 'c'"),
        ("good", b"x,y\n1,2\n", "needs 3 columns that are not there: 'a', 'b', 'c'"),
        ("good", b"a,b,c\n1,2,3\n4,many,6\n", "line 3, column 'b': 'many' is not a number"),
        ("good", b"a,b,c\n1,2,3\n4,5,inf\n", "line 3, column 'c': 'inf' is not a finite"),
        ("good", b"a,b,c\n1,1e999,3\n", "line 2, column 'b': '1e999' is not a finite"),
        ("good", b"a,b,c\n1,2,3\n4,nan,6\n", "line 3, column 'b': the value is missing"),
        ("good", b"a,b,c\n1,2,3\n4,5\n", "line 3: found 2 fields, expected 3"),
        ("good", b"1,2,3\n4,5,6\n", "seems to have no header line"),
        ("good", &cut[..cut.len() - 9], "the compressed data is cut off or damaged"),
        ("bare", b"1,2\n3,4\n", "found 2 columns, expected 4 as in the training file, or 3"),
        ("bare", b"1,2,3,4,5\n1,2,3,4,5\n", "found 5 columns, expected 4"),
        ("bare", b"1,2,3\n4,many,6\n", "line 2, column '1': 'many' is not a number"),
    ];
    let folder = prepared();
    for (model, content, says) in cases {
        folder.write("bad.csv", content);
        fails(&folder, &format!("predict {model}.raysum bad.csv"), 1, says);
        fails(&folder, &format!("predict {model}.raysum bad.csv -o old.csv"), 1, says);
    }
    folder.write("bad.csv", "a,b,c\n1,,3\n,5,6\n");
    let line = "predict good.raysum bad.csv --missing drop -o old.csv";
    fails(&folder, line, 1, "a value is missing in every row, so none is left");
}

/// Checks that neither a prediction nor an inspection takes this for a model.
#[track_caller]
fn is_no_model(folder: &Folder, content: &[u8], says: &str) {
    folder.write("bad.raysum", content);
    fails(folder, "predict bad.raysum good.csv -o old.csv", 1, says);
    fails(folder, "predict bad.raysum good.csv", 1, says);
    fails(folder, "inspect bad.raysum", 1, says);
}

#[test]
fn files_that_are_no_models() {
    let mut random = Random::new(1);
    let noise: Vec<u8> = (0..5000).map(|_| random.bits() as u8).collect();
    let header = br#"{"weight":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}     "#;
    let others = [&(header.len() as u64).to_le_bytes()[..], header, &[0; 4]].concat();
    let folder = prepared();
    for content in
        [&b""[..], b"x", &[0; 100], &[0xff; 100], &noise, &others, good().csv().as_bytes()]
    {
        is_no_model(&folder, content, "bad.raysum: not a raysum model file");
    }
    for (line, says) in [
        ("predict none.raysum good.csv", "none.raysum: No such file"),
        ("inspect none.raysum", "none.raysum: No such file"),
        ("predict taken good.csv", "taken: Is a directory"),
        ("predict good.csv good.raysum", "good.csv: not a raysum model file"),
    ] {
        fails(&folder, line, 1, says);
    }
}

#[test]
fn models_that_were_cut_off() {
    let [model, _] = models();
    let header = header_len(model);
    let folder = prepared();
    for end in [1, 7, 8] {
        is_no_model(&folder, &model[..end], "not a raysum model file");
    }
    let size = model.len();
    let ends = [60, 100, 8 + header / 2, 7 + header, 8 + header, 16 + header];
    for end in ends.into_iter().chain([(8 + header).midpoint(size), size - 8, size - 1]) {
        is_no_model(&folder, &model[..end], "bad.raysum: the model file is damaged (");
    }
    is_no_model(&folder, &[model, &b"more"[..]].concat(), "the model file is damaged (");
}

fn header_len(model: &[u8]) -> usize {
    u64::from_le_bytes(model[..8].try_into().unwrap()) as usize
}

#[test]
fn a_model_of_a_later_format() {
    let format = |number: u64| format!(r#"\"format\":{number},"#).into_bytes();
    let (old, new) = (format(raysum::FORMAT), format(9));
    let mut model = models()[0].clone();
    let at = model.windows(old.len()).position(|w| w == old).unwrap();
    model[at..at + new.len()].copy_from_slice(&new);
    is_no_model(&prepared(), &model, "model file format 9, but this raysum reads formats 2 to 5");
}

/// Checks that a damaged model is refused, or else predicts finite numbers.
#[track_caller]
fn is_refused_or_sound(folder: &Folder, model: &[u8], damage: &str) {
    println!("{damage}");
    folder.write("bad.raysum", model);
    let run = folder.run("predict bad.raysum good.csv");
    if run.code == Some(0) {
        sound_predictions(&run.stdout, ROWS);
    } else {
        run.failed(1, "");
    }
}

#[test]
fn models_with_flipped_bits() {
    let [model, _] = models();
    let folder = prepared();
    let masks = [0x01, 0x40, 0x80, 0xff].into_iter().cycle();
    for (at, mask) in (0..model.len()).step_by(13).zip(masks) {
        let mut damaged = model.clone();
        damaged[at] ^= mask;
        is_refused_or_sound(&folder, &damaged, &format!("byte {at} by {mask:#04x}"));
    }
}

#[test]
fn models_with_huge_numbers_in_them() {
    let [model, _] = models();
    let folder = prepared();
    for at in (8 + header_len(model)..model.len()).step_by(8) {
        let mut damaged = model.clone();
        let sign = damaged[at + 7] & 0x80;
        damaged[at..at + 8].copy_from_slice(&1.5e308_f64.to_le_bytes());
        damaged[at + 7] |= sign;
        is_refused_or_sound(&folder, &damaged, &format!("number at byte {at}"));
    }
}

#[test]
fn outputs_that_cannot_be_written() {
    let folder = prepared();
    for (output, says) in [
        ("no/such/folder", "the folder no/such does not exist"),
        ("good.csv/below", "good.csv is not a folder"),
        ("taken", "it is a folder"),
        #[cfg(target_os = "linux")]
        ("/proc/raysum", "/proc/raysum"),
    ] {
        fails(&folder, &format!("fit good.csv -t y -m gam -o {output}"), 1, says);
        fails(&folder, &format!("predict good.raysum good.csv -o {output}"), 1, says);
    }
    fails(&folder, "demo -o good.csv", 1, "cannot make the folder good.csv");
    fails(&folder, "demo -o good.csv/below", 1, "cannot make the folder good.csv/below");
}

#[cfg(unix)]
#[test]
fn folders_that_may_not_be_written() {
    use std::os::unix::fs::PermissionsExt;
    let folder = prepared();
    let allow = |mode| {
        fs::set_permissions(folder.path("taken"), fs::Permissions::from_mode(mode)).unwrap();
    };
    allow(0o555);
    // Permissions do not apply to the superuser.
    if fs::write(folder.path("taken/probe"), "").is_err() {
        fails(&folder, "fit good.csv -t y -m gam -o taken/m.raysum", 1, "Permission denied");
        fails(&folder, "predict good.raysum good.csv -o taken/p.csv", 1, "Permission denied");
    }
    allow(0o755);
}

/// Fits four kinds of model to a table, and checks what they predict for it and far outside.
#[track_caller]
fn is_fitted(what: &str, table: &Table) {
    let folder = Folder::with("t.csv", table.csv());
    let features: Vec<&str> =
        table.names.iter().map(String::as_str).filter(|name| *name != "y").collect();
    let mut far = table.columns(&features);
    far.rows = ["1e300", "-1e300", "1.7e308", "1e-300", "0"]
        .map(|value| vec![value.to_string(); features.len()])
        .into();
    folder.write("far.csv", far.csv());
    for model in [
        "dpa-ard",
        "rbf-ard --held-out no",
        "rpa-2 --held-out no",
        "dpa-ard-ski -J 5 --held-out no --max-evaluations 5",
    ] {
        println!("{what}, {model}");
        let fit = folder.stdout(&format!("fit t.csv -t y -m {model} -o m.raysum --json"));
        assert!(!fit.contains("\"log_marginal_likelihood\":null"), "{what}, {model}: {fit}");
        sound_predictions(&folder.stdout("predict m.raysum t.csv"), table.rows.len());
        sound_predictions(&folder.stdout("predict m.raysum far.csv"), far.rows.len());
        folder.stdout("inspect m.raysum");
    }
    if table.rows.len() >= 4 {
        mixtures(what, &folder, table.rows.len());
        let scores = folder.stdout("evaluate t.csv -t y --folds 2 -m gam --json");
        assert!(!scores.contains("null"), "{what}: {scores}");
    }
}

/// Fits a mixture, if there are enough rows that differ.
#[track_caller]
fn mixtures(what: &str, folder: &Folder, rows: usize) {
    println!("{what}, auto");
    let run = folder.run("fit t.csv -t y --effort quick -o m.raysum --json");
    if run.code == Some(1) {
        let says = "t.csv: the choice of models needs at least 10 distinct rows, but";
        assert!(run.stderr.contains(says), "{what}: {run:?}");
        return;
    }
    assert!(!run.succeeded().stdout.contains("\"rmse\":null"), "{what}");
    sound_predictions(&folder.stdout("predict m.raysum t.csv"), rows);
    sound_predictions(&folder.stdout("predict m.raysum far.csv"), 5);
}

/// A table with columns `a`, `b` and `y`, each row made from three normal numbers.
fn strange(rows: usize, row: impl Fn(usize, [f64; 3]) -> [f64; 3]) -> Table {
    let mut random = Random::new(9);
    Table::new(["a", "b", "y"], rows, |i| row(i, [(); 3].map(|()| random.normal())))
}

#[test]
fn strange_features() {
    let mut wide = Table::smooth(5, 3);
    for k in 0..37 {
        let mut random = Random::new(k);
        let cells: Vec<String> = (0..5).map(|_| random.normal().to_string()).collect();
        wide = wide.and(&format!("x{k}"), |i| cells[i].clone());
    }
    for (what, table) in [
        ("a constant column", strange(20, |_, [a, _, y]| [a, 5.0, y])),
        ("nothing but constants", strange(20, |_, [_, _, y]| [0.0, 5.0, y])),
        ("collinear columns", strange(20, |_, [a, _, y]| [a, -3.0 * a, a + 0.1 * y])),
        ("rows that differ in y only", strange(20, |i, [_, _, y]| [(i % 2) as f64, 1.0, y])),
        ("all rows alike", strange(12, |_, _| [1.0, 2.0, 3.0])),
        ("huge and tiny columns", strange(20, |_, [a, b, y]| [1e300 * a, 1e-300 * b, y])),
        ("one huge value", strange(20, |i, [a, b, y]| [if i == 3 { 1e300 } else { a }, b, y])),
        (
            "columns at the ends",
            strange(20, |i, [a, _, y]| {
                [f64::MAX.copysign(a), if i % 2 == 0 { 5e-324 } else { 0.0 }, y]
            }),
        ),
        ("more columns than rows", wide),
        ("2 rows", strange(2, |_, row| row)),
        ("2 equal rows", strange(2, |_, _| [1.0, 2.0, 3.0])),
        ("3 rows", strange(3, |_, row| row)),
    ] {
        is_fitted(what, &table);
    }
}

#[test]
fn strange_targets() {
    for (what, table) in [
        ("a constant", strange(20, |_, [a, b, _]| [a, b, 7.0])),
        ("always zero", strange(20, |_, [a, b, _]| [a, b, 0.0])),
        ("three levels", strange(20, |i, [a, b, _]| [a, b, (i % 3) as f64])),
        ("one outlier", strange(20, |i, [a, b, y]| [a, b, if i == 3 { 1e12 } else { y }])),
        ("a large mean", strange(20, |_, [a, b, y]| [a, b, 1e12 + 1e-3 * y])),
        ("only noise", strange(20, |_, row| row)),
    ] {
        is_fitted(what, &table);
    }
}

#[test]
fn targets_near_the_ends_of_the_range() {
    for (what, table) in [
        ("1e300", strange(20, |_, [a, b, y]| [a, b, 1e300 * (a + y)])),
        ("1e-300", strange(20, |_, [a, b, y]| [a, b, 1e-300 * (a + y)])),
        ("always 1e300", strange(20, |_, [a, b, _]| [a, b, 1e300])),
    ] {
        is_fitted(what, &table);
    }
}
