//! A k-d tree: the points nearest to another one, among all or among the first of them.
//!
//! Where many columns matter a search visits most leaves, and is then a blocked scan of all points;
//! the boxes around them cost little beside it. Ties go to the point with the lower number, so the
//! result is one set whatever the tree looks like, and any number of equal points is as good as any
//! other data.

use pulp::{Arch, NullaryFnOnce};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// Points of a leaf.
const LEAF: usize = 32;
/// Points whose distances are computed at a time.
const LANES: usize = 8;
/// The bound that a box gives is summed in another order than distances are, so that rounding could
/// put it above the distance of a point inside.
const ROUNDING: f64 = 1.0 - 1e-13;

/// Points in some dimensions.
#[derive(Debug)]
pub(super) struct Tree {
    dims: usize,
    /// The root comes first, and each left child behind its parent.
    nodes: Vec<Node>,
    /// The box around each node: lows, then highs, each padded to whole lanes.
    boxes: Vec<f64>,
    /// The numbers of the points, leaf by leaf, rising inside a leaf.
    order: Vec<u32>,
    /// Coordinates, leaf by leaf: a run per dimension, padded to whole lanes.
    points: Vec<f64>,
}

#[derive(Debug)]
struct Node {
    /// The lowest number of a point inside.
    first: u32,
    content: Content,
}

#[derive(Debug)]
enum Content {
    /// The right child; the left one comes next.
    Inner { right: u32 },
    /// A range of [`Tree::order`], and where its coordinates start.
    Leaf { rows: Range<u32>, points: usize },
}

/// A point and its squared distance as one number, which orders them: bits of a float that is not
/// negative rise with it, and the point with the lower number is the nearer of equals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Near(u128);

impl Near {
    #[inline(always)]
    fn new(distance: f64, row: u32) -> Self {
        Self(u128::from(distance.to_bits()) << 32 | u128::from(row))
    }

    /// The point.
    pub(super) fn row(self) -> u32 {
        self.0 as u32
    }

    #[inline(always)]
    fn distance(self) -> f64 {
        f64::from_bits((self.0 >> 32) as u64)
    }
}

/// What a search looks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// How many points.
    pub(super) count: usize,
    /// Only points with lower numbers.
    pub(super) before: u32,
    /// Most leaves that are looked at, from the nearest box on. A search that ends there has found
    /// near points, if not the nearest of all.
    pub(super) leaves: usize,
}

/// Memory of searches.
#[derive(Debug, Default)]
pub(super) struct Finder {
    /// Boxes to look into, the nearest first: their bounds with the lowest number inside, and the
    /// node.
    ahead: BinaryHeap<Reverse<(Near, u32)>>,
    /// The best so far, the farthest first.
    best: BinaryHeap<Near>,
    /// What was found, the nearest first.
    found: Vec<Near>,
    point: Vec<f64>,
}

impl Tree {
    /// A tree over row-major points.
    pub(super) fn new(points: &[f64], dims: usize) -> Self {
        let rows = points.len().checked_div(dims).unwrap_or(0);
        let mut tree = Self {
            dims,
            nodes: Vec::new(),
            boxes: Vec::new(),
            order: (0..rows as u32).collect(),
            points: Vec::with_capacity(points.len() + LANES * dims),
        };
        let mut order = std::mem::take(&mut tree.order);
        if rows > 0 {
            tree.grow(points, &mut order, 0);
        }
        tree.order = order;
        tree
    }

    /// The numbers of all points, so that those near one another are mostly close in the list.
    pub(super) fn walk(&self) -> &[u32] {
        &self.order
    }

    fn padded(&self) -> usize {
        self.dims.next_multiple_of(LANES)
    }

