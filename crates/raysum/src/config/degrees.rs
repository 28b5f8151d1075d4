//! The number and degrees of a model's sub-kernels, and their text form.

use crate::error::{Error, Result};
use crate::limits::MAX_SUB_KERNELS;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A number, or the number of columns of X.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Count {
    Number(usize),
    Columns,
    /// The number of columns, but at least the first and at most the second.
    Between(usize, usize),
}

impl Count {
    fn resolve(self, columns: usize) -> usize {
        match self {
            Count::Number(n) => n,
            Count::Columns => columns,
            Count::Between(least, most) => columns.clamp(least, most),
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Count::Number(n) => write!(f, "{n}"),
            Count::Columns => write!(f, "d"),
            Count::Between(least, most) => write!(f, "{least}..{most}"),
        }
    }
}

/// The degrees of the sub-kernels, as `J x D` groups: `20x1`, `4x1,4x2,4x3`; `d` stands for the
/// number of columns: `dx1` is one sub-kernel per column, `1xd` one over all of them, and
/// `20..100x1` one per column, but at least 20 and at most 100.
///
/// ```
/// use raysum::settings::Degrees;
/// let degrees: Degrees = "2x1,1xd".parse()?;
/// assert_eq!(degrees.resolve(5), [1, 1, 5]);
/// # Ok::<(), raysum::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Degrees(Vec<(Count, Count)>);

impl Degrees {
    /// `j` one-dimensional sub-kernels.
    pub fn ones(j: usize) -> Self {
        Self(vec![(Count::Number(j), Count::Number(1))])
    }

    /// A one-dimensional sub-kernel for each column.
    pub fn per_column() -> Self {
        Self(vec![(Count::Columns, Count::Number(1))])
    }

    /// The degree of each sub-kernel for data with this many columns.
    pub fn resolve(&self, columns: usize) -> Vec<usize> {
        let groups = self.0.iter().map(|(j, d)| (j.resolve(columns), d.resolve(columns)));
        groups.flat_map(|(j, d)| std::iter::repeat_n(d, j)).collect()
    }
}

impl FromStr for Degrees {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let number = |text: &str| text.parse().ok().filter(|n| (1..=MAX_SUB_KERNELS).contains(n));
        let count = |part: &str| match (part.trim(), part.trim().split_once("..")) {
            ("d", _) => Some(Count::Columns),
            (_, Some((least, most))) => {
                let (least, most) = (number(least)?, number(most)?);
                (least <= most).then_some(Count::Between(least, most))
            }
            (text, None) => number(text).map(Count::Number),
        };
        let group = |part: &str| {
            let (j, d) = part.split_once('x')?;
            let (j, d) = (count(j)?, count(d)?);
            (j.resolve(1) * d.resolve(1) <= MAX_SUB_KERNELS).then_some((j, d))
        };
        let groups: Option<Vec<_>> = text.split(',').map(group).collect();
        groups.map(Self).ok_or_else(|| Error::Degrees { text: text.into() })
    }
}

impl fmt::Display for Degrees {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups: Vec<_> = self.0.iter().map(|(j, d)| format!("{j}x{d}")).collect();
        f.write_str(&groups.join(","))
    }
}

impl TryFrom<String> for Degrees {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Degrees> for String {
    fn from(degrees: Degrees) -> String {
        degrees.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degrees_read_back_as_written() {
        for text in ["20x1", "dx1", "1xd", "4x1,4x2,4x3", "dxd", "20..100x1"] {
            let degrees: Degrees = text.parse().unwrap();
            assert_eq!(degrees.to_string(), text);
        }
        for text in [
            "",
            "20",
            "x",
            "0x1",
            "1x0",
            "1x1,",
            "-1x1",
            "99999999x1",
            "999999x999999",
            "2X1",
            "9..2x1",
            "..2x1",
        ] {
            assert!(text.parse::<Degrees>().is_err(), "{text}");
        }
        assert_eq!("2x1,1x3".parse::<Degrees>().unwrap().resolve(9), [1, 1, 3]);
        let between: Degrees = "20..100x1".parse().unwrap();
        assert_eq!([3, 50, 500].map(|d| between.resolve(d).len()), [20, 50, 100]);
    }
}
