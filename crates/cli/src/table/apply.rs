//! Turns a table into the numbers a model works on, by an encoding learned in training.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Result, bail};

use super::locate::Located;
use super::missing::keep_rows;
use super::tally::{Tally, Unknown};
use super::words::quoted;
use super::{Cells, Column, Encoding, Feature, Kind, Missing, NO_TEXT, Table, detect, unusable};

/// A table as numbers.
#[derive(Clone, Debug)]
pub(crate) struct Encoded {
    /// The encoded features, row after row.
    pub(crate) x: Vec<f64>,
    /// The number of rows.
    pub(crate) rows: usize,
    /// The number of encoded columns.
    pub(crate) cols: usize,
    /// The targets, where they were asked for.
    pub(crate) targets: Vec<Vec<f64>>,
    /// How often each row counts, where it was asked for and there is a column for it.
    pub(crate) weights: Option<Vec<f64>>,
    /// The known standard deviation of each row's noise, where there is a column for it.
    pub(crate) noise_std: Option<Vec<f64>>,
    /// Which row of the table each row is.
    pub(crate) kept: Vec<usize>,
    /// What could not be taken as it was.
    pub(crate) tally: Tally,
}

/// A feature's cells in the table at hand.
enum Values<'a> {
    Number(&'a [f64]),
    Text {
        texts: Cow<'a, [Arc<str>]>,
        codes: Cow<'a, [u32]>,
        /// The category of each text; `None` if training did not know it.
        places: Vec<Option<usize>>,
    },
}

impl Encoding {
    /// Encodes a whole table, and says what the user should hear.
    #[cfg(test)]
    pub(super) fn apply(
        &self,
        table: &Table,
        missing: Missing,
        with_target: bool,
    ) -> Result<(Encoded, Vec<String>)> {
        let encoded = self.apply_part(table, missing, with_target)?;
        encoded.tally.check(&table.name)?;
        let mut notes = self.notes.clone();
        notes.extend(encoded.tally.notes(&table.name));
        Ok((encoded, notes))
    }

    /// Encodes a table, or a part of one, of which no row may be left. `with_target` asks for
    /// targets and weights too, which have to be there then.
    pub(crate) fn apply_part(
        &self,
        table: &Table,
        missing: Missing,
        with_target: bool,
    ) -> Result<Encoded> {
        let Located { features: columns, targets, weights, noise_std } =
            self.locate(table, with_target)?;
        let mut values = Vec::with_capacity(columns.len());
        for (feature, column) in self.features.iter().zip(&columns) {
            values.push(feature.values(table, column)?);
        }
        let needed: Vec<&Column> =
            targets.iter().copied().chain(weights).chain(noise_std).collect();
        for column in &needed {
            numbers(table, column)?;
        }
        let mut tally = Tally::default();
        let kept = keep_rows(table, &columns, &needed, missing, &mut tally);
        let pick = |column: &Column| -> Result<Vec<f64>> {
            let values = numbers(table, column)?;
            Ok(kept.iter().map(|row| values[*row]).collect())
        };
        let checked = |column: &Column, what: &str, good: fn(f64) -> bool, rule: &str| {
            let values = pick(column)?;
            if let Some(k) = values.iter().position(|value| !good(*value)) {
                let place = table.at(kept[k], &column.name);
                bail!("{place}: the {what} is {}, but must be {rule}", values[k]);
            }
            Ok(values)
        };
        let weights =
            weights.map(|column| checked(column, "weight", |w| w > 0.0, "above 0")).transpose()?;
        let noise_std = noise_std
            .map(|column| checked(column, "noise std", |s| s >= 0.0, "at least 0"))
            .transpose()?;
        let targets = targets.into_iter().map(pick).collect::<Result<_>>()?;
        let cols = self.expand_len();
        let mut x = vec![0.0; kept.len() * cols];
        // Without features there would be no chunks, but learning and validation rule that out.
        for (row, out) in kept.iter().zip(x.chunks_exact_mut(cols.max(1))) {
            self.fill_row(&values, *row, out);
        }
        for (feature, values) in self.features.iter().zip(&values) {
            tally.unknown.extend(unknown(feature, values, &kept));
        }
        let rows = kept.len();
        Ok(Encoded { x, rows, cols, targets, weights, noise_std, kept, tally })
    }

    /// Writes one row's encoded features over zeros.
    fn fill_row(&self, values: &[Values], row: usize, out: &mut [f64]) {
        let mut start = 0;
        for (feature, values) in self.features.iter().zip(values) {
            let end = start + feature.len();
            let (slot, means) = (&mut out[start..end], &self.means[start..end]);
            match values {
                Values::Number(values) if values[row].is_nan() => slot.copy_from_slice(means),
                Values::Number(values) => slot[0] = values[row],
                Values::Text { codes, .. } if codes[row] == NO_TEXT => slot.copy_from_slice(means),
                Values::Text { codes, places, .. } => {
                    if let Some(place) = places[codes[row] as usize] {
                        slot[place] = 1.0;
                    }
                }
            }
            start = end;
        }
    }
}

