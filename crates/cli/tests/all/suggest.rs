//! `raysum suggest`: the next rows to try.

use crate::common::{Folder, Table, json_lines};

/// Yields of reactions: the best at 60 degrees, 3 cycles, in ethanol, with a catalyst.
fn reactions() -> Folder {
    let mut text = "temperature,cycles,solvent,catalyst,yield\n".to_string();
    for i in 0..60 {
        let (temperature, cycles) = (f64::from(20 + i * 37 % 71), f64::from(1 + i * 13 / 7 % 6));
        let solvent = ["water", "ethanol", "toluene"][i as usize % 3];
        let catalyst = i / 5 % 2 == 0;
        let far = ((temperature - 60.0) / 20.0).powi(2) + (cycles - 3.0).powi(2) / 4.0;
        let gain = f64::from(u8::from(solvent == "ethanol")) * 2.0 + f64::from(u8::from(catalyst));
        text += &format!("{temperature},{cycles},{solvent},{catalyst},{}\n", gain - far);
    }
    let folder = Folder::with("t.csv", text);
    folder.stdout("fit t.csv -t yield -m rbf-ard --held-out no -o m.raysum");
    folder
}

#[test]
fn good_rows_of_every_kind_are_suggested() {
    let folder = reactions();
    let lines = json_lines(&folder.stdout("suggest m.raysum --maximize -n 5 --json"));
    assert_eq!(lines.len(), 5);
    let best = lines.iter().filter(|line| {
        let near = (line["temperature"].as_f64().unwrap() - 60.0).abs() < 15.0;
        near && line["solvent"] == "ethanol" && line["catalyst"] == "true"
    });
    assert!(best.count() >= 3, "{lines:?}");
    let bounds =
        "--bounds temperature=30:40,cycles=5..6 --bounds solvent=water|toluene,catalyst=false";
    let table = folder.stdout(&format!("suggest m.raysum --maximize -n 4 {bounds}"));
    let mut rows = table.lines();
    let header = "temperature,cycles,solvent,catalyst,mean,std,lower,upper";
    assert_eq!(rows.next(), Some(header));
    for row in rows {
        let cells: Vec<&str> = row.split(',').collect();
        let temperature: f64 = cells[0].parse().unwrap();
        assert!((30.0..=40.0).contains(&temperature), "{row}");
        assert!(["5", "6"].contains(&cells[1]) && cells[3] == "false", "{row}");
        assert!(["water", "toluene"].contains(&cells[2]), "{row}");
    }
    // Suggested rows are read as they are written, and the same command gives the same rows.
    folder.write("next.csv", &table);
    folder.stdout("predict m.raysum next.csv");
    assert_eq!(folder.stdout(&format!("suggest m.raysum --maximize -n 4 {bounds}")), table);
}

#[test]
fn dates_have_bounds_too() {
    let table = Table::new(["a", "y"], 40, |i| [i as f64, (i as f64 - 20.0).powi(2)]);
    let days = |i: usize| format!("2026-{:02}-{:02}", 1 + i / 28, 1 + i % 28);
    let folder = Folder::with("t.csv", table.and("day", days).csv());
    folder.stdout("fit t.csv -t y -m gam --held-out no -o m.raysum");
    let rows = folder.stdout("suggest m.raysum -n 2 --bounds day=2026-01-05:2026-01-09,a=3");
    for row in rows.lines().skip(1) {
        assert!(row.starts_with("2026-01-0") && row.split(',').nth(1) == Some("3"), "{rows}");
    }
}
