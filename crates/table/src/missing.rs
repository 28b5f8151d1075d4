//! Treatment of missing values.

use crate::chunk::{Chunk, Column};
use crate::report::{EncodeReport, GapCount, Refused};
use raysum::Labels;

/// What to do about missing cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missing {
    /// Stop and name the first one.
    #[default]
    Error,
    /// Leave such rows out.
    Drop,
    /// Fill in the column's mean over the training rows; rows without a target are left out.
    Mean,
    /// In a fit the same, with a further column of X that says where cells are missing, for each
    /// column that has gaps. Later tables may have gaps in these columns under any rule, and under
    /// this one in no others.
    Indicate,
}

/// A column to predict from.
pub(crate) struct FeatureGaps<'a> {
    pub(crate) column: &'a Column,
    /// Whether a column of X says where its cells are missing.
    pub(crate) indicated: bool,
}

/// The rows that the rule for missing cells keeps, of a table to fit or of a later one.
pub(crate) fn keep_rows(
    chunk: &Chunk,
    features: &[FeatureGaps<'_>],
    labels: &Labels<&Column>,
    missing: Missing,
    fitting: bool,
    report: &mut EncodeReport,
) -> Vec<usize> {
    let columns = |indicated: bool| -> Vec<&Column> {
        features.iter().filter(|f| f.indicated == indicated).map(|f| f.column).collect()
    };
    let (plain, indicated) = (columns(false), columns(true));
    let gaps = gaps_of_rows(chunk, &plain);
    // Labels cannot be filled in.
    let lacking = |row: usize| labels.iter().filter(|c| c.cells.is_missing(row)).count();
    let audience = chunk.origin.audience;
    let advice = if gaps.iter().all(|gaps| *gaps == 0) {
        audience.drop_rows()
    } else {
        audience.allow_missing(fitting)
    };
    if missing == Missing::Error {
        let all = gaps.iter().enumerate().map(|(row, gaps)| gaps + lacking(row));
        let columns = plain.iter().chain(labels.iter()).copied();
        report.refused = refused(chunk, columns, &all.collect::<Vec<_>>(), advice);
    } else if missing == Missing::Indicate {
        report.refused = refused(chunk, plain.iter().copied(), &gaps, advice);
    }
    let keep = |row: usize| lacking(row) == 0 && (missing == Missing::Mean || gaps[row] == 0);
    let kept: Vec<usize> = (0..chunk.rows()).filter(|row| keep(*row)).collect();
    report.rows = chunk.rows();
    report.kept = kept.len();
    report.why = match missing {
        Missing::Error | Missing::Drop => "a value is missing",
        _ if labels.targets.len() == 1 && labels.iter().count() == 1 => "the target is missing",
        Missing::Mean | Missing::Indicate => "a target, weight or noise is missing",
    };
    report.filled = GapCount::of(&plain, &gaps, &kept);
    report.indicated = GapCount::of(&indicated, &gaps_of_rows(chunk, &indicated), &kept);
    kept
}

/// How many cells of each row are missing.
fn gaps_of_rows(chunk: &Chunk, columns: &[&Column]) -> Vec<usize> {
    let mut gaps = vec![0; chunk.rows()];
    for column in columns.iter().filter(|column| column.missing > 0) {
        for (row, gaps) in gaps.iter_mut().enumerate() {
            *gaps += usize::from(column.cells.is_missing(row));
        }
    }
    gaps
}

impl GapCount {
    /// Counts the missing cells of the kept rows.
    fn of(columns: &[&Column], gaps: &[usize], kept: &[usize]) -> Self {
        let has_gaps = |column: &&&Column| {
            column.missing > 0 && kept.iter().any(|row| column.cells.is_missing(*row))
        };
        Self {
            cells: kept.iter().map(|row| gaps[*row]).sum(),
            rows: kept.iter().filter(|row| gaps[**row] > 0).count(),
            columns: columns.iter().filter(has_gaps).map(|c| c.name.to_string()).collect(),
        }
    }
}

/// The first missing cell, and how many there are.
fn refused<'a>(
    chunk: &Chunk,
    mut columns: impl Iterator<Item = &'a Column>,
    gaps: &[usize],
    advice: &'static str,
) -> Option<Refused> {
    let first = gaps.iter().position(|gaps| *gaps > 0)?;
    let column = columns.find(|column| column.cells.is_missing(first))?;
    let (cells, rows) = (gaps.iter().sum(), gaps.iter().filter(|gaps| **gaps > 0).count());
    Some(Refused { place: chunk.cell(first, column), alone: gaps[first] == 1, cells, rows, advice })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::EncodedChunk;
    use crate::infer::SchemaOptions;
    use crate::testing::{chunk, encode, inferred_with, schema};
    use anyhow::Result;

    const TEXT: &str = "a,c,y\n1,u,1\n,v,2\n3,,3\n5,v,\n,,4\n";

    fn apply(text: &str, missing: Missing, labels: bool) -> Result<(EncodedChunk, Vec<String>)> {
        let schema = schema("a,c,y\n1,u,1\n3,v,2\n5,v,3\n,,4\n", "y");
        encode(&schema, &chunk(text), missing, labels)
    }

    #[test]
    fn rows_are_dropped() {
        let (encoded, notes) = apply(TEXT, Missing::Drop, false).unwrap();
        assert_eq!(encoded.kept, [0, 3]);
        assert_eq!(encoded.x.as_slice(), [1.0, 1.0, 0.0, 5.0, 0.0, 1.0]);
        assert_eq!(notes, ["t.csv: 3 of 5 rows left out because a value is missing"]);

        let (encoded, notes) = apply(TEXT, Missing::Drop, true).unwrap();
        assert_eq!((&encoded.kept[..], encoded.labels.targets), (&[0][..], vec![vec![1.0]]));
        assert_eq!(notes, ["t.csv: 4 of 5 rows left out because a value is missing"]);
    }

    #[test]
    fn cells_are_filled_with_training_means() {
        let (encoded, notes) = apply(TEXT, Missing::Mean, true).unwrap();
        assert_eq!(encoded.kept, [0, 1, 2, 4]);
        assert_eq!((encoded.x.rows(), encoded.x.columns()), (4, 3));
        let (u, v) = (1.0 / 3.0, 2.0 / 3.0);
        assert_eq!(encoded.x.as_slice(), [1.0, 1.0, 0.0, 3.0, 0.0, 1.0, 3.0, u, v, 3.0, u, v]);
        assert_eq!(encoded.labels.targets, [[1.0, 2.0, 3.0, 4.0]]);
        assert_eq!(
            notes,
            [
                "t.csv: 1 of 5 rows left out because the target is missing",
                "t.csv: 4 missing cells in 3 rows filled with the training means (columns 'a', \
                 'c')",
            ]
        );
        // One row to predict, with one column missing altogether.
        let (encoded, _) = apply("c,a\nu,\n", Missing::Mean, false).unwrap();
        assert_eq!(encoded.x.as_slice(), [3.0, 1.0, 0.0]);
    }

    #[test]
    fn gaps_of_training_are_indicated_later() {
        let options = SchemaOptions { missing: Missing::Indicate, ..SchemaOptions::default() };
        let (schema, _) = inferred_with("a,b,c,y\n1,1,u,1\n,3,v,2\n5,2,,3\n", &options).unwrap();
        // Gaps where training had them are no question of the rule.
        let text = "a,b,c,y\n1,1,u,1\n,2,v,2\n3,3,,3\n,5,,4\n";
        for missing in [Missing::Error, Missing::Drop, Missing::Mean, Missing::Indicate] {
            let (encoded, notes) = encode(&schema, &chunk(text), missing, true).unwrap();
            let expected = [
                [1.0, 0.0, 1.0, 1.0, 0.0, 0.0],
                [3.0, 1.0, 2.0, 0.0, 1.0, 0.0],
                [3.0, 0.0, 3.0, 0.0, 0.0, 1.0],
                [3.0, 1.0, 5.0, 0.0, 0.0, 1.0],
            ];
            assert_eq!(encoded.x.as_slice(), expected.as_flattened());
            let note = "t.csv: 4 missing cells in 3 rows marked in indicator columns (columns \
                        'a', 'c')";
            assert_eq!(notes, [note]);
        }
        // Elsewhere the rule decides, and targets cannot be filled in.
        let text = "a,b,c,y\n,,u,1\n2,2,,2\n3,3,v,\n";
        let kept = |missing| encode(&schema, &chunk(text), missing, true).map(|(e, _)| e.kept);
        assert_eq!(kept(Missing::Drop).unwrap(), [1]);
        assert_eq!(kept(Missing::Mean).unwrap(), [0, 1]);
        let advice = "use --missing drop or --missing mean";
        assert_eq!(
            kept(Missing::Indicate).unwrap_err().to_string(),
            format!("t.csv, line 2, column 'b': the value is missing; {advice}")
        );
        assert_eq!(
            kept(Missing::Error).unwrap_err().to_string(),
            format!(
                "t.csv, line 2, column 'b': the value is missing (and 1 more cell in 1 row); \
                 {advice}"
            )
        );
        let text = "a,b,c,y\n,1,u,\n2,2,,2\n";
        let (encoded, notes) = encode(&schema, &chunk(text), Missing::Indicate, true).unwrap();
        assert_eq!(encoded.kept, [1]);
        assert_eq!(notes[0], "t.csv: 1 of 2 rows left out because the target is missing");
    }

    #[test]
    fn nothing_missing_is_nothing_to_say() {
        for missing in [Missing::Error, Missing::Drop, Missing::Mean, Missing::Indicate] {
            let (encoded, notes) = apply("a,c,y\n1,u,1\n2,v,2\n", missing, true).unwrap();
            assert_eq!((encoded.x.rows(), notes.len()), (2, 0));
        }
        // The target is not looked at unless it is asked for.
        assert_eq!(apply("a,c,y\n1,u,\n", Missing::Error, false).unwrap().0.x.rows(), 1);
    }

    #[test]
    fn errors() {
        let advice = "; use --missing drop or --missing mean";
        let cases = [
            (
                TEXT,
                Missing::Error,
                true,
                format!(
                    "t.csv, line 3, column 'a': the value is missing (and 4 \
                     more cells in 3 rows){advice}"
                ),
            ),
            (
                "a,c,y\n1,u,\n",
                Missing::Error,
                true,
                "t.csv, line 2, column 'y': the value is missing; use --missing drop to leave out such rows"
                    .to_owned(),
            ),
            (
                "a,c,y\n1,u,2\n,,2\n",
                Missing::Error,
                true,
                format!(
                    "t.csv, line 3, column 'a': the value is missing (and 1 more cell in 1 \
                     row){advice}"
                ),
            ),
            (
                "a,c,y\n,u,2\n1,,2\n",
                Missing::Drop,
                false,
                "t.csv: a value is missing in every row, so none is left".to_owned(),
            ),
            (
                "a,c,y\n1,u,\n,v,?\n",
                Missing::Mean,
                true,
                "t.csv: the target is missing in every row, so none is left".to_owned(),
            ),
        ];
        for (text, missing, with_labels, message) in cases {
            let error = apply(text, missing, with_labels).unwrap_err().to_string();
            assert_eq!(error, message);
        }
    }
}