impl Feature {
    /// Reads a column as what it was in training.
    fn values<'a>(&self, table: &Table, column: &'a Column) -> Result<Values<'a>> {
        let Kind::Text { categories } = &self.kind else {
            let values = numbers(table, column)?;
            let known = column.missing < values.len();
            if known && column.dates != (self.kind == Kind::Date) {
                let (now, then) =
                    if column.dates { ("dates", "numbers") } else { ("numbers", "dates") };
                bail!(
                    "{}, column {}: it holds {now}, but the model was trained on {then} here",
                    table.name,
                    quoted(&column.name)
                );
            }
            return Ok(Values::Number(values));
        };
        let (texts, codes) = match &column.cells {
            Cells::Text { texts, codes } => (Cow::from(&texts[..]), Cow::from(&codes[..])),
            Cells::Other(kind) => return Err(unusable(&table.name, &column.name, kind)),
            Cells::Number(values) => {
                let (texts, codes) = spell(values);
                (Cow::from(texts), Cow::from(codes))
            }
        };
        // A category that is a number matches however it is spelled: a column of nothing but
        // numbers has lost its spelling.
        let as_number: Vec<Option<f64>> = categories.iter().map(|c| detect::number(c)).collect();
        let place = |text: &Arc<str>| {
            let exact = categories.binary_search_by(|category| category.as_str().cmp(text)).ok();
            let spelled = || {
                let value = detect::number(text)?;
                as_number.iter().position(|number| *number == Some(value))
            };
            // So does a truth value: some programs write True, others true.
            let truth = || {
                let same = |category: &String| category.eq_ignore_ascii_case(text);
                detect::is_truth(text).then(|| categories.iter().position(same))?
            };
            exact.or_else(spelled).or_else(truth)
        };
        let places = texts.iter().map(place).collect();
        Ok(Values::Text { texts, codes, places })
    }
}

/// The cells of a column that was numbers in training.
fn numbers<'a>(table: &Table, column: &'a Column) -> Result<&'a [f64]> {
    table.check_usable(column)?;
    if let Cells::Number(values) = &column.cells {
        return Ok(values);
    }
    let (row, text) = first_text(column).unwrap_or_default();
    bail!(
        "{}: {} is not a number, but the model was trained on numbers here",
        table.at(row, &column.name),
        quoted(text),
    )
}

/// The first cell that is not a number, if there is one.
fn first_text(column: &Column) -> Option<(usize, &str)> {
    let Cells::Text { texts, codes } = &column.cells else { return None };
    let not_number: Vec<bool> = texts.iter().map(|text| detect::number(text).is_none()).collect();
    let is_text = |code: &u32| not_number.get(*code as usize).is_some_and(|text| *text);
    let row = codes.iter().position(is_text)?;
    Some((row, texts.get(codes[row] as usize)?))
}

/// Numbers as texts, with one code per distinct number.
fn spell(values: &[f64]) -> (Vec<Arc<str>>, Vec<u32>) {
    let mut texts = Vec::new();
    let mut seen = HashMap::new();
    let code = |value: &f64| {
        if value.is_nan() {
            return NO_TEXT;
        }
        *seen.entry(value.to_bits()).or_insert_with(|| {
            texts.push(value.to_string().into());
            texts.len() as u32 - 1
        })
    };
    let codes = values.iter().map(code).collect();
    (texts, codes)
}

