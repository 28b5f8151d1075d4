//! How columns become the numbers a model works on: the part of a model file that says so.

use std::collections::HashSet;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::words::{every, quoted};

/// A text column with more distinct texts than this is no category.
pub(crate) const MAX_CATEGORIES: usize = 100;

/// How a table's columns become numbers; part of the model file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Encoding {
    /// Whether columns are matched by name; otherwise by position.
    pub(crate) has_header: bool,
    /// The columns to predict.
    pub(crate) targets: Vec<Place>,
    /// The column that says how often each row counts.
    #[serde(default)]
    pub(crate) weights: Option<Place>,
    /// The column with the known standard deviation of each row's noise.
    #[serde(default)]
    pub(crate) noise_std: Option<Place>,
    /// The number of columns in the training file.
    pub(crate) width: usize,
    /// The columns to predict from, in the order of the training file.
    pub(crate) features: Vec<Feature>,
    /// The training mean of each encoded column: what a missing cell is filled with.
    pub(crate) means: Vec<f64>,
    /// What the user should hear about the training columns; a loaded model has said it before.
    #[serde(skip)]
    pub(crate) notes: Vec<String>,
}

/// A column of the training file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// Its name.
    pub(crate) name: String,
    /// Its position.
    pub(crate) position: usize,
}

/// What columns are for, apart from those to predict from; by position.
#[derive(Clone, Debug, Default)]
pub(crate) struct Roles {
    /// The columns to predict.
    pub(crate) targets: Vec<usize>,
    /// How often each row counts.
    pub(crate) weights: Option<usize>,
    /// The known standard deviation of each row's noise.
    pub(crate) noise_std: Option<usize>,
}

impl From<usize> for Roles {
    fn from(target: usize) -> Self {
        Self { targets: vec![target], ..Self::default() }
    }
}

impl Roles {
    /// All these columns.
    pub(crate) fn all(&self) -> impl Iterator<Item = usize> + '_ {
        self.targets.iter().copied().chain(self.weights).chain(self.noise_std)
    }
}

/// One column to predict from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Feature {
    /// Its name in the training file.
    pub(crate) name: String,
    /// Its position in the training file.
    pub(crate) position: usize,
    /// What it holds.
    pub(crate) kind: Kind,
}

/// What a feature holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// Numbers, encoded as they are.
    Number,
    /// Dates, encoded as days since the start of 1970.
    Date,
    /// Texts, encoded as one column of zeros and ones per category.
    Text {
        /// The distinct texts, sorted.
        categories: Vec<String>,
    },
}

impl Feature {
    /// The number of encoded columns.
    pub(super) fn len(&self) -> usize {
        match &self.kind {
            Kind::Number | Kind::Date => 1,
            Kind::Text { categories } => categories.len(),
        }
    }
}

impl Encoding {
    /// The encoding of a table of numbers only, for a model that was not fitted from a table: the
    /// features come first, and a target may follow.
    pub(crate) fn plain(has_header: bool, names: Vec<String>, means: Vec<f64>) -> Self {
        let width = names.len() + 1;
        let features = names.into_iter().enumerate();
        let feature = |(position, name)| Feature { name, position, kind: Kind::Number };
        Self {
            has_header,
            targets: vec![Place { name: String::new(), position: width - 1 }],
            weights: None,
            noise_std: None,
            width,
            features: features.map(feature).collect(),
            means,
            notes: Vec::new(),
        }
    }

    /// The columns that are not predicted from: targets, weights and known noise.
    pub(crate) fn beside(&self) -> impl Iterator<Item = &Place> {
        self.targets.iter().chain(&self.weights).chain(&self.noise_std)
    }

    /// The targets in words.
    pub(crate) fn target_names(&self) -> String {
        every(self.targets.iter().map(|place| place.name.as_str()))
    }

    /// The number of encoded columns.
    pub(crate) fn expand_len(&self) -> usize {
        self.features.iter().map(Feature::len).sum()
    }

    /// Whether any feature holds numbers.
    pub(crate) fn has_numbers(&self) -> bool {
        self.features.iter().any(|feature| !matches!(feature.kind, Kind::Text { .. }))
    }

