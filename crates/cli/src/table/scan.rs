//! Reads a table to learn from: once to see what its columns hold, and then to take its rows. What
//! fits into memory is kept from the first time.

use anyhow::{Result, ensure};

use super::input::Input;
use super::read::parts;
use super::survey::Survey;
use super::{ReadOptions, Source, Table};

/// A table that has been looked at.
pub(crate) struct Scan {
    input: Input,
    options: ReadOptions,
    /// What its columns hold.
    pub(crate) survey: Survey,
    /// Which columns are read as texts.
    texts: Vec<bool>,
    /// All parts, if there is room for them.
    kept: Option<Vec<Table>>,
}

impl Scan {
    /// Looks at a table, and keeps at most so many bytes of it.
    pub(crate) fn new(source: &Source, options: &ReadOptions, room: u64) -> Result<Self> {
        Self::of(Input::open(source)?, options, room)
    }

    /// Looks at a table in memory, as if it were a file of this name.
    pub(crate) fn from_memory(name: &str, bytes: impl AsRef<[u8]>) -> Result<Self> {
        Self::of(Input::from_bytes(name, bytes), &ReadOptions::default(), u64::MAX)
    }

    /// Reads the file once, or twice if a text turns up late in a column of numbers: the numbers'
    /// own spelling, which the categories need, is not kept the first time.
    pub(super) fn of(input: Input, options: &ReadOptions, room: u64) -> Result<Self> {
        let options = options.clone();
        let mut texts: Vec<bool> = Vec::new();
        loop {
            let mut survey = Survey::default();
            let mut kept = Some(Vec::new());
            let mut taken = 0;
            let as_texts =
                |file: &[bool]| if texts.is_empty() { file.into() } else { texts.clone() };
            parts(
                &input,
                &options,
                |file| as_texts(&file.sampled_texts()),
                |part| {
                    survey.add(&part);
                    taken += part.bytes();
                    match &mut kept {
                        Some(parts) if taken <= room => parts.push(part),
                        _ => kept = None,
                    }
                    Ok(())
                },
            )?;
            ensure!(survey.rows > 0, "{} has no rows", input.name());
            if !survey.mark_texts(&mut texts) {
                return Ok(Self { input, options, survey, texts, kept });
            }
        }
    }

    /// Hands over the rows, some at a time and in order.
    pub(crate) fn into_parts(self, mut each: impl FnMut(Table) -> Result<()>) -> Result<()> {
        if let Some(parts) = self.kept {
            return parts.into_iter().try_for_each(each);
        }
        let mut rows = 0;
        parts(
            &self.input,
            &self.options,
            |_| self.texts.clone(),
            |part| {
                rows += part.rows();
                each(part)
            },
        )?;
        let (name, then) = (self.input.name(), self.survey.rows);
        ensure!(rows == then, "{name} was changed while it was read ({then} rows, then {rows})");
        Ok(())
    }

    /// The only part of a small table.
    #[cfg(test)]
    pub(super) fn into_table(self) -> Table {
        let mut parts = self.kept.expect("there is room");
        assert_eq!(parts.len(), 1, "the table is small");
        parts.remove(0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Cells, NO_TEXT};
    use super::*;

    /// The cells of the first column as texts.
    fn cells(scan: Scan) -> Vec<String> {
        let mut all = Vec::new();
        let take = |part: Table| {
            all.extend(match &part.columns[0].cells {
                Cells::Number(values) => values.iter().map(ToString::to_string).collect::<Vec<_>>(),
                Cells::Text { texts, codes } => {
                    let text = |c: &u32| if *c == NO_TEXT { "" } else { &texts[*c as usize] };
                    codes.iter().map(|code| text(code).to_string()).collect()
                }
                Cells::Other(kind) => vec![kind.clone()],
            });
            Ok(())
        };
        scan.into_parts(take).unwrap();
        all
    }

    #[test]
    fn a_file_that_changes_between_two_looks_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        let again = |change: &dyn Fn()| {
            std::fs::write(&path, "a,b\n1,2\n3,4\n").unwrap();
            let scan = Scan::new(&Source::new(&path), &ReadOptions::default(), 0).unwrap();
            change();
            scan.into_parts(|_| Ok(())).unwrap_err().to_string()
        };
        let name = path.display();
        let error = again(&|| std::fs::write(&path, "a,b\n1,2\n").unwrap());
        assert_eq!(error, format!("{name} was changed while it was read (2 rows, then 1)"));
        let error = again(&|| std::fs::remove_file(&path).unwrap());
        assert!(error.starts_with(&format!("{name} cannot be read: No such file")), "{error}");
    }

    #[test]
    fn a_table_read_twice_is_the_table_kept() {
        // More rows than a part holds, and a text at the very end.
        let numbers: Vec<String> = (0..70_000).map(|i| format!("0{i},1")).collect();
        let numbers = format!("a,b\n{}\n", numbers.join("\n"));
        let late = format!("{numbers}x,2\n");
        for text in [&numbers, &late] {
            let scan = |room| {
                Scan::of(Input::from_bytes("t.csv", text), &ReadOptions::default(), room).unwrap()
            };
            let (kept, again) = (scan(u64::MAX), scan(100_000));
            assert!(kept.kept.as_ref().is_some_and(|parts| parts.len() > 2));
            assert!(again.kept.is_none());
            let (kept, again) = (cells(kept), cells(again));
            assert_eq!(kept, again);
            assert_eq!(kept[7], if text == &late { "07" } else { "7" });
        }
    }
}
