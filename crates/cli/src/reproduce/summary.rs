//! Records by what they have in common.

use super::chart::Series;
use super::paper;
use super::record::Record;
use super::statistics::Spread;
use std::collections::BTreeMap;

/// Records of one set, model, … together, in order.
pub(super) fn by<K: Ord>(
    records: &[Record],
    key: impl Fn(&Record) -> K,
) -> BTreeMap<K, Vec<&Record>> {
    let mut groups: BTreeMap<K, Vec<&Record>> = BTreeMap::new();
    for record in records {
        groups.entry(key(record)).or_default().push(record);
    }
    groups
}

/// Mean and spread of one of their numbers.
pub(super) fn spread(records: &[&Record], pick: impl Fn(&Record) -> f64) -> Spread {
    Spread::of(&records.iter().map(|r| pick(r)).collect::<Vec<_>>())
}

/// The root-mean-square error.
pub(super) fn rmse(record: &Record) -> f64 {
    record.scores.rmse
}

/// A model's line through the means of a number against x, with a band of twice the standard
/// deviation if wanted.
pub(super) fn line<'a>(
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

/// A model without directions to count, as a level line from one end to the other.
pub(super) fn level<'a>(
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
    let look = super::chart::Look { marker: super::chart::Marker::None, ..paper::look_of(model) };
    let points = vec![(ends.0, mean), (ends.1, mean)];
    Some(Series { name: paper::name(model), look, points, band: Vec::new() })
}

/// `a, b and c`.
pub(super) fn listed(words: &[String]) -> String {
    match words {
        [] => "none".into(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}
