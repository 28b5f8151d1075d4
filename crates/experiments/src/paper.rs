//! The paper's numbers, and the names of its models there and here.

use crate::chart::{Look, Marker};
use anyhow::{Context, Result};

const TABLE: &str = include_str!("../data/paper_table.csv");

/// A model: our name, the paper's, and how figures draw it.
const MODELS: [(&str, &str, Look); 12] = [
    ("rbf-ard", "RBF-ARD", look(6, true, Marker::Cross)),
    ("imq-ard", "IMQ-ARD", look(7, true, Marker::Diamond)),
    ("gam", "GAM", look(2, false, Marker::Triangle)),
    ("single-rp", "Single-RP", look(7, false, Marker::Cross)),
    ("rpa-1", "RPA-GP-1", look(4, true, Marker::Square)),
    ("rpa-2", "RPA-GP-2", look(3, false, Marker::Square)),
    ("rpa-3", "RPA-GP-3", look(3, true, Marker::Diamond)),
    ("dpa", "DPA-GP", look(5, false, Marker::Diamond)),
    ("rpa-ard", "RPA-GP-ARD", look(1, true, Marker::Square)),
    ("dpa-ard", "DPA-GP-ARD", look(0, false, Marker::Circle)),
    ("dpa-ard-ski", "DPA-GP-ARD-SKI", look(0, true, Marker::Circle)),
    ("rpa-1-ski", "RPA-GP-SKI", look(4, false, Marker::Triangle)),
];

const fn look(colour: usize, dashed: bool, marker: Marker) -> Look {
    Look { colour, dashed, marker }
}

/// The paper's name of a model, or ours where it has none.
pub(crate) fn name(model: &str) -> String {
    let found = MODELS.iter().find(|(ours, ..)| *ours == model);
    found.map_or(model, |(_, paper, _)| paper).to_string()
}

/// How figures draw a model.
pub(crate) fn look_of(model: &str) -> Look {
    let found = MODELS.iter().find(|(ours, ..)| *ours == model);
    found.map_or(look(7, false, Marker::None), |(.., look)| *look)
}

/// One cell of the paper's table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cell {
    pub(crate) set: String,
    pub(crate) rows: usize,
    /// Our name of the model.
    pub(crate) model: &'static str,
    /// `None` where the paper has no number.
    pub(crate) rmse: Option<Published>,
}

/// A mean over twice ten folds as the paper prints it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Published {
    pub(crate) mean: f64,
    pub(crate) two_sd: f64,
    pub(crate) bold: bool,
}

impl Published {
    /// The standard error of the mean.
    pub(crate) fn standard_error(&self) -> f64 {
        const FITS: f64 = 20.0;
        0.5 * self.two_sd / FITS.sqrt()
    }
}

/// The paper's table, in its order.
pub(crate) fn table() -> Result<Vec<Cell>> {
    TABLE.lines().skip(1).map(|line| cell(line).with_context(|| format!("'{line}'"))).collect()
}

fn cell(line: &str) -> Result<Cell> {
    let cells: Vec<&str> = line.split(',').collect();
    let [set, rows, _, model, mean, two_sd, bold] = cells[..] else {
        anyhow::bail!("not 7 cells");
    };
    let found = MODELS.iter().find(|(_, paper, _)| *paper == model);
    let rmse = match mean {
        "" => None,
        mean => Some(Published { mean: mean.parse()?, two_sd: two_sd.parse()?, bold: bold == "1" }),
    };
    Ok(Cell {
        set: set.into(),
        rows: rows.parse()?,
        model: found.context("an unknown model")?.0,
        rmse,
    })
}

/// The paper's sets, from the smallest to the largest.
pub(crate) fn sets() -> Result<Vec<String>> {
    let mut sets: Vec<(usize, String)> =
        table()?.into_iter().map(|cell| (cell.rows, cell.set)).collect();
    sets.sort_unstable();
    sets.dedup();
    Ok(sets.into_iter().map(|(_, set)| set).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        let table = table().unwrap();
        assert_eq!(table.len(), 16 * 10);
        assert_eq!(table.iter().filter(|cell| cell.rmse.is_none()).count(), 1);
        assert_eq!(sets().unwrap().len(), 16);
        assert_eq!(sets().unwrap()[15], "gas");
        for cell in &table {
            raysum::Config::preset(cell.model).unwrap();
        }
    }
}
