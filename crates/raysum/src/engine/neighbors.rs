//! The engine that conditions each row on its neighbours, for any kernel and many rows: Vecchia's
//! approximation.
//!
//! With the rows in a random order and N(i) the k nearest of the rows before row i,
//!
//! ```text
//! log p(y) ≈ Σ_i log p(y_i | y_N(i))
//! ```
//!
//! which is the likelihood of a Gaussian process too, the exact one where k covers all rows, and
//! costs n factorisations of k rows (Vecchia 1988; Datta, Banerjee, Finley and Gelfand 2016). A new
//! row is predicted from its nearest among all rows.
//!
//! Neighbours are near under the kernel ([`metric`]). They stay those of the θ that a search
//! starts at ([`Engine::settle`]), so that the likelihood is one smooth function as long as it is
//! being searched.

mod graph;
mod group;
mod lanes;
mod likelihood;
mod metric;
mod online;
mod options;
mod posterior;
mod tree;

pub use options::NeighborsOptions;
pub(crate) use posterior::NeighborsPosterior;

use super::{Conditioned, Engine, Evaluation, Observations, Prior};
use crate::error::Result;
use crate::kernel::Shape;
use crate::memory;
use crate::rng::{Purpose, stream};
use crate::scale::StandardRows;
use graph::Graph;
use likelihood::Ordered;
use posterior::NeighborsShared;
use rand::seq::SliceRandom;
use std::borrow::Cow;
use std::sync::Arc;

/// The engine's name.
pub(crate) const NAME: &str = "neighbors";

/// Training rows, in memory from the first evaluation on.
#[derive(Debug)]
pub(crate) struct Neighbors<'a> {
    rows: StandardRows<'a>,
    observations: Cow<'a, Observations>,
    options: NeighborsOptions,
    seed: u64,
    ordered: Option<Ordered>,
    graph: Option<Graph>,
}

impl<'a> Neighbors<'a> {
    /// Takes standardised rows; the seed gives their order.
    pub(crate) fn new(
        rows: StandardRows<'a>,
        observations: impl Into<Cow<'a, Observations>>,
        options: NeighborsOptions,
        seed: u64,
    ) -> Self {
        let observations = observations.into();
        Self { rows, observations, options, seed, ordered: None, graph: None }
    }

    fn require_memory(&self, prior: &Prior) -> Result<()> {
        let (rows, columns) = (self.rows.len(), prior.kernel.views.columns());
        // Rows as they come and in their order, projected, as points of a tree, and neighbours.
        let each = 2 * columns + 3 * prior.kernel.views.rows() + self.options.neighbors + 16;
        let what = format_args!("{rows} rows, which the neighbors engine keeps in memory,");
        memory::require_for_rows(what, rows, each)
    }

    fn ordered(&mut self, prior: &Prior) -> Result<&Ordered> {
        let ordered = if let Some(ordered) = self.ordered.take() {
            ordered
        } else {
            self.require_memory(prior)?;
            let order = random_order(self.rows.len(), self.seed);
            let x = self.rows.block(0..self.rows.len())?.gather(&order);
            Ordered { x, observations: self.observations.gather(&order) }
        };
        Ok(self.ordered.insert(ordered))
    }
}

/// The order in which rows are conditioned.
fn random_order(rows: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows).collect();
    order.shuffle(&mut stream(seed, Purpose::Order, 0));
    order
}

/// Approximate number of multiplications of an evaluation: a factorisation for each row, and for
/// each pair of its neighbours an exponential for each stationary sub-kernel, and some products for
/// each projection.
pub(super) fn work(rows: usize, prior: &Prior, neighbors: usize) -> f64 {
    let k = neighbors.min(rows) as f64;
    let stationary = prior.kernel.shapes.iter().filter(|shape| **shape != Shape::Linear).count();
    let (views, stationary) = (prior.kernel.views.rows() as f64, stationary as f64);
    rows as f64 * k * k * (k / 6.0 + 8.0 * views + 30.0 * stationary)
}

impl Engine for Neighbors<'_> {
    /// Every kernel is supported, if there is memory for the rows.
    fn check(&self, prior: &Prior) -> Result<()> {
        self.require_memory(prior)
    }

    fn work(&self, prior: &Prior) -> Option<f64> {
        Some(work(self.rows.len(), prior, self.options.neighbors))
    }

    fn settle(&mut self, prior: &Prior) -> Result<bool> {
        let neighbors = self.options.neighbors;
        self.graph = Some(self.ordered(prior)?.graph(prior, neighbors));
        Ok(true)
    }

    fn evaluate(&mut self, prior: &Prior) -> Result<Evaluation> {
        if self.graph.is_none() {
            self.settle(prior)?;
        }
        self.ordered(prior)?;
        match (&self.ordered, &self.graph) {
            (Some(ordered), Some(graph)) => ordered.evaluate(prior, graph),
            _ => unreachable!("rows and neighbours were made above"),
        }
    }

    fn posteriors(&mut self, prior: &Prior) -> Result<Vec<Conditioned>> {
        self.require_memory(prior)?;
        let x = self.rows.block(0..self.rows.len())?;
        let prior = Arc::new(prior.clone());
        let (options, observations) = (self.options.clone(), self.observations.as_ref());
        NeighborsShared::new(x, observations, &prior, options, self.seed)
            .conditioned(&prior, observations)
    }
}
