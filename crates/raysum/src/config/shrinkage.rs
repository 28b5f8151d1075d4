//! The shrinkage of length-scales, and its text form.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How length-scales, and the mixing weights of sub-kernels, are shrunk towards each other on a
/// table with few rows per column.
///
/// Written as `auto`, `none`, or the width as a number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Shrinkage {
    /// Held-out rows choose the width, where there are fewer than 20 rows for each parameter;
    /// with more rows there is no shrinkage.
    Auto,
    /// None, as in the paper: the marginal likelihood alone decides.
    None,
    /// Logarithms have a Cauchy prior of this width around their mean; 0 makes them all equal.
    Width(f64),
}

impl FromStr for Shrinkage {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let width = || text.parse().ok().filter(|w: &f64| w.is_finite() && *w >= 0.0);
        match text {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::None),
            _ => width().map(Self::Width).ok_or_else(|| Error::Shrinkage { text: text.into() }),
        }
    }
}

impl fmt::Display for Shrinkage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => write!(f, "auto"),
            Self::None => write!(f, "none"),
            Self::Width(width) => write!(f, "{width}"),
        }
    }
}

impl TryFrom<String> for Shrinkage {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Shrinkage> for String {
    fn from(shrinkage: Shrinkage) -> String {
        shrinkage.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shrinkage_reads_back_as_written() {
        for text in ["auto", "none", "0", "0.3"] {
            assert_eq!(text.parse::<Shrinkage>().unwrap().to_string(), text);
        }
        for text in ["", "-1", "inf", "NaN", "some"] {
            assert!(text.parse::<Shrinkage>().is_err(), "{text}");
        }
    }
}
