//! What is wrong with the terms of a model.

/// Terms that do not make a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TermError {
    /// A model without terms.
    #[error("a model needs a term at least")]
    NoTerms,
    /// Nothing where a term should be.
    #[error("a term of the model '{model}' is empty; write terms as in linear+gam")]
    EmptyTerm {
        /// The model as it was written.
        model: String,
    },
    /// Fixed length-scales where there is something to learn, or the other way round.
    #[error("length-scales are fixed in linear terms, and only there")]
    FixedScales,
    /// A kernel or degrees for a linear term.
    #[error("the term '{term}' has no kernel and no degrees to choose; write 'linear'")]
    LinearHasNoParts {
        /// The term as it was written.
        term: String,
    },
    /// A second kernel, or degrees a second time, for a term.
    #[error("the term '{term}' has {what}; keep one of them")]
    Twice {
        /// The term as it was written.
        term: String,
        /// What there is two of, such as "two kernels".
        what: &'static str,
    },
    /// Nothing behind a colon.
    #[error("nothing follows a colon in the term '{term}'; write a kernel or degrees after it")]
    EmptyPart {
        /// The term as it was written.
        term: String,
    },
    /// The mixture that is chosen by itself, in place of a model.
    #[error("auto is a mixture of models, and neither one of them nor a term of a sum")]
    AutoIsNoTerm,
    /// A preset with an engine of its own, in a sum.
    #[error(
        "{term} is a model of its own, not a term of a sum: write the term without -ski, and choose \
         the ski engine, which takes sums without linear"
    )]
    SkiInSum {
        /// The preset.
        term: &'static str,
    },
    /// A setting of one term for a model that has several.
    #[error(
        "the model is a sum of terms, and kernel, degrees, directions, ard and learned weights or \
         directions are those of one term; write a term's kernel or degrees after it, as in \
         gam:matern52+dpa-ard:40x1"
    )]
    SumOfTerms,
    /// A setting of projections for the linear model.
    #[error(
        "the linear model has no kernel, projections or length-scales to change; choose another \
         model, or add a term to it, as in linear+gam"
    )]
    NothingToChange,
    /// Learned directions already include a length-scale per column.
    #[error(
        "learned directions have lengths of their own in every column, which leaves nothing to \
         length-scales per column: choose one of both"
    )]
    TwoScales,
    /// `ard` was switched off for projections onto the axes, where it has no effect.
    #[error(
        "along the axes every column has a length-scale of its own, with or without ard: leave it \
         on, or choose other directions"
    )]
    ArdAlongAxes,
    /// A term whose functions need too many features.
    #[error(
        "the functions of term {} of the sum, {kernel}, are too rough for the weight engine: too many \
         features; use a smoother kernel, the ski or the neighbors engine, or the dense one (up to {} \
         rows)",
        term + 1,
        crate::limits::written(crate::limits::MAX_DENSE_ROWS)
    )]
    TooRough {
        /// The term, counted from 0.
        term: usize,
        /// Its sub-kernel.
        kernel: &'static str,
    },
    /// A kernel that an engine for products of one-dimensional kernels cannot express.
    #[error(
        "the {engine} engine takes sub-kernels of degree 1, and of degree 2 and 3 with the rbf \
         kernel, not {kernel} of degree {degree}{}; use the dense or the neighbors engine",
        .term.map_or(String::new(), |term| format!(" (term {} of the sum)", term + 1))
    )]
    NoProductForm {
        /// The engine.
        engine: &'static str,
        /// The sub-kernel.
        kernel: &'static str,
        /// Its degree.
        degree: usize,
        /// Which of several terms it belongs to, counted from 0.
        term: Option<usize>,
    },
}
