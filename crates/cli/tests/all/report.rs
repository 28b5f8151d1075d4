//! `raysum report` and `predict --explain`.

use crate::common::{Folder, Random, json_lines};

/// Names that a page or a terminal would interpret.
fn hostile_names() -> Vec<String> {
    vec![
        "<script>alert(1)</script>".into(),
        "\"quoted\" & 'so'".into(),
        "\u{202e}right to left \u{5d0}".into(),
        "🚗 emoji".into(),
        "</script><img src=x onerror=alert(2)>".repeat(270),
    ]
}

fn cell(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// Rows of the hostile columns, a column of text, a constant, a copy, a column with gaps, and a target
/// that the first two decide.
fn hostile(rows: usize, seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut names = hostile_names();
    names.extend(["text", "constant", "copy", "gaps", "y</title><b>"].map(String::from));
    let header: Vec<String> = names.iter().map(|name| cell(name)).collect();
    let mut text = header.join(",") + "\n";
    for i in 0..rows {
        let x: Vec<f64> = (0..5).map(|_| random.normal()).collect();
        let y = x[0] * x[1] + x[0].sin() + 0.1 * random.normal();
        let word = ["<b>a</b>", "b\"", "</table>"][i % 3];
        let gap = if i % 7 == 0 { String::new() } else { format!("{:.4}", random.normal()) };
        let numbers: Vec<String> = x.iter().map(|v| format!("{v:.4}")).collect();
        text += &format!("{},{},5,{:.4},{gap},{y:.4}\n", numbers.join(","), cell(word), 2.0 * x[1]);
    }
    text
}

/// The page has no tag or script but its own, and loads nothing.
fn check_page(page: &str) {
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    assert!(page.len() < 500_000, "{} bytes", page.len());
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(page.matches("</script").count(), 1);
    assert_eq!(page.matches("<style").count(), 1);
    for bad in [
        "<img",
        "onerror=alert(2)>\"",
        "http:",
        "https:",
        "url(",
        "@import",
        "\u{202e}",
        "NaN",
        "inf",
    ] {
        let found = page
            .find(bad)
            .map(|at| page[at.saturating_sub(60)..].chars().take(120).collect::<String>());
        assert_eq!(found, None, "{bad}");
    }
    let charts: Vec<&str> =
        page.split("<svg").skip(1).map(|c| c.split("</svg>").next().unwrap()).collect();
    assert!(charts.len() >= 5, "{} charts", charts.len());
    assert!(charts.iter().all(|chart| chart.contains("class=\"mark")), "a chart has no marks");
    assert!(
        charts.iter().all(|chart| chart.contains("data-tip=")),
        "a chart shows nothing on hover"
    );
}

#[test]
fn hostile_names_are_shown_and_the_data_is_looked_at() {
    let folder = Folder::with("t.csv", hostile(120, 1));
    folder.stdout("fit t.csv -t -1 --effort quick --missing indicate -o m.raysum -q");
    let said = folder.stdout("report m.raysum t.csv -o r.html");
    assert!(said.contains("report on 120 rows written to r.html"), "{said}");
    let page = folder.text("r.html");
    check_page(&page);
    for shown in [
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "&quot;quoted&quot; &amp; &#39;so&#39;",
        "\\u{202e}right to left",
        "🚗 emoji",
        "&lt;/script&gt;&lt;img src=x onerr",
        "&lt;b&gt;a&lt;/b&gt;",
        "y&lt;/title&gt;&lt;b&gt;",
        "has the same value in every row",
        "says the same as",
        "Values are missing: <bdi>gaps</bdi>",
        "predicted without having been seen",
        "each predicted from all others",
        "raysum fit t.csv --target",
    ] {
        assert!(page.contains(shown), "{shown}");
    }
    // The same again, bit by bit, and to standard output.
    let again = folder.stdout("report m.raysum t.csv -o -");
    assert!(again.replace("t.csv -o -<", "t.csv -o r.html<") == page, "another page");
    // Other rows are scored by themselves.
    folder.write("new.csv", hostile(60, 2));
    folder.stdout("report m.raysum new.csv -o new.html");
    let page = folder.text("new.html");
    check_page(&page);
    assert!(page.contains("60 rows of this table, which the model was not fitted to"));
}

#[test]
fn a_report_never_replaces_an_input_and_says_what_is_wrong() {
    let folder = Folder::with("t.csv", hostile(60, 3));
    folder.stdout("fit t.csv -t -1 -m gam --held-out no --missing indicate -o m.raysum -q");
    let before = folder.snapshot();
    for line in ["report m.raysum t.csv -o t.csv", "report m.raysum t.csv -o m.raysum"] {
        let run = folder.run(line);
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.stderr.contains("it is an input of this command"), "{run:?}");
    }
    folder.write("bad.csv", "a,b\n1,2\n");
    assert_eq!(folder.run("report m.raysum bad.csv -o r.html").code, Some(1));
    std::fs::remove_file(folder.path("bad.csv")).unwrap();
    assert_eq!(folder.snapshot(), before);
    // Without held-out rows nothing is known about new ones.
    folder.stdout("report m.raysum t.csv");
    let page = folder.text("report.html");
    check_page(&page);
    assert!(page.contains("no rows were held out"), "{page}");
}

