//! Helpers shared by several partitions.

use std::collections::BinaryHeap;

use super::Part;

/// Cuts `items` into one piece for each of `shares`, and appends piece `i` to `parts[i]`. The shares must add up to 1.
///
/// Each cut is computed from the running sum of the shares, so rounding errors do not add up.
pub(super) fn deal_shares(items: &[usize], shares: &[f64], parts: &mut [Vec<usize>]) {
    let mut rest = items;
    let mut dealt_share = 0.0;
    let mut dealt = 0;
    for (part, share) in parts.iter_mut().zip(shares) {
        dealt_share += share;
        let end = (dealt_share * items.len() as f64).round() as usize;
        let (now, later) = rest.split_at(end.saturating_sub(dealt).min(rest.len()));
        part.extend_from_slice(now);
        dealt += now.len();
        rest = later;
    }
    // The shares add up to 1 only up to rounding, so the last part gets the remaining items.
    if let Some(last) = parts.last_mut() {
        last.extend_from_slice(rest);
    }
}

/// Cuts `items` into `pieces` pieces whose lengths differ by at most one.
pub(super) fn even_pieces(items: &[usize], pieces: usize) -> impl Iterator<Item = &[usize]> {
    let cut = move |piece: usize| (piece as u128 * items.len() as u128 / pieces as u128) as usize;
    (0..pieces).map(move |piece| &items[cut(piece)..cut(piece + 1)])
}

/// Gives every client without examples one example from the client that has the most. If several clients have the most,
/// takes the example from the client with the highest number.
///
/// There must be at least as many examples as parts.
pub(super) fn fill_empty(parts: &mut [Vec<usize>]) {
    let mut by_length: BinaryHeap<(usize, usize)> =
        parts.iter().enumerate().map(|(index, part)| (part.len(), index)).collect();
    for empty in 0..parts.len() {
        if parts[empty].is_empty()
            && let Some((length, largest)) = by_length.pop()
        {
            let given = parts[largest].pop();
            parts[empty].extend(given);
            by_length.push((length.saturating_sub(1), largest));
        }
    }
}

/// Creates one part for each list of indices. The parts have no noise on the features.
pub(super) fn plain(parts: Vec<Vec<usize>>) -> Vec<Part> {
    parts.into_iter().map(Part::plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_differ_by_at_most_one() {
        let items: Vec<usize> = (0..10).collect();
        let lengths: Vec<usize> = even_pieces(&items, 4).map(<[usize]>::len).collect();
        assert_eq!(lengths, [2, 3, 2, 3]);
        assert_eq!(even_pieces(&items, 4).flatten().count(), 10);
    }

    #[test]
    fn the_largest_give_to_the_empty() {
        let mut parts = vec![vec![], vec![1, 2, 3], vec![], vec![4, 5, 6]];
        fill_empty(&mut parts);
        assert_eq!(parts, [vec![6], vec![1, 2], vec![3], vec![4, 5]]);
    }

    #[test]
    fn shares_are_cut_where_their_sum_falls() {
        let mut parts = vec![vec![]; 3];
        deal_shares(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], &[0.24, 0.12, 0.64], &mut parts);
        // The sums are 0.24, 0.36 and 1: cuts at 2, 4 and 10.
        assert_eq!(parts, [vec![0, 1], vec![2, 3], vec![4, 5, 6, 7, 8, 9]]);
    }
}
