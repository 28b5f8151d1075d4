//! Decides what the texts of a column are: categories, identifiers of rows, or typos among numbers
//! or dates; and which of the texts are categories of their own.

use crate::column_stats::{ColumnStats, MOST_TEXTS, TableStats, TextStats};
use crate::evidence::Evidence;
use crate::messages::{Note, count, quoted};
use anyhow::{Result, bail};
use raysum::limits::{DEFAULT_CATEGORIES, MAX_CATEGORIES};
use raysum::schema::FeatureKind;
use std::cmp::Reverse;

/// This many cells, and this share of them, are typos rather than categories.
const MAX_TYPOS: usize = 20;
const MAX_TYPO_SHARE: f64 = 0.05;
/// More distinct texts than this, most of them numbers or dates, are not categories.
const MOST_MIXED_TEXTS: usize = DEFAULT_CATEGORIES;
/// Distinct texts in fewer rows than this may be categories by chance.
const LEAST_IDENTIFIERS: usize = 10;

/// What the texts of a column become.
pub(crate) struct TextFeature {
    pub(crate) kind: FeatureKind,
    /// The share of each category in the rows that have one.
    pub(crate) means: Vec<f64>,
    pub(crate) notes: Vec<Note>,
}

impl TextFeature {
    /// Texts as at most `most` categories, or as identifiers unless the user has `chosen` the
    /// column. Typos among numbers or dates are refused.
    pub(crate) fn of(
        stats: &TableStats,
        column: &ColumnStats,
        texts: &TextStats,
        chosen: bool,
        most: usize,
    ) -> Result<Self> {
        let mixed = check_typos(stats, column, texts)?;
        let place = stats.origin_of(column).column(&column.name);
        if is_identifier(column, texts) && !chosen {
            let note = format!(
                "{place}: it is left out, because its {} texts are all different",
                texts.count()
            );
            let (kind, notes) = (FeatureKind::Identifier, vec![Note::Caution(note)]);
            return Ok(Self { kind, means: Vec::new(), notes });
        }
        let mut notes: Vec<Note> = mixed.into_iter().collect();
        let mut sizes = texts.sizes();
        let others = sizes.len() > most;
        if others {
            // Stable: of texts that are equally frequent the first by name are kept.
            sizes.sort_by_key(|(_, size)| Reverse(*size));
            sizes.truncate(most - 1);
            sizes.sort_unstable();
        }
        let present = stats.rows - column.missing;
        let rest = present - sizes.iter().map(|(_, size)| size).sum::<usize>();
        if others {
            let among = match texts.distinct() {
                MOST_TEXTS => format!(" of the first {MOST_TEXTS}"),
                _ => String::new(),
            };
            let own = match most - 1 {
                1 => "the most frequent one".to_string(),
                several => format!("the {several} most frequent"),
            };
            let more = match most {
                MAX_CATEGORIES => String::new(),
                _ => format!("; {}", stats.origin_of(column).audience.keep_categories()),
            };
            notes.push(Note::Caution(format!(
                "{place}: {} different texts become {most} categories: {own}{among}, and one for all \
                 others ({rest} of {}){more}",
                texts.count(),
                count(present, "row"),
            )));
        }
        let share = |size: usize| size as f64 / present as f64;
        let mut means: Vec<f64> = sizes.iter().map(|(_, size)| share(*size)).collect();
        means.extend(others.then(|| share(rest)));
        let categories = sizes.into_iter().map(|(text, _)| text.to_owned()).collect();
        Ok(Self { kind: FeatureKind::Category { categories, others }, means, notes })
    }
}

/// Whether texts identify rows: all are different, and most are neither numbers nor dates.
fn is_identifier(column: &ColumnStats, texts: &TextStats) -> bool {
    let Evidence { numbers, dates, .. } = column.evidence;
    let present = column.evidence.present();
    texts.all_distinct() && present >= LEAST_IDENTIFIERS && 2 * numbers.max(dates) <= present
}

/// Refuses a text column that looks like numbers or dates with typos. A mix of them with texts that
/// passes gives a note.
fn check_typos(
    stats: &TableStats,
    column: &ColumnStats,
    texts: &TextStats,
) -> Result<Option<Note>> {
    let Evidence { numbers, dates, .. } = column.evidence;
    let present = column.evidence.present();
    let (kind, most, (line, text)) = if dates > numbers {
        ("date", dates, texts.first_no_date())
    } else {
        ("number", numbers, texts.first_no_number())
    };
    let (place, text) = (stats.cell(line, column), quoted(text));
    let slips = present - most;
    let few = slips <= MAX_TYPOS && (slips as f64) < MAX_TYPO_SHARE * present as f64;
    let many_texts = texts.distinct() > MOST_MIXED_TEXTS;
    if slips > 0 && (few || (many_texts && most > slips)) {
        let (more, them) = match slips - 1 {
            0 => (String::new(), "it"),
            more => (format!(", nor are {}", count(more, "other cell")), "them"),
        };
        let drop = stats.origin_of(column).audience.drop_column(&column.name);
        bail!(
            "{place}: {text} is not a {kind}{more} (the column's other {most} values are); fix \
             {them}, or {drop}"
        );
    }
    Ok((most > 0 && slips > 0).then(|| {
        Note::Caution(format!(
            "{place}: {text} is not a {kind}, so the whole column is taken as categories"
        ))
    }))
}
