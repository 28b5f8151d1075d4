//! What the noise depends on.

use crate::error::{Error, Result};
use crate::named;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// What the noise of a row depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Noise {
    /// Nothing but its weight and its known noise.
    #[default]
    Constant,
    /// The columns: a second model predicts its level.
    Columns,
}

impl Noise {
    /// Every choice with its name.
    pub const ALL: [(&'static str, Noise); 2] =
        [("constant", Noise::Constant), ("columns", Noise::Columns)];
}

impl FromStr for Noise {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        named::find("noise", &Self::ALL, name)
    }
}
