//! HDBSCAN whose clusters need more than half of all points.
//!
//! Campello, Moulavi and Sander 2013, "Density-based clustering based on hierarchical density estimates", with
//! `min_cluster_size` m = ⌊n / 2⌋ + 1, `min_samples` 1, and a single cluster allowed, as FLAME sets it. With these settings, the
//! algorithm comes down to this: **let t be the smallest distance for which the graph of all pairs with a distance of at most t has a
//! connected component of m points or more. That component is the cluster, and all other points are noise.** The proof:
//!
//! 1. The mutual reachability distance of two points is the maximum of their distance and of each one's distance to its nearest
//!    point. With one sample, the latter are not larger than the former. So it is the distance, and the hierarchy is that of single
//!    linkage: at each height, the components of the graph of all pairs that are at most so far apart.
//! 2. Walk down from the root. A split is one into two clusters only if both parts have m points, but 2·m > n. So no split ever makes
//!    a cluster, and the root is the only one: points fall out of it where the larger part still has m points, and all points that
//!    are left fall out together where neither part has. That split is at height t, because above it a component of m points is
//!    left, and below it none.
//! 3. As the root is the only cluster, HDBSCAN selects it, and labels the points that fall out at the largest density 1 / t. These are
//!    the points of step 2 that fall out together, and those that fell out before at the same height, if distances are equal. Together
//!    they are the component at t. It is unique, because two components with more than half of the points would have one in common.

/// Returns the least number of points in a cluster of `points`.
pub(super) fn least(points: u64) -> u64 {
    if points == 0 { 0 } else { points / 2 + 1 }
}

/// Returns for each of `count` points whether it is in the cluster. `distance` must be symmetric, and finite.
pub(super) fn cluster(count: usize, distance: impl Fn(usize, usize) -> f64) -> Vec<bool> {
    let tree = spanning_tree(count, distance);
    let mut components = Components::of(count);
    let mut joined = tree.into_iter().peekable();
    while components.largest <= count / 2 {
        let Some((height, one, other)) = joined.next() else { break };
        components.join(one, other);
        // All pairs at this height belong to the graph.
        while let Some((_, one, other)) = joined.next_if(|(next, ..)| *next == height) {
            components.join(one, other);
        }
    }
    components.in_the_largest()
}

/// Returns the edges of a minimum spanning tree in the order of their lengths, by Prim's algorithm. At each length, the components of
/// the tree are those of the whole graph.
fn spanning_tree(count: usize, distance: impl Fn(usize, usize) -> f64) -> Vec<(f64, usize, usize)> {
    let mut edges = Vec::with_capacity(count.saturating_sub(1));
    // For each point outside of the tree, its distance to the tree, and the nearest point of the tree.
    let mut outside: Vec<(usize, f64, usize)> =
        (1..count).map(|point| (point, distance(0, point), 0)).collect();
    while let Some(nearest) =
        (0..outside.len()).min_by(|one, other| outside[*one].1.total_cmp(&outside[*other].1))
    {
        let (added, length, from) = outside.swap_remove(nearest);
        edges.push((length, from, added));
        for (point, known, from) in &mut outside {
            let length = distance(added, *point);
            if length < *known {
                (*known, *from) = (length, added);
            }
        }
    }
    edges.sort_by(|one, other| one.0.total_cmp(&other.0));
    edges
}

/// Connected components of a graph that grows edge by edge.
struct Components {
    of: Vec<usize>,
    sizes: Vec<usize>,
    /// The size of the largest component.
    largest: usize,
}

impl Components {
    fn of(count: usize) -> Self {
        Self { of: (0..count).collect(), sizes: vec![1; count], largest: count.min(1) }
    }

    /// Joins the components of two points, which are not the same.
    fn join(&mut self, one: usize, other: usize) {
        let (kept, gone) = (self.of[one], self.of[other]);
        self.of.iter_mut().filter(|component| **component == gone).for_each(|component| *component = kept);
        self.sizes[kept] += std::mem::take(&mut self.sizes[gone]);
        self.largest = self.largest.max(self.sizes[kept]);
    }

    fn in_the_largest(&self) -> Vec<bool> {
        self.of.iter().map(|component| self.sizes[*component] == self.largest).collect()
    }
}
