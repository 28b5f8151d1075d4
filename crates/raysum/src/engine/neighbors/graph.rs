//! The rows that each row is conditioned on.

use super::metric::Metric;
use super::tree::{Finder, Tree, Wanted};
use crate::engine::AdditiveKernel;
use rayon::prelude::*;

/// Rows that one task finds neighbours of.
const BLOCK: usize = 256;
/// Most leaves of the tree that are looked at for a row: 4,000 points, so that this only matters
/// where rows are many and lie in many dimensions.
const LEAVES: usize = 128;
/// In place of a neighbour that there is not.
const NOBODY: u32 = u32::MAX;

/// For each row its nearest earlier rows under some kernel.
#[derive(Debug)]
pub(super) struct Graph {
    most: usize,
    neighbours: Vec<u32>,
    /// All rows, so that those near one another, which share neighbours, are mostly close in the
    /// list.
    pub(super) walk: Vec<u32>,
}

impl Graph {
    /// The nearest `most` earlier rows of projected rows, given row by row.
    pub(super) fn new(kernel: &AdditiveKernel, z: &[f64], most: usize) -> Self {
        let (metric, views) = (Metric::new(kernel), kernel.views.rows());
        let rows = z.len() / views;
        let most = most.min(rows.saturating_sub(1));
        let dims = metric.dims();
        let points = metric.locate_all(z, views);
        let tree = Tree::new(&points, dims);
        let find = |block: &[u32]| {
            let mut finder = Finder::default();
            let mut found = Vec::with_capacity(block.len() * most);
            for (place, row) in block.iter().enumerate() {
                let point = &points[*row as usize * dims..][..dims];
                let wanted = Wanted { count: most, before: *row, leaves: LEAVES };
                let near = tree.nearest(&mut finder, point, wanted);
                found.extend(near.iter().map(|near| near.row()));
                found.resize((place + 1) * most, NOBODY);
            }
            found
        };
        // In the order of the tree, where one row's leaves are still in cache for the next.
        let parts: Vec<Vec<u32>> = tree.walk().par_chunks(BLOCK).map(find).collect();
        let mut neighbours = vec![NOBODY; rows * most];
        for (block, found) in tree.walk().chunks(BLOCK).zip(&parts) {
            for (row, found) in block.iter().zip(found.chunks(most.max(1))) {
                neighbours[*row as usize * most..][..most].copy_from_slice(found);
            }
        }
        Self { most, neighbours, walk: tree.walk().to_vec() }
    }

    /// The most neighbours that a row has.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// The neighbours of a row, the nearest first.
    pub(super) fn of(&self, row: usize) -> &[u32] {
        let all = &self.neighbours[row * self.most..][..self.most];
        match all.last() {
            Some(&NOBODY) => &all[..all.partition_point(|row| *row != NOBODY)],
            _ => all,
        }
    }
}
