//! One term of the sum that a model is.

use super::Degrees;
use crate::error::{Error, Result, TermError};
use crate::kernel::Shape;
use crate::named;
use crate::project::Directions;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Which length-scales of a term are learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LengthScales {
    /// One per column, applied before the projection.
    Columns,
    /// One per row of every projection: along the axes that is the same as one per column.
    Projections,
    /// A common one.
    Common,
    /// None, but the directions themselves, whose lengths take their place.
    Directions,
    /// None.
    Fixed,
}

/// A term: sub-kernels of one kind along projections of the data, with weights that add up to the
/// term's variance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// κ.
    pub kernel: Shape,
    /// How many sub-kernels there are, and of which degree.
    pub degrees: Degrees,
    /// How their projections are chosen.
    pub directions: Directions,
    /// Which length-scales are learned.
    pub length_scales: LengthScales,
    /// Whether the weight α_j of every sub-kernel is learned; if not, it is 1/J.
    pub learn_weights: bool,
}

impl Term {
    /// Ridge regression as a Gaussian process: x·x'/d over standardised columns, with one variance.
    pub fn linear() -> Self {
        Self {
            kernel: Shape::Linear,
            degrees: Degrees::per_column(),
            directions: Directions::Axes,
            length_scales: LengthScales::Fixed,
            learn_weights: false,
        }
    }

    /// Whether directions are learned.
    pub fn learns_directions(&self) -> bool {
        self.length_scales == LengthScales::Directions
    }

    /// The term with a length-scale per column and with learned directions or without, where the
    /// user has said so.
    pub fn with_scales(&self, ard: Option<bool>, learn_directions: Option<bool>) -> Result<Self> {
        let scales = self.length_scales;
        let learn = learn_directions.unwrap_or(scales == LengthScales::Directions);
        let length_scales = match (learn, ard) {
            (true, Some(true)) => return Err(TermError::TwoScales.into()),
            (true, None) if scales == LengthScales::Columns => {
                return Err(TermError::TwoScales.into());
            }
            (true, _) => LengthScales::Directions,
            (false, Some(false)) if scales == LengthScales::Common => scales,
            (false, Some(false)) if self.directions == Directions::Axes => {
                return Err(TermError::ArdAlongAxes.into());
            }
            (false, Some(true)) => LengthScales::Columns,
            (false, Some(false)) => LengthScales::Projections,
            (false, None) if scales == LengthScales::Directions => LengthScales::Projections,
            (false, None) => scales,
        };
        Ok(Self { length_scales, ..self.clone() })
    }

    /// The model that learned directions start from: the same projections, and a length-scale per
    /// column.
    #[must_use]
    pub(crate) fn plain(&self) -> Self {
        if !self.learns_directions() {
            return self.clone();
        }
        Self { length_scales: LengthScales::Columns, learn_weights: false, ..self.clone() }
    }

    /// Fails if this is no term that could be fitted.
    pub(super) fn check(&self) -> Result<()> {
        let fixed = self.length_scales == LengthScales::Fixed;
        if fixed == (self.kernel == Shape::Linear) {
            Ok(())
        } else {
            Err(TermError::FixedScales.into())
        }
    }
}

/// Which prior length-scales have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LengthScalePrior {
    /// None, as in the paper.
    #[default]
    Flat,
    /// A log-normal one, wide, around a value that grows with the square root of the number of
    /// columns in one sub-kernel (Hvarfner, Hellsten and Nardi 2024).
    LogNormal,
}

impl LengthScalePrior {
    /// Every choice with its name.
    pub const ALL: [(&'static str, LengthScalePrior); 2] =
        [("flat", LengthScalePrior::Flat), ("log-normal", LengthScalePrior::LogNormal)];
}

impl FromStr for LengthScalePrior {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        named::find("prior of length-scales", &Self::ALL, name)
    }
}
