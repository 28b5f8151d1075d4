//! An engine over rows that may be in a file: nothing that it says is believed if some of them could
//! not be read.

use super::{Conditioned, Engine, Evaluation, Prior, Resumable};
use crate::data::MatrixRef;
use crate::error::Result;

/// Another engine, and the rows it reads.
pub(crate) struct Reading<'a> {
    engine: Box<dyn Engine + 'a>,
    x: MatrixRef<'a>,
}

impl<'a> Reading<'a> {
    pub(crate) fn new(engine: Box<dyn Engine + 'a>, x: MatrixRef<'a>) -> Self {
        Self { engine, x }
    }
}

impl Engine for Reading<'_> {
    fn check(&self, prior: &Prior) -> Result<()> {
        let checked = self.engine.check(prior);
        self.x.check_read().and(checked)
    }

    fn work(&self, prior: &Prior) -> Option<f64> {
        self.engine.work(prior)
    }

    fn evaluate(&mut self, prior: &Prior) -> Result<Evaluation> {
        let evaluation = self.engine.evaluate(prior);
        self.x.check_read().and(evaluation)
    }

    fn posteriors(&mut self, prior: &Prior) -> Result<Vec<Conditioned>> {
        let posteriors = self.engine.posteriors(prior);
        self.x.check_read().and(posteriors)
    }

    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        self.engine.resumable()
    }
}