    fn grow(&mut self, points: &[f64], rows: &mut [u32], start: usize) {
        let (dims, node) = (self.dims, self.nodes.len());
        let at = |row: u32, dim: usize| points[row as usize * dims + dim];
        let first = rows.iter().copied().min().unwrap_or(0);
        let (mut low, mut high) = (vec![f64::INFINITY; dims], vec![f64::NEG_INFINITY; dims]);
        for &row in rows.iter() {
            for dim in 0..dims {
                low[dim] = low[dim].min(at(row, dim));
                high[dim] = high[dim].max(at(row, dim));
            }
        }
        let spread = |dim: usize| high[dim] - low[dim];
        let widest = (0..dims).max_by(|a, b| spread(*a).total_cmp(&spread(*b))).unwrap_or(0);
        // A point is inside the padding of every box.
        let padding = self.padded() - dims;
        self.boxes.extend(low.iter().copied().chain(std::iter::repeat_n(0.0, padding)));
        self.boxes.extend(high.iter().copied().chain(std::iter::repeat_n(0.0, padding)));
        if rows.len() <= LEAF {
            rows.sort_unstable();
            let place = self.points.len();
            for dim in 0..dims {
                self.points.extend(rows.iter().map(|row| at(*row, dim)));
                let padding = rows.len().next_multiple_of(LANES) - rows.len();
                self.points.extend(std::iter::repeat_n(f64::INFINITY, padding));
            }
            let rows = start as u32..(start + rows.len()) as u32;
            self.nodes.push(Node { first, content: Content::Leaf { rows, points: place } });
            return;
        }
        // Whole leaves on the left. Equal points are divided by their numbers.
        let middle = (rows.len() / 2).next_multiple_of(LEAF).min(rows.len() - 1);
        rows.select_nth_unstable_by(middle, |a, b| {
            at(*a, widest).total_cmp(&at(*b, widest)).then(a.cmp(b))
        });
        let (left, right) = rows.split_at_mut(middle);
        self.nodes.push(Node { first, content: Content::Inner { right: 0 } });
        self.grow(points, left, start);
        let next = self.nodes.len() as u32;
        self.nodes[node].content = Content::Inner { right: next };
        self.grow(points, right, start + middle);
    }

    /// The nearest points, the nearest first.
    pub(super) fn nearest<'f>(
        &self,
        finder: &'f mut Finder,
        point: &[f64],
        wanted: Wanted,
    ) -> &'f [Near] {
        finder.found.clear();
        if wanted.count > 0 && !self.nodes.is_empty() {
            finder.point.clear();
            finder.point.extend_from_slice(point);
            finder.point.resize(self.padded(), 0.0);
            Arch::new().dispatch(Descent { tree: self, finder, wanted });
        }
        &finder.found
    }
}

// A type and not a closure, so that the loops get the machine's instructions.
struct Descent<'a> {
    tree: &'a Tree,
    finder: &'a mut Finder,
    wanted: Wanted,
}

impl NullaryFnOnce for Descent<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { tree, finder, wanted } = self;
        let Finder { ahead, best, found, point } = finder;
        ahead.clear();
        best.clear();
        let mut leaves = 0;
        let nothing = Near::new(f64::INFINITY, u32::MAX);
        // What is found must be nearer than this.
        let mut farthest = nothing;
        ahead.push(Reverse((Near::new(0.0, tree.nodes[0].first), 0)));
        while let Some(Reverse((bound, node))) = ahead.pop() {
            if bound > farthest || leaves == wanted.leaves {
                break;
            }
            match &tree.nodes[node as usize].content {
                Content::Inner { right } => {
                    for child in [node + 1, *right] {
                        let first = tree.nodes[child as usize].first;
                        let bound = Near::new(tree.bound(child, point), first);
                        if first < wanted.before && bound < farthest {
                            ahead.push(Reverse((bound, child)));
                        }
                    }
                }
                Content::Leaf { rows, points } => {
                    leaves += 1;
                    let rows = &tree.order[rows.start as usize..rows.end as usize];
                    let width = rows.len().next_multiple_of(LANES);
                    let count = rows.partition_point(|row| *row < wanted.before);
                    let coordinates = &tree.points[*points..*points + width * tree.dims];
                    let distances = distances(coordinates, width, point);
                    let chunks = distances.as_chunks::<LANES>().0.iter();
                    for (rows, distances) in rows[..count].chunks(LANES).zip(chunks) {
                        let limit = farthest.distance();
                        if distances.iter().all(|distance| *distance > limit) {
                            continue;
                        }
                        for (row, distance) in rows.iter().zip(distances) {
                            let near = Near::new(*distance, *row);
                            if near < farthest {
                                if best.len() == wanted.count {
                                    best.pop();
                                }
                                best.push(near);
                                if best.len() == wanted.count {
                                    farthest = best.peek().copied().unwrap_or(nothing);
                                }
                            }
                        }
                    }
                }
            }
        }
        found.extend(best.drain());
        found.sort_unstable();
    }
}

