//! Tree aggregation: prefix sums of a stream, computed from the noised sums of dyadic nodes.
//!
//! Kairouz, McMahan, Song, Thakkar, Thakurta and Xu 2021, "Practical and private (deep) learning without sampling or
//! shuffling" (DP-FTRL).

use crate::budget::{RangeError, Rho};
use crate::noise_multiplier::NoiseMultiplier;

/// Limits on the participation of one client: the number of its rounds, and the minimum distance between two of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParticipationPattern {
    participations_max: u64,
    separation: u64,
}

impl ParticipationPattern {
    /// Creates the pattern of a client in at most `participations_max` rounds, whose numbers differ by at least
    /// `separation`.
    ///
    /// # Errors
    /// [`RangeError`] if either number is 0.
    pub fn new(participations_max: u64, separation: u64) -> Result<Self, RangeError> {
        for (name, value) in [("participations_max", participations_max), ("separation", separation)] {
            RangeError::unless(value > 0, name, value as f64, "at least 1")?;
        }
        Ok(Self { participations_max, separation })
    }

    /// Returns the maximum number of rounds that a client is in.
    pub fn participations_max(self) -> u64 {
        self.participations_max
    }

    /// Returns the minimum difference between the numbers of two rounds of one client.
    pub fn separation(self) -> u64 {
        self.separation
    }

    /// Returns the maximum number of rounds, among `rounds` consecutive ones, that a client may be in.
    pub fn participations_within(self, rounds: u64) -> u64 {
        self.participations_max.min(rounds.div_ceil(self.separation))
    }
}

/// Returns the number of nodes that contain a leaf: ⌊log2(leaves)⌋ + 1. Only nodes that are eventually completed are
/// included.
pub fn tree_depth(leaves: u64) -> u32 {
    leaves.max(1).ilog2() + 1
}

/// Bounds the squared L2 sensitivity of the vector of all nodes, in squared sensitivities of one participation.
///
/// There are `rounds` rounds in all, and a new tree begins after every `leaves_per_tree` of them. A client that is in c
/// rounds below a node moves it by at most c, because it may move it in the same direction each time. Below a node of
/// 2^l leaves it is in at most c_l = min(k, ⌈2^l / b⌉) rounds. Numbers of at most c_l that add up to k have the largest
/// sum of squares when as many as possible are c_l. Summed over the levels, this bounds the exact maximum (appendix D
/// of Kairouz et al. 2021). The bound equals the maximum where the densest pattern lies under one node on every level.
pub fn tree_sensitivity_squared(rounds: u64, leaves_per_tree: u64, pattern: ParticipationPattern) -> f64 {
    let participations = pattern.participations_within(rounds);
    let depth = tree_depth(leaves_per_tree.min(rounds));
    (0..depth)
        .map(|level| {
            let most = pattern.participations_within(1 << level).min(participations);
            let (full, rest) = (participations / most, participations % most);
            full as f64 * (most as f64).powi(2) + (rest as f64).powi(2)
        })
        .sum()
}

/// Computes ρ of tree aggregation. `multiplier` is the noise multiplier of each node, relative to one participation.
pub fn rho_of_tree(
    multiplier: NoiseMultiplier,
    rounds: u64,
    leaves_per_tree: u64,
    pattern: ParticipationPattern,
) -> Rho {
    let z = multiplier.get();
    let squared = tree_sensitivity_squared(rounds, leaves_per_tree, pattern);
    Rho::new(squared / (2.0 * z * z)).expect("a multiplier is at least 0.001")
}

/// Returns the variance of the noise on the sum of the first `rounds` rounds, in variances of a node's noise.
///
/// Without subtrees, it is the number of nodes that cover those rounds. With `uses_subtrees`, a node's sum is also
/// estimated from the nodes below it, each weighted by its precision (Honaker 2015, "Efficient use of differentially
/// private binary trees", bottom-up): v_0 = 1, 1/v_h = 1 + 1/(2·v_(h−1)), which is v_h = 2^h / (2^(h+1) − 1).
pub fn tree_prefix_variance(rounds: u64, uses_subtrees: bool) -> f64 {
    let heights = (0..u64::BITS).filter(|height| rounds >> height & 1 == 1);
    heights
        .map(|height| {
            let leaves = f64::from(height).exp2();
            if uses_subtrees { leaves / (2.0 * leaves - 1.0) } else { 1.0 }
        })
        .sum()
}

/// Returns the largest variance of a prefix of up to `leaves` leaves, estimated with subtrees, in variances of a node.
///
/// The maximum is at `leaves` itself, or at a number made from `leaves` by replacing one binary digit 1 by 0 and all
/// lower digits by 1.
fn largest_prefix_variance(leaves: u64) -> f64 {
    let lowered = (0..u64::BITS).filter(|height| leaves >> height & 1 == 1).map(|height| {
        let above = leaves & u64::MAX.checked_shl(height + 1).unwrap_or(0);
        above | ((1 << height) - 1)
    });
    lowered.chain([leaves]).map(|leaves| tree_prefix_variance(leaves, true)).fold(0.0, f64::max)
}

