//! Finds the columns that a model needs in a new file.

use std::collections::HashMap;

use anyhow::{Result, bail, ensure};

use super::words::{count, every, names};
use super::{Column, Encoding, Feature, Kind, Place, Table};

/// The columns that a model needs.
#[derive(Default)]
pub(super) struct Located<'a> {
    pub(super) features: Vec<&'a Column>,
    /// Empty if they are not wanted.
    pub(super) targets: Vec<&'a Column>,
    pub(super) weights: Option<&'a Column>,
    /// There too if it is not wanted but in the file.
    pub(super) noise_std: Option<&'a Column>,
}

impl Encoding {
    /// Finds the features and, if they are wanted, the targets, weights and known noise.
    pub(super) fn locate<'a>(&self, table: &'a Table, with_target: bool) -> Result<Located<'a>> {
        if self.has_header {
            self.locate_by_name(table, with_target)
        } else {
            self.locate_by_position(table, with_target)
        }
    }

    fn locate_by_name<'a>(&self, table: &'a Table, with_target: bool) -> Result<Located<'a>> {
        let file = &table.name;
        // Without a header the names are positions, and a match would be by chance.
        ensure!(
            table.has_header,
            "{file}: the file seems to have no header line, but the model needs one that names the \
             columns {}",
            names(self.features.iter().map(|feature| feature.name.as_str())),
        );
        let there: HashMap<&str, &Column> =
            table.columns.iter().map(|column| (column.name.as_str(), column)).collect();
        let features = || self.features.iter().map(|feature| feature.name.as_str());
        let beside = || self.beside().filter(|_| with_target).map(|place| place.name.as_str());
        let lacking: Vec<&str> =
            features().chain(beside()).filter(|name| !there.contains_key(name)).collect();
        ensure!(
            lacking.is_empty(),
            "{file}: the model needs {} that the file lacks: {} (columns there: {})",
            count(lacking.len(), "column"),
            every(lacking.into_iter()),
            names(table.column_names()),
        );
        Ok(self.located(with_target, |name, _| there.get(name).copied()))
    }

    /// Gathers the columns that `find` finds by name or position.
    fn located<'a>(
        &self,
        with_target: bool,
        find: impl Fn(&str, usize) -> Option<&'a Column>,
    ) -> Located<'a> {
        let feature = |f: &Feature| find(&f.name, f.position);
        let place = |p: &Place| find(&p.name, p.position);
        Located {
            features: self.features.iter().filter_map(feature).collect(),
            targets: self.targets.iter().filter(|_| with_target).filter_map(place).collect(),
            weights: self.weights.as_ref().filter(|_| with_target).and_then(place),
            noise_std: self.noise_std.as_ref().and_then(place),
        }
    }

    /// Which columns of a file hold texts for the model, given their names and whether these are
    /// the file's own.
    pub(crate) fn texts(&self, names: &[String], has_header: bool) -> Vec<bool> {
        let is_text = |f: &&Feature| matches!(f.kind, Kind::Text { .. });
        let mut texts = vec![false; names.len()];
        for feature in self.features.iter().filter(is_text) {
            let place = if self.has_header && has_header {
                names.iter().position(|name| *name == feature.name)
            } else if names.len() == self.width {
                Some(feature.position)
            } else {
                self.without_beside(feature.position)
            };
            if let Some(text) = place.and_then(|place| texts.get_mut(place)) {
                *text = true;
            }
        }
        texts
    }

    /// Where a column of the training file is in one without those that are not predicted from;
    /// `None` for these.
    fn without_beside(&self, position: usize) -> Option<usize> {
        let itself = self.beside().any(|other| other.position == position);
        let before = self.beside().filter(|other| other.position < position).count();
        (!itself).then(|| position - before)
    }

    fn locate_by_position<'a>(&self, table: &'a Table, with_target: bool) -> Result<Located<'a>> {
        let found = table.columns.len();
        let beside = self.beside().count();
        let shifted = found + beside == self.width && !with_target;
        if found != self.width && !shifted {
            let without = match beside {
                _ if with_target => String::new(),
                1 => format!(", or {} without the target", self.width.saturating_sub(1)),
                more => {
                    format!(
                        ", or {} without those not predicted from",
                        self.width.saturating_sub(more)
                    )
                }
            };
            bail!(
                "{}: found {}, expected {} as in the training file{without}",
                table.name,
                count(found, "column"),
                self.width,
            );
        }
        // Validation keeps all positions below the width, so that they index the columns.
        Ok(self.located(with_target, |_, position| {
            if !shifted {
                return Some(&table.columns[position]);
            }
            self.without_beside(position).map(|position| &table.columns[position])
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Chosen;
    use super::super::{find_column, from_text};
    use super::*;

    fn learn(text: &str, target: &str) -> Encoding {
        let table = from_text(text);
        let table = (&table).into();
        Encoding::learn(&table, find_column(&table, target).unwrap(), &Chosen::default()).unwrap()
    }

    /// The first value of every feature and of the target, as `locate` finds them.
    fn located(encoding: &Encoding, text: &str, with_target: bool) -> Result<Vec<f64>> {
        let table = from_text(text);
        let located = encoding.locate(&table, with_target)?;
        assert_eq!(located.targets.len(), usize::from(with_target));
        let first = |column: &Column| match &column.cells {
            super::super::Cells::Number(values) => values[0],
            _ => f64::NAN,
        };
        Ok(located.features.into_iter().chain(located.targets).map(first).collect())
    }

    #[test]
    fn names_match_in_any_order() {
        let encoding = learn("a,b,y\n1,2,3\n4,5,6\n", "y");
        let cases = [
            ("a,b,y\n1,2,3\n", true, &[1.0, 2.0, 3.0][..]),
            ("y,extra,b,a\n1,2,3,4\n", true, &[4.0, 3.0, 1.0]),
            ("b,a\n1,2\n", false, &[2.0, 1.0]),
            ("b,y,a\n1,2,3\n", false, &[3.0, 1.0]),
        ];
        for (text, with_target, values) in cases {
            assert_eq!(located(&encoding, text, with_target).unwrap(), values, "{text}");
        }
    }

    #[test]
    fn positions_match_with_or_without_the_target() {
        let middle = learn("1,2,3\n4,5,6\n", "1");
        let last = learn("1,2,3\n4,5,6\n", "-1");
        let cases = [
            (&middle, "7,8,9\n", true, &[7.0, 9.0, 8.0][..]),
            (&middle, "7,8,9\n", false, &[7.0, 9.0]),
            (&middle, "7,9\n", false, &[7.0, 9.0]),
            (&middle, "u,v,w\n7,8,9\n", true, &[7.0, 9.0, 8.0]),
            (&last, "7,8,9\n", true, &[7.0, 8.0, 9.0]),
            (&last, "7,8\n", false, &[7.0, 8.0]),
        ];
        for (encoding, text, with_target, values) in cases {
            assert_eq!(located(encoding, text, with_target).unwrap(), values, "{text}");
        }
    }

    #[test]
    fn errors() {
        let named = learn("a,b,c,y\n1,2,3,4\n4,5,6,7\n", "y");
        let bare = learn("1,2,3\n4,5,6\n", "1");
        let cases = [
            (
                &named,
                "b,x\n1,2\n",
                false,
                "t.csv: the model needs 2 columns that the file lacks: 'a', 'c' (columns there: \
                 'b', 'x')",
            ),
            (
                &named,
                "c,b,a\n1,2,3\n",
                true,
                "t.csv: the model needs 1 column that the file lacks: 'y' (columns there: 'c', \
                 'b', 'a')",
            ),
            (
                &named,
                "1,2,3\n",
                false,
                "t.csv: the file seems to have no header line, but the model needs one that \
                 names the columns 'a', 'b', 'c'",
            ),
            (
                &bare,
                "1,2,3,4\n",
                false,
                "t.csv: found 4 columns, expected 3 as in the training file, or 2 without the \
                 target",
            ),
            (
                &bare,
                "1\n",
                false,
                "t.csv: found 1 column, expected 3 as in the training file, or 2 without the \
                 target",
            ),
            (&bare, "1,2\n", true, "t.csv: found 2 columns, expected 3 as in the training file"),
        ];
        for (encoding, text, with_target, message) in cases {
            let error = located(encoding, text, with_target).unwrap_err().to_string();
            assert_eq!(error, message, "{text}");
        }
    }
}
