//! How columns and targets are scaled.

use crate::error::{Error, Result};
use crate::named;
use crate::scale::MapKind;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// How columns are scaled before anything else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnsScale {
    /// To mean 0 and standard deviation 1.
    #[default]
    Standard,
    /// The same, with values beyond ten standard deviations drawn in to the logarithm of their distance: for
    /// columns that are 0 but in a few rows.
    Robust,
    /// By their ranks, to normal scores: for columns with heavy tails or outliers.
    Ranks,
    /// By where boosted trees cut them, so that a column rises where the target changes: for steps and
    /// thresholds.
    Cuts,
}

impl ColumnsScale {
    /// Every choice with its name.
    pub const ALL: [(&'static str, ColumnsScale); 4] = [
        ("standard", ColumnsScale::Standard),
        ("robust", ColumnsScale::Robust),
        ("ranks", ColumnsScale::Ranks),
        ("cuts", ColumnsScale::Cuts),
    ];

    /// What columns are mapped by, if they are.
    pub(crate) fn map_kind(self) -> Option<MapKind> {
        match self {
            Self::Standard => None,
            Self::Robust => Some(MapKind::Robust),
            Self::Ranks => Some(MapKind::Ranks),
            Self::Cuts => Some(MapKind::Cuts),
        }
    }

    /// The name of the choice.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, scale)| *scale == self).map_or("", |(name, _)| name)
    }
}

impl FromStr for ColumnsScale {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        named::find("scale of columns", &Self::ALL, name)
    }
}

/// How targets are scaled before anything else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetScale {
    /// To mean 0 and standard deviation 1.
    #[default]
    None,
    /// By Yeo and Johnson's power transformation, or the logarithm of a target above 0, whichever
    /// makes the target's values the more likely: for skewed targets.
    YeoJohnson,
}

impl TargetScale {
    /// Every choice with its name.
    pub const ALL: [(&'static str, TargetScale); 2] =
        [("none", TargetScale::None), ("yeo-johnson", TargetScale::YeoJohnson)];
}

impl FromStr for TargetScale {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        named::find("scale of targets", &Self::ALL, name)
    }
}
