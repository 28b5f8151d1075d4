//! Schemas that hold together, and those that do not.

use super::*;

fn small() -> Schema {
    let feature = |name: &str, position, kind: FeatureKind| {
        let means = vec![0.5; kind.value_columns()];
        Feature { name: name.into(), position, kind, means, indicator: false }
    };
    let text = ["blue", "red"].map(String::from).to_vec();
    let label = |name: &str, position| LabelColumn {
        name: name.into(),
        position,
        format: NumberFormat::default(),
    };
    let number = FeatureKind::Number(NumberFormat {
        decimal: DecimalMark::Comma,
        grouping: Some(Grouping::Point),
        unit: Some("€".into()),
    });
    Schema {
        named: true,
        width: 7,
        features: vec![
            feature("x", 0, number),
            feature("colour", 1, FeatureKind::Category { categories: text, others: false }),
            feature("when", 2, FeatureKind::Date { order: DateOrder::DayFirst }),
            feature("flag", 3, FeatureKind::Boolean),
            feature("id", 4, FeatureKind::Identifier),
        ],
        labels: Labels {
            targets: vec![label("y", 5)],
            sample_weights: Some(label("w", 6)),
            noise: None,
        },
    }
}

#[test]
fn columns_of_x_have_names() {
    let schema = small();
    let names = ["x", "colour=blue", "colour=red", "when", "flag"];
    assert_eq!(schema.encoded_names(), names);
    assert_eq!(schema.encoded_columns(), names.len());
}

/// The small schema with gaps in two columns, and a category for all other texts.
fn with_gaps() -> Schema {
    let mut schema = small();
    let FeatureKind::Category { others, .. } = &mut schema.features[1].kind else { panic!("text") };
    *others = true;
    schema.features[1].means.push(0.25);
    schema.features[1].indicator = true;
    schema.features[2].indicator = true;
    schema
}

#[test]
fn indicators_and_other_texts_belong_to_their_column() {
    let schema = with_gaps();
    let names = [
        "x",
        "colour=blue",
        "colour=red",
        "colour (others)",
        "colour (missing)",
        "when",
        "when (missing)",
        "flag",
    ];
    assert_eq!(schema.encoded_names(), names);
    assert_eq!(schema.encoded_columns(), names.len());
    assert_eq!(schema.groups(), [0, 1, 1, 1, 1, 2, 2, 3]);
}

#[test]
fn no_two_columns_of_x_have_one_name() {
    let mut schema = with_gaps();
    schema.features[0].name = "colour=red".into();
    schema.features[3].name = "when (missing)".into();
    let names = [
        "colour=red",
        "colour=blue",
        "colour=red (2)",
        "colour (others)",
        "colour (missing)",
        "when",
        "when (missing) (2)",
        "when (missing)",
    ];
    assert_eq!(schema.encoded_names(), names);
}

#[test]
fn a_schema_survives_json() {
    for schema in [small(), with_gaps()] {
        schema.validate().unwrap();
        let json = serde_json::to_string(&schema).unwrap();
        assert_eq!(serde_json::from_str::<Schema>(&json).unwrap(), schema);
        let number = r#"{"type":"number","decimal":"comma","grouping":"point""#;
        assert!(json.contains(number), "{json}");
        // Files without gaps are as they were before there were indicators.
        assert_eq!(json.contains("indicator"), schema == with_gaps(), "{json}");
        assert_eq!(json.contains("others"), schema == with_gaps(), "{json}");
    }
}

type Damage<'a> = &'a dyn Fn(&mut Schema);

#[test]
fn damaged_schemas_are_refused() {
    let text = |categories: &[&str]| FeatureKind::Category {
        categories: categories.iter().map(|c| (*c).to_owned()).collect(),
        others: false,
    };
    let number = |decimal, grouping, unit: Option<&str>| {
        FeatureKind::Number(NumberFormat { decimal, grouping, unit: unit.map(String::from) })
    };
    let clash = number(DecimalMark::Comma, Some(Grouping::Comma), None);
    let unit = number(DecimalMark::Point, None, Some("5"));
    let cases: [(Damage, &str); 18] = [
        (&|s| s.features.clear(), "there are no columns to predict from"),
        (&|s| s.features.drain(..4).for_each(drop), "there are no columns to predict from"),
        (&|s| s.labels.targets.clear(), "there is no target"),
        (&|s| s.width = 6, "\"w\" is column 6 of only 6"),
        (&|s| s.features[1].position = 9, "\"colour\" is column 9 of only 7"),
        (&|s| s.features[1].position = 5, "two columns are column 5"),
        (&|s| s.features[1].name = "x".into(), "two columns are named \"x\""),
        (&|s| s.features[0].name = "y".into(), "two columns are named \"y\""),
        (
            &|s| s.features[1].kind = text(&["b", "a"]),
            "the categories of \"colour\" are not sorted",
        ),
        (
            &|s| s.features[1].kind = text(&["a", "a"]),
            "the categories of \"colour\" are not sorted",
        ),
        (&|s| s.features[1].kind = text(&[]), "\"colour\" has 0 categories"),
        (
            &|s| {
                let categories = (1000..2000).map(|i| i.to_string()).collect();
                s.features[1].kind = FeatureKind::Category { categories, others: true };
            },
            "\"colour\" has 1001 categories",
        ),
        (
            &|s| {
                let categories = Vec::new();
                s.features[1].kind = FeatureKind::Category { categories, others: true };
            },
            "\"colour\" has 1 categories",
        ),
        (&|s| s.features[4].indicator = true, "\"id\" is not used, but has an indicator"),
        (&|s| s.features[1].means.truncate(1), "\"colour\" has 1 means for 2 encoded columns"),
        (&|s| s.features[0].means[0] = f64::NAN, "a mean of \"x\" is not finite"),
        (
            &|s| s.features[0].kind = clash.clone(),
            "\"x\" has one mark for groups of digits and for the fraction",
        ),
        (&|s| s.features[0].kind = unit.clone(), "\"x\" has Some(\"5\") as its unit"),
    ];
    for (damage, message) in cases {
        let mut schema = small();
        damage(&mut schema);
        let error = schema.validate().unwrap_err().to_string();
        assert_eq!(error, format!("the description of the table is wrong: {message}"));
    }
}