impl Tree {
    /// At most the squared distance of any point inside a node.
    #[inline(always)]
    fn bound(&self, node: u32, point: &[f64]) -> f64 {
        let padded = point.len();
        let walls = &self.boxes[node as usize * 2 * padded..][..2 * padded];
        let (low, high) = walls.split_at(padded);
        let mut sums = [0.0; LANES];
        let chunks = low.as_chunks::<LANES>().0.iter().zip(high.as_chunks::<LANES>().0);
        for ((low, high), point) in chunks.zip(point.as_chunks::<LANES>().0) {
            for lane in 0..LANES {
                let (below, above) = (low[lane] - point[lane], point[lane] - high[lane]);
                let gap = if below > above { below } else { above };
                let gap = if gap > 0.0 { gap } else { 0.0 };
                sums[lane] += gap * gap;
            }
        }
        sums.iter().sum::<f64>() * ROUNDING
    }
}

/// Squared distances of the points of a leaf.
#[inline(always)]
fn distances(coordinates: &[f64], width: usize, point: &[f64]) -> [f64; LEAF] {
    let mut sums = [0.0; LEAF];
    if width == LEAF {
        for (run, at) in coordinates.as_chunks::<LEAF>().0.iter().zip(point) {
            for (sum, run) in sums.iter_mut().zip(run) {
                let gap = run - at;
                *sum += gap * gap;
            }
        }
    } else {
        for (run, at) in coordinates.chunks_exact(width).zip(point) {
            for (sum, run) in sums.iter_mut().zip(run) {
                let gap = run - at;
                *sum += gap * gap;
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, stream};
    use rand_distr::{Distribution, StandardNormal};

    fn all(count: usize, before: u32) -> Wanted {
        Wanted { count, before, leaves: usize::MAX }
    }

    fn by_sorting(points: &[f64], dims: usize, point: &[f64], wanted: Wanted) -> Vec<u32> {
        let distance = |row: u32| -> f64 {
            let own = &points[row as usize * dims..][..dims];
            own.iter().zip(point).map(|(a, b)| (a - b) * (a - b)).sum()
        };
        let rows = (points.len() / dims) as u32;
        let each = (0..rows.min(wanted.before)).map(|row| Near::new(distance(row), row));
        let mut all: Vec<Near> = each.collect();
        all.sort();
        all.iter().take(wanted.count).map(|near| near.row()).collect()
    }

    #[test]
    fn the_nearest_are_those_of_a_sort() {
        let mut rng = stream(1, Purpose::Samples, 0);
        for (rows, dims, steps) in [(1, 3, 1.0), (40, 1, 4.0), (900, 3, 2.0), (700, 17, 0.0)] {
            // Rounded coordinates have many ties.
            let value = |v: f64| if steps > 0.0 { (v * steps).round() / steps } else { v };
            let points: Vec<f64> =
                (0..rows * dims).map(|_| value(StandardNormal.sample(&mut rng))).collect();
            let tree = Tree::new(&points, dims);
            let mut finder = Finder::default();
            for i in (0..rows).step_by(7) {
                let point = &points[i * dims..][..dims];
                for wanted in [all(5, i as u32), all(30, u32::MAX), all(2000, u32::MAX)] {
                    let found = tree.nearest(&mut finder, point, wanted);
                    let found: Vec<u32> = found.iter().map(|near| near.row()).collect();
                    assert_eq!(found, by_sorting(&points, dims, point, wanted), "{rows} {dims}");
                }
            }
            let mut walk = tree.walk().to_vec();
            walk.sort_unstable();
            assert!(walk.iter().copied().eq(0..rows as u32));
        }
    }

    #[test]
    fn equal_points_are_found_by_their_numbers_at_once() {
        let rows = 100_000;
        let tree = Tree::new(&vec![1.5; 2 * rows], 2);
        let mut finder = Finder::default();
        for before in [0, 3, 50, 99_999] {
            // A search that looked at more than a few leaves would come to the limit.
            let wanted = Wanted { count: 30, before, leaves: 2 };
            let found = tree.nearest(&mut finder, &[1.5, 1.5], wanted);
            assert!(found.iter().map(|near| near.row()).eq(0..before.min(30)));
        }
    }

    #[test]
    fn a_search_with_few_leaves_finds_near_points() {
        let mut rng = stream(2, Purpose::Samples, 0);
        let points: Vec<f64> = (0..80_000).map(|_| StandardNormal.sample(&mut rng)).collect();
        let tree = Tree::new(&points, 8);
        let mut finder = Finder::default();
        let farthest = |finder: &mut Finder, leaves| {
            let wanted = Wanted { count: 10, before: u32::MAX, leaves };
            tree.nearest(finder, &[0.1; 8], wanted)[9].distance()
        };
        let (few, every) = (farthest(&mut finder, 30), farthest(&mut finder, usize::MAX));
        assert!((every..2.0 * every).contains(&few), "{few} and {every}");
    }
}
