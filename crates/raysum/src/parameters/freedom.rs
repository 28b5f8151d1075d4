//! The freedom of length-scales and variances to differ.

/// How far length-scales may differ from one another, and likewise the variances of sub-kernels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Freedom {
    /// Not at all: there is one common length-scale and one variance.
    Common,
    /// Their logarithms have a Cauchy prior of this width around their mean: most stay close to
    /// it, and a few may be far from it.
    Shrunk(f64),
    /// Their prior is flat, as in the paper.
    Free,
}

impl Freedom {
    /// The width of the prior; `None` where it is flat.
    pub(crate) fn width(self) -> Option<f64> {
        match self {
            Freedom::Common => Some(0.0),
            Freedom::Shrunk(width) => Some(width),
            Freedom::Free => None,
        }
    }

    /// The freedom with a prior of this width.
    pub(crate) fn of_width(width: Option<f64>) -> Self {
        match width {
            Some(width) if width > 0.0 => Self::Shrunk(width),
            Some(_) => Self::Common,
            None => Self::Free,
        }
    }
}
