//! Learns from a training table which columns hold numbers and which hold categories.

use std::collections::HashSet;

use anyhow::{Context, Result, bail, ensure};

use super::survey::{Content, Seen, Survey, Texts};
use super::words::{count, option, quoted};
use super::{Encoding, Feature, Kind, MAX_CATEGORIES, Place, Roles, find_column, unusable};

/// This many cells, and this share of them, are typos rather than categories.
const MAX_TYPOS: usize = 20;
const MAX_TYPO_SHARE: f64 = 0.05;

/// The columns to predict from, as [`find_column`] takes them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Chosen<'a> {
    /// These alone, if there are any.
    pub(crate) columns: &'a [String],
    /// None of these.
    pub(crate) drop: &'a [String],
}

impl Encoding {
    /// Learns the encoding of the chosen columns, apart from the target.
    pub(crate) fn learn(
        table: &Survey,
        roles: impl Into<Roles>,
        chosen: &Chosen<'_>,
    ) -> Result<Self> {
        let file = &table.name;
        let roles = roles.into();
        let mut left_out = HashSet::new();
        if !chosen.columns.is_empty() {
            left_out.extend(0..table.columns.len());
            for spec in chosen.columns {
                left_out.remove(&find_column(table, spec)?);
            }
            left_out.retain(|index| !roles.all().any(|role| role == *index));
        }
        for index in roles.all() {
            let name = table.columns.get(index).map_or("", |column| column.name.as_str());
            ensure!(left_out.insert(index), "{file}: column {} has two roles", quoted(name));
        }
        for spec in chosen.drop {
            let index = find_column(table, spec)?;
            ensure!(
                !roles.targets.contains(&index),
                "{file}: the target {} cannot be dropped",
                quoted(&table.columns[index].name)
            );
            left_out.insert(index);
        }
        let place = |what: &str, position: usize| number_column(table, what, position);
        let targets = roles.targets.iter().map(|target| place("target", *target));

        let mut encoding = Self {
            has_header: table.has_header,
            targets: targets.collect::<Result<_>>()?,
            weights: roles.weights.map(|column| place("weight", column)).transpose()?,
            noise_std: roles.noise_std.map(|column| place("noise std", column)).transpose()?,
            width: table.columns.len(),
            features: Vec::new(),
            means: Vec::new(),
            notes: Vec::new(),
        };
        for (position, column) in table.columns.iter().enumerate() {
            if !left_out.contains(&position) {
                encoding.learn_feature(table, column, position)?;
            }
        }
        ensure!(
            !encoding.features.is_empty(),
            "{file}: no columns are left to predict {} from",
            encoding.target_names()
        );
        Ok(encoding)
    }

    fn learn_feature(&mut self, table: &Survey, column: &Seen, position: usize) -> Result<()> {
        let present = table.rows - column.missing;
        ensure!(
            present > 0,
            "{}, column {}: it has no values; use {}",
            table.name,
            quoted(&column.name),
            option("--drop", &column.name),
        );
        table.check_usable(column)?;
        let (kind, constant) = match &column.content {
            Content::Numbers(numbers) => {
                self.means.push(numbers.mean);
                let kind = if numbers.dates { Kind::Date } else { Kind::Number };
                (kind, numbers.constant().map(|value| value.to_string()))
            }
            Content::Texts(texts) => {
                self.notes.extend(check_texts(table, column, texts)?);
                let sizes = texts.sizes();
                self.means.extend(sizes.iter().map(|(_, size)| *size as f64 / present as f64));
                let categories: Vec<String> =
                    sizes.into_iter().map(|(text, _)| text.to_owned()).collect();
                let only = categories.first().filter(|_| categories.len() == 1).cloned();
                (Kind::Text { categories }, only)
            }
            Content::Nothing | Content::Mixed | Content::Other(_) => {
                return Err(unusable(&table.name, &column.name, "no one kind of value"));
            }
        };
        if let Some(value) = constant {
            self.notes.push(format!(
                "{}, column {}: every value is {}, so nothing can be learned from it",
                table.name,
                quoted(&column.name),
                quoted(&value),
            ));
        }
        self.features.push(Feature { name: column.name.clone(), position, kind });
        Ok(())
    }
}

/// The place of a column that has to hold numbers for what it is.
fn number_column(table: &Survey, what: &str, position: usize) -> Result<Place> {
    let file = &table.name;
    let column = table.columns.get(position).context("the target is no column of the table")?;
    let name = quoted(&column.name);
    if let Some((line, text)) = column.first_text() {
        let (text, line) = (quoted(text), format!("{} {line}", table.unit));
        let why = if what == "target" { "raysum predicts numbers" } else { "it must be numbers" };
        bail!("{file}: the {what} {name} holds text ({text} at {line}): {why}");
    }
    let only = "but it must be numbers; write the dates as days or years";
    let dates = matches!(&column.content, Content::Numbers(numbers) if numbers.dates);
    ensure!(!dates, "{file}: the {what} {name} holds dates, {only}");
    table.check_usable(column)?;
    ensure!(column.missing < table.rows, "{file}: the {what} {name} has no values");
    Ok(Place { name: column.name.clone(), position })
}