#[test]
fn five_hundred_columns_fit_into_a_small_page() {
    let mut random = Random::new(4);
    let names: Vec<String> =
        (0..500).map(|j| format!("a rather long name of column {j}")).collect();
    let mut text = names.join(",") + ",y\n";
    for _ in 0..60 {
        let x: Vec<f64> = (0..500).map(|_| random.normal()).collect();
        let y = x[0] + x[1] - x[2] + 0.1 * random.normal();
        let cells: Vec<String> = x.iter().chain([&y]).map(|v| format!("{v:.3}")).collect();
        text += &(cells.join(",") + "\n");
    }
    let folder = Folder::with("t.csv", text);
    folder.stdout("fit t.csv -t y -m rbf --max-evaluations 5 -o m.raysum -q");
    let line = json_lines(&folder.stdout("report m.raysum t.csv -o r.html --json")).remove(0);
    let page = folder.text("r.html");
    assert_eq!(line["bytes"], page.len());
    check_page(&page);
    assert!(
        page.contains("more columns (500) than rows (60)")
            || page.contains("There are more columns")
    );
}

#[test]
fn explained_predictions_add_up() {
    let folder = Folder::with("t.csv", hostile(80, 5));
    folder.stdout("fit t.csv -t -1 --effort quick --missing indicate -o m.raysum -q");
    let lines = json_lines(&folder.stdout("predict m.raysum t.csv --explain --json"));
    for line in &lines {
        let number = |name: &str| line[name].as_f64().unwrap();
        let fields = line.as_object().unwrap().keys();
        let names: Vec<&String> = fields.filter(|n| n.starts_with("contribution.")).collect();
        // Every column of the table but the target.
        assert_eq!(names.len(), 9, "{names:?}");
        let total = number("baseline") + names.iter().map(|n| number(n)).sum::<f64>();
        assert!((total - number("mean")).abs() < 1e-3, "{line}");
    }
    assert_eq!(lines.len(), 80);
}

#[test]
fn targets_that_a_model_cannot_have_are_a_warning() {
    let mut random = Random::new(3);
    let mut table = String::from("a,y\n");
    for _ in 0..80 {
        let a = random.normal();
        table += &format!("{a:.4},{:.5}\n", (a + 0.2 * random.normal()).exp());
    }
    let folder = Folder::with("old.csv", &table);
    folder.write("new.csv", "a,y\n0.1,1.1\n0.2,-3\n-0.4,0.6\n");
    folder.stdout(
        "fit old.csv -t y -m linear --target-scale yeo-johnson --held-out no -o m.raysum -q",
    );
    folder.stdout("report m.raysum new.csv -o r.html");
    let said = "The target is 0 or below in 1 row, but the model takes its logarithm";
    assert!(folder.text("r.html").contains(said));
}
