//! Files of format 2 kept the table, the target's name and the preset as attachments: JSON values by
//! name. Here they become what format 3 has.

use crate::data::Labels;
use crate::schema::{DateOrder, Feature, FeatureKind, LabelColumn, NumberFormat, Schema};
use serde::Deserialize;
use serde_json::Value;

/// The attachments that were written; others are ignored.
#[derive(Default, Deserialize)]
pub(super) struct Attachments {
    table: Option<TableAttachment>,
    #[serde(default)]
    target: Value,
    #[serde(default)]
    preset: Value,
}

impl Attachments {
    pub(super) fn target(&self) -> Option<String> {
        self.target.as_str().map(String::from)
    }

    pub(super) fn preset(&self) -> Option<String> {
        self.preset.as_str().map(String::from)
    }

    pub(super) fn into_schema(self) -> Option<Schema> {
        self.table.map(Schema::from)
    }
}

#[derive(Deserialize)]
struct TableAttachment {
    has_header: bool,
    targets: Vec<PlaceAttachment>,
    weights: Option<PlaceAttachment>,
    noise_std: Option<PlaceAttachment>,
    width: usize,
    features: Vec<ColumnAttachment>,
    means: Vec<f64>,
}

#[derive(Deserialize)]
struct PlaceAttachment {
    name: String,
    position: usize,
}

#[derive(Deserialize)]
struct ColumnAttachment {
    name: String,
    position: usize,
    kind: KindAttachment,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum KindAttachment {
    Number,
    Date,
    Text { categories: Vec<String> },
}

impl From<KindAttachment> for FeatureKind {
    fn from(kind: KindAttachment) -> Self {
        match kind {
            KindAttachment::Number => Self::Number(NumberFormat::default()),
            KindAttachment::Date => Self::Date { order: DateOrder::YearFirst },
            KindAttachment::Text { categories } => Self::Category { categories, others: false },
        }
    }
}

impl From<PlaceAttachment> for LabelColumn {
    fn from(PlaceAttachment { name, position }: PlaceAttachment) -> Self {
        Self { name, position, format: NumberFormat::default() }
    }
}

impl From<TableAttachment> for Schema {
    fn from(table: TableAttachment) -> Self {
        // Means that are too few or too many leave features with a wrong number of them, which
        // validation finds.
        let mut means = table.means.into_iter();
        let mut features: Vec<Feature> = Vec::new();
        for ColumnAttachment { name, position, kind } in table.features {
            let kind = FeatureKind::from(kind);
            let means = means.by_ref().take(kind.value_columns()).collect();
            features.push(Feature { name, position, kind, means, indicator: false });
        }
        if let Some(last) = features.last_mut() {
            last.means.extend(means);
        }
        Self {
            named: table.has_header,
            width: table.width,
            features,
            labels: Labels {
                targets: table.targets.into_iter().map(LabelColumn::from).collect(),
                sample_weights: table.weights.map(LabelColumn::from),
                noise: table.noise_std.map(LabelColumn::from),
            },
        }
    }
}