/// Refuses a text column that is a column of numbers with slips in it, or that has too many
/// texts to be categories. A mix of numbers and texts that passes is worth a note.
fn check_texts(table: &Survey, column: &Seen, texts: &Texts) -> Result<Option<String>> {
    let Texts { numbers, others, .. } = *texts;
    let Some((line, text)) = column.first_text() else { return Ok(None) };
    let place = table.at(line, &column.name);
    let text = quoted(text);
    let drop = option("--drop", &column.name);

    let few = others <= MAX_TYPOS && (others as f64) < MAX_TYPO_SHARE * (numbers + others) as f64;
    let too_many = texts.sizes().len() > MAX_CATEGORIES;
    if others > 0 && (few || (too_many && numbers > others)) {
        let (more, them) = match others - 1 {
            0 => (String::new(), "it"),
            more => (format!(", nor are {}", count(more, "other cell")), "them"),
        };
        bail!(
            "{place}: {text} is not a number{more} (the column's other {numbers} values are); fix \
             {them}, or use {drop}"
        );
    }
    if too_many {
        bail!(
            "{}, column {}: it holds {} different texts, such as {text}, and at most \
             {MAX_CATEGORIES} can be told apart; use {drop}",
            table.name,
            quoted(&column.name),
            texts.count(),
        );
    }
    Ok((numbers > 0 && others > 0).then(|| {
        format!("{place}: {text} is not a number, so the whole column is taken as categories")
    }))
}

#[cfg(test)]
mod tests {
    use super::super::from_text;
    use super::*;

    fn learn(text: &str, target: &str, drop: &[&str]) -> Result<Encoding> {
        let table = Survey::from(&from_text(text));
        let drop: Vec<String> = drop.iter().map(|name| (*name).to_owned()).collect();
        Encoding::learn(
            &table,
            find_column(&table, target)?,
            &Chosen { drop: &drop, ..Chosen::default() },
        )
    }

    #[test]
    fn columns_are_learned() {
        let text = "x,colour,y,z\n1,red,5,3\n2,blue,6,4\n,red,7,8\n6,,8,9\n";
        let encoding = learn(text, "y", &["z"]).unwrap();
        assert_eq!(encoding.targets, [Place { name: "y".into(), position: 2 }]);
        assert_eq!((encoding.has_header, encoding.width), (true, 4));
        assert_eq!(encoding.expanded_names(), ["x", "colour=blue", "colour=red"]);
        assert_eq!(encoding.means, [3.0, 1.0 / 3.0, 2.0 / 3.0]);
        assert_eq!(encoding.features.iter().map(|f| f.position).collect::<Vec<_>>(), [0, 1]);
        assert!(encoding.notes.is_empty());
        encoding.validate().unwrap();
    }

    #[test]
    fn dates_are_days() {
        let encoding = learn("when,y\n1970-01-03,1\n,2\n1970-01-05,3\n", "y", &[]).unwrap();
        assert_eq!((&encoding.features[0].kind, encoding.means[0]), (&Kind::Date, 3.0));
        let error = learn("x,y\n1,1970-01-03\n2,1970-01-04\n", "y", &[]).unwrap_err();
        let says = "t.csv: the target 'y' holds dates, but it must be numbers";
        assert!(error.to_string().starts_with(says), "{error}");
        // A date among numbers is a slip, and so is a number among dates.
        let mut rows: Vec<String> = (1..40).map(|i| format!("{i},{i}")).collect();
        rows.push("1970-01-03,4".into());
        let error = learn(&format!("x,y\n{}\n", rows.join("\n")), "y", &[]).unwrap_err();
        assert!(error.to_string().contains("'1970-01-03' is not a number"), "{error}");
    }

    #[test]
    fn columns_are_chosen() {
        let table = Survey::from(&from_text("a,b,c,y\n1,2,3,4\n5,6,7,8\n"));
        let features = |columns: &[&str], drop: &[&str]| {
            let own = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
            let (columns, drop) = (own(columns), own(drop));
            let chosen = Chosen { columns: &columns, drop: &drop };
            Encoding::learn(&table, 3, &chosen).map(|e| e.expanded_names().join(" "))
        };
        assert_eq!(features(&["c", "0"], &[]).unwrap(), "a c");
        assert_eq!(features(&["c", "a", "y"], &["a"]).unwrap(), "c");
        assert_eq!(features(&[], &["a"]).unwrap(), "b c");
        assert!(features(&["d"], &[]).is_err());
        assert!(features(&["y"], &[]).unwrap_err().to_string().contains("no columns are left"));
    }