/// Finds the number of rounds after which a new tree should begin, for `rounds` rounds and this pattern, with subtree
/// estimates.
///
/// Returns the number of leaves per tree and the loss, which is the sensitivity times the largest standard deviation of
/// a prefix. Independent noise would have the loss √(rounds·k), with k = `participations_max`. A new tree lowers
/// the sensitivity, because a client no longer enters the same upper nodes several times. But the noise of all earlier
/// trees remains in every later prefix. The candidates are one tree over all rounds and
/// trees of 2^l rounds. Among candidates with equal loss, the larger tree is chosen.
pub fn best_tree(rounds: u64, pattern: ParticipationPattern) -> (u64, f64) {
    let rounds = rounds.max(1);
    let loss = |leaves: u64| {
        let trees_before = (rounds - 1) / leaves;
        let of_tree = tree_prefix_variance(leaves, true);
        let last = rounds - trees_before * leaves;
        let mut largest = trees_before as f64 * of_tree + largest_prefix_variance(last);
        if trees_before > 0 {
            largest = largest.max((trees_before - 1) as f64 * of_tree + largest_prefix_variance(leaves));
        }
        (tree_sensitivity_squared(rounds, leaves, pattern) * largest).sqrt()
    };
    let powers = (0..=rounds.ilog2()).rev().map(|height| 1u64 << height);
    let choices = std::iter::once(rounds).chain(powers).map(|leaves| (leaves, loss(leaves)));
    choices
        .min_by(|first, second| first.1.total_cmp(&second.1))
        .expect("one tree over all rounds is a choice")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_trees_spare_noise_where_a_client_is_in_many_rounds() {
        let choice = |participations, separation| {
            let pattern = ParticipationPattern::new(participations, separation).unwrap();
            let one_tree = tree_sensitivity_squared(2048, 2048, pattern) * largest_prefix_variance(2048);
            let (leaves, loss) = best_tree(2048, pattern);
            assert!(leaves < 2048 && loss < (2048.0 * participations as f64).sqrt(), "{leaves} {loss}");
            loss / one_tree.sqrt()
        };
        assert!((0.9..1.0).contains(&choice(1, 1)));
        assert!((0.75..0.85).contains(&choice(5, 400)));
        assert!((0.5..0.6).contains(&choice(20, 100)));
        for (rounds, pattern) in [(1, (1, 1)), (1000, (1000, 1)), (u64::MAX, (3, 7))] {
            let pattern = ParticipationPattern::new(pattern.0, pattern.1).unwrap();
            let (leaves, loss) = best_tree(rounds, pattern);
            assert!((1..=rounds).contains(&leaves) && loss.is_finite(), "{leaves} {loss}");
        }
    }

    #[test]
    fn the_largest_variance_of_prefixes_is_the_largest() {
        for leaves in 1..300 {
            let tried = (1..=leaves).map(|prefix| tree_prefix_variance(prefix, true)).fold(0.0, f64::max);
            assert_eq!(largest_prefix_variance(leaves), tried, "{leaves}");
        }
    }

    /// Computes the maximum over all patterns by trying them.
    fn exact(rounds: u64, leaves_per_tree: u64, pattern: ParticipationPattern) -> f64 {
        let patterns = (0u64..1 << rounds).filter(|chosen| {
            let places: Vec<u64> = (0..rounds).filter(|place| chosen >> place & 1 == 1).collect();
            places.len() as u64 <= pattern.participations_max()
                && places.windows(2).all(|two| two[1] - two[0] >= pattern.separation())
        });
        let squares = patterns.map(|chosen| {
            let trees = (0..rounds).step_by(leaves_per_tree as usize);
            let nodes = trees.flat_map(|start| {
                let end = (start + leaves_per_tree).min(rounds);
                (0..6).flat_map(move |level| {
                    let starts = (start..end).step_by(1 << level);
                    starts
                        .filter(move |node| node + (1 << level) <= end)
                        .map(move |node| (node, 1u64 << level))
                })
            });
            nodes.map(|(node, size)| (chosen >> node & ((1 << size) - 1)).count_ones().pow(2)).sum::<u32>()
        });
        f64::from(squares.max().unwrap())
    }

    #[test]
    fn the_bound_is_never_below_the_maximum_and_often_meets_it() {
        let (mut cases, mut met) = (0, 0);
        for rounds in [1, 2, 3, 5, 8, 12] {
            for leaves in [1, 3, 4, 12] {
                for (participations, separation) in [(1, 1), (2, 1), (2, 2), (3, 3), (2, 4), (5, 2)] {
                    let pattern = ParticipationPattern::new(participations, separation).unwrap();
                    let bound = tree_sensitivity_squared(rounds, leaves, pattern);
                    let exact = exact(rounds, leaves, pattern);
                    assert!(bound >= exact, "{rounds} {leaves} {pattern:?}: {bound} {exact}");
                    assert!(bound <= 1.5 * exact, "{rounds} {leaves} {pattern:?}: {bound} {exact}");
                    cases += 1;
                    met += u32::from(bound == exact);
                }
            }
        }
        assert!(met * 3 > cases * 2, "{met} of {cases}");
    }

    #[test]
    fn the_extremes_have_answers() {
        let pattern = ParticipationPattern::new(u64::MAX, 1).unwrap();
        assert!(tree_sensitivity_squared(1_000_000, 1_000_000, pattern).is_finite());
        assert_eq!(tree_depth(0), 1);
        assert!(ParticipationPattern::new(0, 1).is_err() && ParticipationPattern::new(1, 0).is_err());
        assert!((tree_prefix_variance(u64::MAX, true) - 32.5).abs() < 1.0);
    }
}
