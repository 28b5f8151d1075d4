//! Marching squares: where a function on a grid crosses a level, as closed loops.

/// Values at the corners of `cells` × `cells` cells, with a ring of minus infinity around them
/// that closes every loop along the edge of the square.
pub(super) struct Grid {
    cells: usize,
    values: Vec<f64>,
}

/// A closed curve in units of cells.
pub(super) struct Loop {
    pub(super) points: Vec<(f64, f64)>,
    /// Twice the enclosed area; positive where the values inside are above the level.
    pub(super) area: f64,
}

impl Grid {
    /// From `value(column, row)` at the corners: finite, or minus infinity where there is none.
    pub(super) fn new(cells: usize, value: impl Fn(usize, usize) -> f64) -> Self {
        let mut grid = Self { cells, values: Vec::new() };
        let side = grid.side();
        grid.values = vec![f64::NEG_INFINITY; side * side];
        for row in 0..=cells {
            for column in 0..=cells {
                grid.values[(row + 1) * side + column + 1] = value(column, row);
            }
        }
        grid
    }

    /// Nodes along a side, the ring's among them.
    fn side(&self) -> usize {
        self.cells + 3
    }

    /// Loops around what is at least `level`, with that on their left.
    ///
    /// Every edge of the grid that is crossed has the inside at one end. The two cells beside it
    /// see it from opposite sides: one curve ends there and another begins, so each edge needs
    /// only to know the next.
    pub(super) fn loops(&self, level: f64) -> Vec<Loop> {
        let side = self.side();
        let mut next: Vec<Option<usize>> = vec![None; 2 * side * side];
        for row in 0..side - 1 {
            for column in 0..side - 1 {
                self.march(column, row, level, &mut next);
            }
        }
        let mut loops = Vec::new();
        for start in 0..next.len() {
            let mut points = Vec::new();
            let mut edge = start;
            while let Some(onward) = next[edge].take() {
                points.push(self.crossing(edge, level));
                edge = onward;
            }
            if points.len() > 2 {
                let after = points.iter().cycle().skip(1);
                let area = points.iter().zip(after).map(|(a, b)| a.0 * b.1 - b.0 * a.1).sum();
                loops.push(Loop { points, area });
            }
        }
        loops
    }

    /// Joins the crossed edges of one cell.
    fn march(&self, column: usize, row: usize, level: f64, next: &mut [Option<usize>]) {
        let side = self.side();
        let node = row * side + column;
        let corners = [node, node + 1, node + side + 1, node + side].map(|n| self.values[n]);
        let inside = corners.map(|v| v >= level);
        // Edge k runs from corner k to the next, counter-clockwise.
        let edges = [2 * node, 2 * (node + 1) + 1, 2 * (node + side), 2 * node + 1];
        let out = |k: usize| inside[k % 4] && !inside[(k + 1) % 4];
        let back_in = |k: usize| !inside[k % 4] && inside[(k + 1) % 4];
        let saddle = (0..4).filter(|&k| out(k)).count() == 2;
        // In a saddle the middle decides whether the two corners inside are joined.
        let apart = saddle && corners.iter().sum::<f64>() / 4.0 < level;
        for k in (0..4).filter(|&k| out(k)) {
            let end = if apart { Some(k + 3) } else { (k + 1..k + 4).find(|&k| back_in(k)) };
            next[edges[k]] = end.map(|end| edges[end % 4]);
        }
    }

    /// Where the level is reached along an edge, linearly; the ring has the place of the edge of
    /// the square.
    fn crossing(&self, edge: usize, level: f64) -> (f64, f64) {
        let side = self.side();
        let a = edge / 2;
        let b = if edge.is_multiple_of(2) { a + 1 } else { a + side };
        let share = (level - self.values[a]) / (self.values[b] - self.values[a]);
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.5 };
        let at = |n: usize| {
            let clamped = |i: usize| (i.clamp(1, side - 2) - 1) as f64;
            (clamped(n % side), clamped(n / side))
        };
        let (a, b) = (at(a), at(b));
        (a.0 + share * (b.0 - a.0), a.1 + share * (b.1 - a.1))
    }
}

impl Loop {
    /// The curve without its parts along the edge of the square.
    pub(super) fn curves(&self, cells: usize) -> Vec<Vec<(f64, f64)>> {
        let far = cells as f64;
        let along = |a: (f64, f64), b: (f64, f64)| {
            let on = |p: f64, q: f64| p == q && (p == 0.0 || p == far);
            on(a.0, b.0) || on(a.1, b.1)
        };
        let count = self.points.len();
        let point = |i: usize| self.points[i % count];
        // From a part along the edge, so that no curve is cut where the loop happens to begin.
        let start = (0..count).find(|&i| along(point(i), point(i + 1))).unwrap_or(0);
        let mut curves = vec![vec![point(start)]];
        for i in start..start + count {
            if along(point(i), point(i + 1)) {
                curves.push(vec![point(i + 1)]);
            } else if let Some(curve) = curves.last_mut() {
                curve.push(point(i + 1));
            }
        }
        curves.retain(|curve| curve.len() > 1);
        curves
    }
}