    #[test]
    fn notes() {
        let cases = [
            (
                "x,y\n1,2\n,3\n1,4\n",
                "t.csv, column 'x': every value is '1', so nothing can be \
                 learned from it",
            ),
            (
                "x,y\na,2\n,3\na,4\n",
                "t.csv, column 'x': every value is 'a', so nothing can be \
                 learned from it",
            ),
            (
                "x,y\n4,2\na,3\n4,4\n",
                "t.csv, line 3, column 'x': 'a' is not a number, so the whole \
                 column is taken as categories",
            ),
        ];
        for (text, note) in cases {
            assert_eq!(learn(text, "y", &[]).unwrap().notes, [note]);
        }
    }

    #[test]
    fn large_numbers_have_a_finite_mean() {
        let encoding = learn("x,y\n1.5e308,1\n1.5e308,2\n1.5e308,3\n", "y", &[]).unwrap();
        encoding.validate().unwrap();
    }

    /// A header, then rows of the column `age` and a counter.
    fn ages(cells: impl Iterator<Item = String>) -> String {
        let rows: Vec<String> =
            cells.enumerate().map(|(row, cell)| format!("{cell},{row}")).collect();
        format!("age,y\n{}\n", rows.join("\n"))
    }

    #[test]
    fn slips_and_floods_of_text() {
        let numbers = |n: usize| (0..n).map(|i| i.to_string());
        let slips = |n: usize| vec!["abc".to_owned(); n].into_iter();
        let cases = [
            (
                ages(numbers(15).chain(slips(1)).chain(numbers(15))),
                "t.csv, line 17, column 'age': 'abc' is not a number (the column's other 30 values \
                 are); fix it, or use --drop age",
            ),
            (
                ages(numbers(100).chain(slips(3))),
                "t.csv, line 102, column 'age': 'abc' is not a number, nor are 2 other cells (the \
                 column's other 100 values are); fix them, or use --drop age",
            ),
            (
                ages(slips(30).chain(numbers(101))),
                "t.csv, line 2, column 'age': 'abc' is not a number, nor are 29 other cells (the \
                 column's other 101 values are); fix them, or use --drop age",
            ),
            (
                ages((0..101).map(|i| format!("no {i}"))),
                "t.csv, column 'age': it holds 101 different texts, such as 'no 0', and at most \
                 100 can be told apart; use --drop age",
            ),
        ];
        for (text, message) in cases {
            assert_eq!(learn(&text, "y", &[]).unwrap_err().to_string(), message);
        }
        let taken = [
            ages((0..100).map(|i| format!("no {i}"))),
            ages(slips(1).chain(numbers(19))),
            ages(slips(21).chain((0..500).map(|i| (i % 50).to_string()))),
        ];
        for text in taken {
            learn(&text, "y", &[]).unwrap();
        }
    }

    #[test]
    fn errors() {
        let cases = [
            (
                "x,y\n1,2\n2,abc\n",
                "y",
                &[][..],
                "t.csv: the target 'y' holds text ('abc' at line 3): raysum predicts numbers",
            ),
            ("x,y\n1,\n2,\n", "y", &[], "t.csv: the target 'y' has no values"),
            ("x,y\n1,2\n", "y", &["x"], "t.csv: no columns are left to predict 'y' from"),
            ("y\n1\n", "y", &[], "t.csv: no columns are left to predict 'y' from"),
            ("x,y\n1,2\n", "y", &["y"], "t.csv: the target 'y' cannot be dropped"),
            ("x,y\n1,2\n", "y", &["who"], "t.csv: there is no column 'who' (columns: 'x', 'y')"),
            (
                "x,my z,y\n1,,2\n1,NA,3\n",
                "y",
                &[],
                "t.csv, column 'my z': it has no values; use --drop 'my z'",
            ),
            (
                "x,y\n1,2\n-inf,3\n",
                "y",
                &[],
                "t.csv, line 3, column 'x': '-inf' is not a finite number; leave the cell empty \
                 if the value is missing",
            ),
            (
                "x,y\n1,2\n2,1e400\n",
                "y",
                &[],
                "t.csv, line 3, column 'y': '1e400' is not a finite number; leave the cell empty \
                 if the value is missing",
            ),
        ];
        for (text, target, drop, message) in cases {
            assert_eq!(learn(text, target, drop).unwrap_err().to_string(), message);
        }
        // A column that cannot be used can still be dropped.
        learn("x,z,y\n1,2,3\n2,inf,5\n", "y", &["z"]).unwrap();
    }
}
