//! Groups records by their keys, and summarises them.

use crate::chart::{Axis, Look, Marker, Panel, Series};
use crate::paper;
use crate::record::Record;
use crate::statistics::Spread;
use std::collections::BTreeMap;

/// Records grouped by set, model, …, in order.
pub(crate) fn by<'a, K: Ord>(
    records: impl IntoIterator<Item = &'a Record>,
    key: impl Fn(&Record) -> K,
) -> BTreeMap<K, Vec<&'a Record>> {
    let mut groups: BTreeMap<K, Vec<&Record>> = BTreeMap::new();
    for record in records {
        groups.entry(key(record)).or_default().push(record);
    }
    groups
}

/// Mean and standard deviation of one of their numbers.
pub(crate) fn spread(records: &[&Record], pick: impl Fn(&Record) -> f64) -> Spread {
    Spread::of(&records.iter().map(|r| pick(r)).collect::<Vec<_>>())
}

/// The root-mean-square error.
pub(crate) fn rmse(record: &Record) -> f64 {
    record.scores.rmse
}

/// A model's line through the means of a number against x, with a band of twice the standard
/// deviation if wanted.
pub(crate) fn line<'a>(
    model: &str,
    records: impl IntoIterator<Item = &'a Record>,
    x: impl Fn(&Record) -> f64,
    y: impl Fn(&Record) -> f64,
    banded: bool,
) -> Series {
    let mut groups: BTreeMap<u64, Vec<&Record>> = BTreeMap::new();
    for record in records.into_iter().filter(|r| r.key.model == model) {
        // Positive numbers have the order of their bits.
        groups.entry(x(record).to_bits()).or_default().push(record);
    }
    let spreads: Vec<(f64, Spread)> =
        groups.iter().map(|(x, group)| (f64::from_bits(*x), spread(group, &y))).collect();
    let points = spreads.iter().map(|(x, s)| (*x, s.mean)).collect();
    let band = spreads.iter().map(|(_, s)| (s.mean - 2.0 * s.sd, s.mean + 2.0 * s.sd));
    let band = if banded { band.collect() } else { Vec::new() };
    Series { name: paper::name(model), look: paper::look_of(model), points, band }
}

/// A model without projections, as a horizontal line.
pub(crate) fn level<'a>(
    model: &str,
    records: impl IntoIterator<Item = &'a Record>,
    ends: (f64, f64),
    y: impl Fn(&Record) -> f64,
) -> Option<Series> {
    let group: Vec<&Record> = records.into_iter().filter(|r| r.key.model == model).collect();
    if group.is_empty() {
        return None;
    }
    let mean = spread(&group, y).mean;
    let look = Look { marker: Marker::None, ..paper::look_of(model) };
    let points = vec![(ends.0, mean), (ends.1, mean)];
    Some(Series { name: paper::name(model), look, points, band: Vec::new() })
}

/// Models against their number of projections, and others as horizontal lines.
pub(crate) struct Sweep<'a> {
    pub(crate) models: &'a [&'a str],
    pub(crate) levels: &'a [&'a str],
    pub(crate) ends: (f64, f64),
}

impl Sweep<'_> {
    /// One panel of records that have all else in common; some models have bands.
    pub(crate) fn panel(
        &self,
        title: String,
        (label, y): (&str, fn(&Record) -> f64),
        records: &[&Record],
        banded: impl Fn(&str) -> bool,
    ) -> Panel {
        let all = || records.iter().copied();
        let lines = self.models.iter().map(|m| line(m, all(), |r| r.key.j as f64, y, banded(m)));
        let levels = self.levels.iter().filter_map(|m| level(m, all(), self.ends, y));
        Panel {
            title,
            x: Axis { label: "number of projections J".into(), log: true, range: Some(self.ends) },
            y: Axis { label: label.into(), log: false, range: None },
            series: lines.chain(levels).collect(),
        }
    }
}

/// `a, b and c`.
pub(crate) fn listed(words: &[String]) -> String {
    match words {
        [] => "none".into(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}
