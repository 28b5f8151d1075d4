//! Schemas that hold together, and those that do not.

use super::*;

fn small() -> Schema {
    let feature = |name: &str, position, kind: FeatureKind| {
        let means = vec![0.5; kind.encoded_columns()];
        Feature { name: name.into(), position, kind, means }
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
            feature("colour", 1, FeatureKind::Category { categories: text }),
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

#[test]
fn a_schema_survives_json() {
    let schema = small();
    schema.validate().unwrap();
    let json = serde_json::to_string(&schema).unwrap();
    assert_eq!(serde_json::from_str::<Schema>(&json).unwrap(), schema);
    assert!(json.contains(r#"{"type":"number","decimal":"comma","grouping":"point""#), "{json}");
}

type Damage<'a> = &'a dyn Fn(&mut Schema);

#[test]
fn damaged_schemas_are_refused() {
    let text = |categories: &[&str]| FeatureKind::Category {
        categories: categories.iter().map(|c| (*c).to_owned()).collect(),
    };
    let number = |decimal, grouping, unit: Option<&str>| {
        FeatureKind::Number(NumberFormat { decimal, grouping, unit: unit.map(String::from) })
    };
    let clash = number(DecimalMark::Comma, Some(Grouping::Comma), None);
    let unit = number(DecimalMark::Point, None, Some("5"));
    let cases: [(Damage, &str); 16] = [
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
                let categories = (100..201).map(|i| i.to_string()).collect();
                s.features[1].kind = FeatureKind::Category { categories };
            },
            "\"colour\" has 101 categories",
        ),
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