/// The categories of some rows that training did not know, if there are any.
fn unknown(feature: &Feature, values: &Values, kept: &[usize]) -> Option<Unknown> {
    let Values::Text { texts, codes, places } = values else { return None };
    let mut found = Unknown { column: feature.name.clone(), rows: 0, first: Vec::new() };
    for code in kept.iter().map(|row| codes[*row] as usize) {
        if places.get(code).is_some_and(Option::is_none) {
            found.add(&texts[code]);
        }
    }
    (found.rows > 0).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::super::Chosen;
    use super::super::from_text;
    use super::*;

    fn learn(text: &str) -> Encoding {
        let table = from_text(text);
        let last = table.columns.len() - 1;
        Encoding::learn(&(&table).into(), last, &Chosen::default()).unwrap()
    }

    fn apply(encoding: &Encoding, text: &str) -> Result<(Encoded, Vec<String>)> {
        encoding.apply(&from_text(text), Missing::Error, false)
    }

    #[test]
    fn numbers_and_categories() {
        let encoding = learn("a,c,y\n1,u,5\n2,v,6\n");
        let table = from_text("c,y,a\nv,1,7\n\nu,2,8\n");
        let (encoded, notes) = encoding.apply(&table, Missing::Error, true).unwrap();
        assert_eq!((encoded.rows, encoded.cols), (2, 3));
        assert_eq!(encoded.x, [7.0, 0.0, 1.0, 8.0, 1.0, 0.0]);
        assert_eq!(encoded.targets, [[1.0, 2.0]]);
        assert_eq!(encoded.kept, [0, 1]);
        assert!(notes.is_empty());
        assert!(apply(&encoding, "c,a\nv,1\n").unwrap().0.targets.is_empty());
    }

    #[test]
    fn categories_that_are_numbers() {
        let encoding = learn("c,y\n4,1\n05,2\nred,3\n");
        let cases = [
            // A column of nothing but numbers, and one of both.
            ("c\n4\n5\n05\n", &[[0, 1, 0], [1, 0, 0], [1, 0, 0]]),
            ("c\n4.0\n05\nred\n", &[[0, 1, 0], [1, 0, 0], [0, 0, 1]]),
        ];
        for (text, rows) in cases {
            let (encoded, notes) = apply(&encoding, text).unwrap();
            assert_eq!(encoded.x, rows.concat().into_iter().map(f64::from).collect::<Vec<_>>());
            assert_eq!(notes, encoding.notes);
        }
    }

    #[test]
    fn truth_values_match_however_they_are_spelled() {
        let encoding = learn("c,y\nTrue,1\nFalse,2\n");
        let (encoded, notes) = apply(&encoding, "c\ntrue\nFALSE\nno\n").unwrap();
        assert_eq!(encoded.x, [0.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
        assert!(notes[0].contains("'no'"), "{notes:?}");
        // Other texts are told apart by case.
        let (encoded, _) = apply(&learn("c,y\nRed,1\nred,2\n"), "c\nRED\n").unwrap();
        assert_eq!(encoded.x, [0.0, 0.0]);
    }

    #[test]
    fn dates_stay_dates() {
        let encoding = learn("when,y\n1970-01-03,1\n1970-01-05,2\n");
        let (encoded, _) = apply(&encoding, "when\n1970-01-02T12:00\n").unwrap();
        assert_eq!(encoded.x, [1.5]);
        let error = apply(&encoding, "when\n3\n").unwrap_err().to_string();
        let says =
            "t.csv, column 'when': it holds numbers, but the model was trained on dates here";
        assert_eq!(error, says);
        let error = apply(&learn("x,y\n1,1\n2,2\n"), "x\n1970-01-02\n").unwrap_err().to_string();
        assert!(error.contains("it holds dates, but the model was trained on numbers"), "{error}");
    }

    #[test]
    fn unknown_categories_are_zeros_and_a_note() {
        let encoding = learn("a,c,y\n1,u,1\n2,v,2\n");
        let cases = [
            ("a,c\n1,w\n2,u\n3,w\n4,z\n", "3 rows", "'w', 'z'"),
            ("a,c\n1,7\n", "1 row", "'7'"),
            ("a,c\n1,k\n1,l\n1,m\n1,n\n1,o\n1,p\n", "6 rows", "'k', 'l', 'm', 'n', 'o', …"),
        ];
        for (text, rows, listed) in cases {
            let (encoded, notes) = apply(&encoding, text).unwrap();
            assert_eq!(encoded.x[..3], [1.0, 0.0, 0.0]);
            let note = format!(
                "t.csv, column 'c': {rows} with categories that training did not have \
                 ({listed}), taken as none of the known ones"
            );
            assert_eq!(notes, [note]);
        }
    }

    #[test]
    fn training_notes_come_once() {
        let encoding = learn("a,b,y\n1,1,1\n1,2,2\n");
        let note = "t.csv, column 'a': every value is '1', so nothing can be learned from it";
        assert_eq!(apply(&encoding, "a,b\n1,2\n").unwrap().1, [note]);
        let json = serde_json::to_string(&encoding).unwrap();
        let loaded: Encoding = serde_json::from_str(&json).unwrap();
        assert!(apply(&loaded, "a,b\n1,2\n").unwrap().1.is_empty());
    }

    #[test]
    fn errors() {
        let encoding = learn("a,b,y\n1,2,1\n2,3,2\n");
        let finite = "is not a finite number; leave the cell empty if the value is missing";
        let number = "is not a number, but the model was trained on numbers here";
        let cases = [
            ("a,b,y\n1,2,3\n2,abc,4\n", format!("t.csv, line 3, column 'b': 'abc' {number}")),
            ("a,b,y\n1,2,3\n2,3,low\n", format!("t.csv, line 3, column 'y': 'low' {number}")),
            ("a,b,y\n1,Inf,3\n", format!("t.csv, line 2, column 'b': 'Inf' {finite}")),
            ("a,b,y\n1,2,1e999\n", format!("t.csv, line 2, column 'y': '1e999' {finite}")),
        ];
        for (text, message) in cases {
            let error = encoding.apply(&from_text(text), Missing::Mean, true).unwrap_err();
            assert_eq!(error.to_string(), message);
        }
        // What is not used does no harm.
        apply(&encoding, "a,b,y,z\n1,2,low,3\n3,4,5,inf\n").unwrap();
    }
}
