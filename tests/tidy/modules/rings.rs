//! Finds rings (import cycles) in a graph of arrows.

use super::{Arrow, Index};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Finds the shortest ring through each arrow that is part of one. Returns each ring once.
///
/// A ring starts with its module of the smallest index. The returned rings together contain every
/// arrow that is part of any ring.
pub fn rings(arrows: &[Arrow]) -> Vec<Vec<&Arrow>> {
    let mut leaving: BTreeMap<Index, Vec<&Arrow>> = BTreeMap::new();
    for arrow in arrows {
        leaving.entry(arrow.from).or_default().push(arrow);
    }
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for arrow in arrows {
        let Some(back) = shortest(&leaving, arrow.to, arrow.from) else { continue };
        let mut ring = vec![arrow];
        ring.extend(back);
        let smallest = (0..ring.len()).min_by_key(|place| ring[*place].from).unwrap_or_default();
        ring.rotate_left(smallest);
        let modules: Vec<Index> = ring.iter().map(|arrow| arrow.from).collect();
        if seen.insert(modules) {
            found.push(ring);
        }
    }
    found.sort_by_key(|ring| (ring.len(), ring[0].from));
    found
}

/// Returns the arrows of a shortest path from `start` to `end`; `None` if there is no path.
fn shortest<'a>(
    leaving: &BTreeMap<Index, Vec<&'a Arrow>>,
    start: Index,
    end: Index,
) -> Option<Vec<&'a Arrow>> {
    let mut reached: BTreeMap<Index, &'a Arrow> = BTreeMap::new();
    let mut waiting = VecDeque::from([start]);
    while let Some(at) = waiting.pop_front() {
        for arrow in leaving.get(&at).into_iter().flatten() {
            if arrow.to != start && !reached.contains_key(&arrow.to) {
                reached.insert(arrow.to, arrow);
                waiting.push_back(arrow.to);
            }
        }
    }
    let mut way = vec![*reached.get(&end)?];
    while way[way.len() - 1].from != start {
        way.push(reached[&way[way.len() - 1].from]);
    }
    way.reverse();
    Some(way)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ring_is_found_once_and_shortest_first() {
        let pairs = [(1, 2), (2, 3), (3, 1), (2, 1), (3, 4), (4, 5)];
        let arrows = pairs.map(|(from, to)| Arrow { from, to, file: String::new(), line: 0 });
        let found: Vec<Vec<Index>> =
            rings(&arrows).iter().map(|ring| ring.iter().map(|arrow| arrow.from).collect()).collect();
        assert_eq!(found, [vec![1, 2], vec![1, 2, 3]]);
    }
}
