//! Several models as one: members, their mixing weights, and intervals calibrated by held-out rows.

mod board;
mod candidates;
mod diagnostics;
mod fit;
mod folds;
mod held_out;
mod job;
mod mix;
mod online;
mod predict;
mod weights;

pub use crate::model::Calibration;
pub use diagnostics::{Diagnostics, ErrorGroup};
pub use fit::StackFit;
pub use mix::Share;
pub use mix::cross_calibrated;
pub use predict::StackFunctions;

use crate::error::{Error, Result};
use crate::model::{Model, Scores};
use crate::named;
use crate::schema::Schema;
use serde::{Deserialize, Serialize};
use std::str::FromStr;
use std::sync::Arc;

/// How much is tried to find the best prediction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// One good model.
    Quick,
    /// A stack of the models that are usually worth their time.
    #[default]
    Normal,
    /// A stack of more models.
    Best,
}

impl Effort {
    /// Every choice with its name.
    pub const ALL: [(&'static str, Effort); 3] =
        [("quick", Effort::Quick), ("normal", Effort::Normal), ("best", Effort::Best)];
}

impl FromStr for Effort {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        named::find("effort", &Self::ALL, name)
    }
}

/// Where the intervals of predictions come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Intervals {
    /// From errors at held-out rows: they hold what they say even if the model is wrong about its
    /// errors.
    #[default]
    Calibrated,
    /// From the Gaussian processes alone.
    Gaussian,
}

impl Intervals {
    /// Every choice with its name.
    pub const ALL: [(&'static str, Intervals); 2] =
        [("calibrated", Intervals::Calibrated), ("gaussian", Intervals::Gaussian)];
}

impl FromStr for Intervals {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        named::find("kind of intervals", &Self::ALL, name)
    }
}

/// A member of a stack.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// The model, fitted to all rows.
    pub model: Model,
    /// Its share in predictions.
    pub share: Share,
}

/// Scores of one of the models that were tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// Its name.
    pub name: String,
    /// Its scores at held-out rows, if it could be fitted.
    pub scores: Option<Scores>,
    /// Seconds that its fits took, each on its own.
    #[serde(skip)]
    pub seconds: f64,
}

/// What held-out rows show: scores of rows that no member was fitted to, in any stage, in standard
/// deviations of the target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldOut {
    /// Number of held-out rows; equal ones count once.
    pub rows: usize,
    /// Number of fits that rows were held out from.
    pub folds: usize,
    /// The standard deviation of the target, the unit of all scores.
    pub unit: f64,
    /// Those of the stack, with mixing weights and calibration that come from other rows than those
    /// they are scored on.
    pub scores: Scores,
    /// Those of the mean and the standard deviation of the target, without any model.
    pub constant: Scores,
    /// Those of ridge regression.
    pub ridge: Option<Scores>,
    /// Those of all models that were tried.
    pub tried: Vec<Tried>,
    /// How predictions of the stack compare with observations; `None` in files of earlier versions.
    #[serde(default)]
    pub diagnostics: Option<Diagnostics>,
}

/// A fitted model with calibrated intervals: one model, or a mixture of several.
///
/// The mean is that of the members by mixing weights of least squares; the distribution is their
/// mixture by mixing weights of the highest log score, moved to that mean unless its own mean is as good.
/// All of it was learned from predictions of rows that the members had not seen.
#[derive(Clone, Debug)]
pub struct Stack {
    /// One at least. Names of columns, schema and target are those of the first.
    pub(crate) members: Vec<Member>,
    pub(crate) shifted: bool,
    pub(crate) curve: Option<Arc<Calibration>>,
    pub(crate) held_out: Option<HeldOut>,
}

impl From<Model> for Stack {
    /// A model without calibration.
    fn from(model: Model) -> Self {
        let name = model.preset().unwrap_or_default().to_string();
        let members = vec![Member { name, model, share: Share::WHOLE }];
        Self { members, shifted: false, curve: None, held_out: None }
    }
}

impl Stack {
    /// The members, with the largest mixing weight in the mean first.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The only member, if it is one model.
    pub fn single(&self) -> Option<&Model> {
        match self.members.as_slice() {
            [only] => Some(&only.model),
            _ => None,
        }
    }

    /// The member with the largest mixing weight in the mean. It knows the names of columns and target,
    /// and the schema, which all members share.
    pub fn first(&self) -> &Model {
        &self.members[0].model
    }

    /// Sets the schema of the training table. It must describe as many columns as X has.
    pub fn set_schema(&mut self, schema: &Schema) -> Result<()> {
        self.members[0].model.set_schema(schema.clone())
    }

    /// Names the columns of X.
    pub fn set_column_names(&mut self, names: &[String]) -> Result<()> {
        self.members[0].model.set_column_names(names.to_vec())
    }

    /// Names the target.
    pub fn set_target_name(&mut self, name: &str) {
        self.members[0].model.set_target_name(name);
    }

    /// The calibration of quantiles, if there is one.
    pub fn calibration(&self) -> Option<&Calibration> {
        self.curve.as_deref()
    }

    /// What held-out rows show, if any were held out.
    pub fn held_out(&self) -> Option<&HeldOut> {
        self.held_out.as_ref()
    }
}