    /// The names of the encoded columns: a number's own, and `name=category` for texts.
    pub(crate) fn expanded_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for Feature { name, kind, .. } in &self.features {
            match kind {
                Kind::Number | Kind::Date => names.push(name.clone()),
                Kind::Text { categories } => {
                    names.extend(categories.iter().map(|category| format!("{name}={category}")));
                }
            }
        }
        names
    }

    /// Checks an encoding that comes from a model file.
    pub(crate) fn validate(&self) -> Result<()> {
        let bad = "the model's columns are damaged";
        ensure!(!self.features.is_empty(), "{bad}: there are none");
        let mut positions = HashSet::new();
        let mut names = HashSet::new();
        ensure!(!self.targets.is_empty(), "{bad}: there is no target");
        let beside = self.beside().map(|place| (place.position, &place.name));
        for (position, name) in beside.chain(self.features.iter().map(|f| (f.position, &f.name))) {
            let name_of = quoted(name);
            ensure!(
                position < self.width,
                "{bad}: {name_of} is column {position} of only {}",
                self.width
            );
            ensure!(positions.insert(position), "{bad}: two of them are column {position}");
            ensure!(names.insert(name), "{bad}: two of them are named {name_of}");
        }
        for Feature { name, kind, .. } in &self.features {
            let Kind::Text { categories } = kind else { continue };
            let sorted = categories.windows(2).all(|pair| pair[0] < pair[1]);
            ensure!(sorted, "{bad}: the categories of {} are not sorted", quoted(name));
            ensure!(
                (1..=MAX_CATEGORIES).contains(&categories.len()),
                "{bad}: {} has {} categories",
                quoted(name),
                categories.len(),
            );
        }
        ensure!(
            self.means.len() == self.expand_len(),
            "{bad}: there are {} means for {} encoded columns",
            self.means.len(),
            self.expand_len(),
        );
        ensure!(self.means.iter().all(|mean| mean.is_finite()), "{bad}: a mean is not finite");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Chosen;
    use super::super::from_text;
    use super::*;

    fn small() -> Encoding {
        let table = from_text("x,colour,y\n1,red,5\n2,blue,6\n6,red,7\n9,,8\n");
        Encoding::learn(&(&table).into(), 2, &Chosen::default()).unwrap()
    }

    #[test]
    fn names_of_encoded_columns() {
        let encoding = small();
        assert_eq!(encoding.expanded_names(), ["x", "colour=blue", "colour=red"]);
        assert_eq!(encoding.expand_len(), 3);
    }

    #[test]
    fn an_encoding_survives_json_without_its_notes() {
        let table = from_text("x,c,y\n1,a,2\n1,b,3\n");
        let encoding = Encoding::learn(&(&table).into(), 2, &Chosen::default()).unwrap();
        assert_eq!(encoding.notes.len(), 1);
        let json = serde_json::to_string(&encoding).unwrap();
        let loaded: Encoding = serde_json::from_str(&json).unwrap();
        loaded.validate().unwrap();
        assert_eq!(loaded, Encoding { notes: Vec::new(), ..encoding });
    }

    type Damage<'a> = &'a dyn Fn(&mut Encoding);

    #[test]
    fn damaged_encodings_are_refused() {
        let text = |categories: &[&str]| Kind::Text {
            categories: categories.iter().map(|c| (*c).to_owned()).collect(),
        };
        let cases: [(Damage, &str); 12] = [
            (&|e| e.features.clear(), "there are none"),
            (&|e| e.width = 2, "'y' is column 2 of only 2"),
            (&|e| e.features[1].position = 9, "'colour' is column 9 of only 3"),
            (&|e| e.features[1].position = 2, "two of them are column 2"),
            (&|e| e.features[1].name = "x".into(), "two of them are named 'x'"),
            (&|e| e.features[0].name = "y".into(), "two of them are named 'y'"),
            (
                &|e| e.features[1].kind = text(&["b", "a"]),
                "the categories of 'colour' are not sorted",
            ),
            (
                &|e| e.features[1].kind = text(&["a", "a"]),
                "the categories of 'colour' are not sorted",
            ),
            (&|e| e.features[1].kind = text(&[]), "'colour' has 0 categories"),
            (
                &|e| {
                    let categories = (100..201).map(|i| i.to_string()).collect();
                    e.features[1].kind = Kind::Text { categories };
                },
                "'colour' has 101 categories",
            ),
            (&|e| e.means.truncate(1), "there are 1 means for 3 encoded columns"),
            (&|e| e.means[0] = f64::NAN, "a mean is not finite"),
        ];
        for (damage, message) in cases {
            let mut encoding = small();
            damage(&mut encoding);
            let error = encoding.validate().unwrap_err().to_string();
            assert_eq!(error, format!("the model's columns are damaged: {message}"));
        }
    }
}
