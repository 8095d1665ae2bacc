use super::bytes::{self, Reader, StateError};
use super::{CorrelatedError, checked_draw};
use crate::accountant::{ParticipationPattern, tree_sensitivity_squared};
use crate::budget::RangeError;
use crate::noise::{NoiseError, NoiseScale};
use crate::noise_multiplier::NoiseMultiplier;

/// Relative slack that covers the rounding of a few float64 operations.
const SLACK: f64 = 1.0 + 1e-14;

/// The noise of tree aggregation, round by round.
///
/// Kairouz, McMahan, Song, Thakkar, Thakurta and Xu 2021 (DP-FTRL). Every node of a binary tree over the rounds has a
/// discrete Gaussian draw. The noise on the sum of the first t rounds is the sum of the draws of the nodes that cover
/// them, at most ⌈log2(t + 1)⌉ nodes. The noise added to round t's sum is the difference of the noise on two such
/// prefixes.
///
/// With `uses_subtrees`, a node's sum is estimated from its own noised sum and from those below it (Honaker 2015,
/// bottom-up), which halves the variance for the same privacy. A node of height h has the estimate (2^h·y + (2^h −
/// 1)(left + right)) / (2^(h+1) − 1). So (2^(h+1) − 1) times the estimate is the integer 2^h·y + I_left + I_right, and
/// one rounding is enough.
///
/// # Privacy
/// All prefixes are functions of the noised node sums y = node + draw, which are [`rho_of_tree`]-private. Without
/// subtrees this follows directly. With subtrees, the true sum S of a node enters its estimate with weight 1. So the
/// released integer is S + round(I/D) = round((D·S + I)/D), with D = 2^(h+1) − 1. That is a function of D·S + I, which
/// is an integer combination of the y in the node's subtree.
///
/// [`rho_of_tree`]: crate::accountant::rho_of_tree
#[derive(Clone)]
pub struct TreeNoise {
    count: usize,
    leaves_per_tree: u64,
    uses_subtrees: bool,
    rounds_max: u64,
    done: u64,
    /// The number of rounds of the current tree so far.
    leaves: u64,
    /// For each height, the node that covers a part of the rounds so far, as its draw or as the integer I; `None` if
    /// there is no such node.
    nodes: Vec<Option<Vec<i64>>>,
    /// The noise on the last prefix of the current tree.
    prefix: Vec<i64>,
}

impl TreeNoise {
    /// Begins an unlimited stream of noise with `count` values in each round. A new tree begins after every
    /// `leaves_per_tree` rounds.
    pub fn new(count: usize, leaves_per_tree: u64, uses_subtrees: bool) -> Self {
        Self {
            count,
            leaves_per_tree: leaves_per_tree.max(1),
            uses_subtrees,
            rounds_max: u64::MAX,
            done: 0,
            leaves: 0,
            nodes: Vec::new(),
            prefix: vec![0; count],
        }
    }

    /// Returns the same noise with a limit: after `rounds` rounds, [`TreeNoise::next_round`] returns an error.
    pub fn limited_to(self, rounds: u64) -> Self {
        Self { rounds_max: rounds, ..self }
    }

    /// Returns the noise multiplier of each node, relative to one participation, with which `rounds` rounds are
    /// 1/(2·`multiplier`²)-zCDP.
    ///
    /// `multiplier` is the multiplier of the whole stream. The claim on a [`Tree`](crate::claim::Tree) states the
    /// result.
    ///
    /// # Errors
    /// [`RangeError`] if the result is above the largest accounted multiplier.
    pub fn node_multiplier(
        &self,
        multiplier: NoiseMultiplier,
        rounds: u64,
        pattern: ParticipationPattern,
    ) -> Result<NoiseMultiplier, RangeError> {
        let squared = tree_sensitivity_squared(rounds.max(1), self.leaves_per_tree, pattern);
        NoiseMultiplier::new(multiplier.get() * squared.sqrt() * SLACK, multiplier.relation())
    }

    /// Returns the scale of the draws for `rounds` rounds: [`TreeNoise::node_multiplier`] times `sensitivity`, rounded
    /// up. `sensitivity` is the sensitivity to one participation, in grid steps.
    ///
    /// If a client is in one round, one tree over all rounds (`leaves_per_tree` = `rounds`) has at most a tenth more
    /// noise than the best choice. If a client is in many rounds, [`best_tree`](crate::accountant::best_tree) finds
    /// trees with as little as half the noise. A buffered Toeplitz factorisation often halves the noise again.
    ///
    /// # Errors
    /// [`RangeError`] if the scale is out of range.
    pub fn noise_scale(
        &self,
        multiplier: NoiseMultiplier,
        sensitivity: f64,
        rounds: u64,
        pattern: ParticipationPattern,
    ) -> Result<NoiseScale, RangeError> {
        NoiseScale::new(self.node_multiplier(multiplier, rounds, pattern)?.get() * sensitivity * SLACK)
    }

    /// Returns the number of vectors that must be drawn for the next round: 1 without subtrees, 1 to log2(leaves) + 1
    /// with them.
    pub fn draws(&self) -> u32 {
        let leaf = self.leaves % self.leaves_per_tree + 1;
        if self.uses_subtrees { leaf.trailing_zeros() + 1 } else { 1 }
    }

    /// Returns the noise to add to the next round's sum. `draw` must return new discrete Gaussian draws on each call.
    ///
    /// # Errors
    /// [`CorrelatedError`] if a draw failed or has the wrong length, the planned rounds are over, or a value does not
    /// fit into 64 bits.
    pub fn next_round(
        &mut self,
        mut draw: impl FnMut() -> Result<Vec<i64>, NoiseError>,
    ) -> Result<Vec<i64>, CorrelatedError> {
        if self.done >= self.rounds_max {
            return Err(CorrelatedError::Over { rounds: self.rounds_max });
        }
        let is_new_tree = self.leaves == self.leaves_per_tree;
        let leaf = if is_new_tree { 1 } else { self.leaves + 1 };
        let node = self.completed_node(leaf, &mut draw)?;
        let height = leaf.trailing_zeros() as usize;
        // Nodes above the completed node stay; the nodes below are part of it.
        let above = if is_new_tree { &[][..] } else { self.nodes.get(height + 1..).unwrap_or_default() };
        let mut prefix = vec![0; self.count];
        let covering =
            above.iter().enumerate().filter_map(|(index, node)| Some((height + 1 + index, node.as_ref()?)));
        for (height, node) in covering.chain([(height, &node)]) {
            self.add_estimate(&mut prefix, height, node)?;
        }
        let zeros = vec![0; self.count];
        let before = if is_new_tree { &zeros } else { &self.prefix };
        let added = prefix.iter().zip(before).map(|(now, before)| now.checked_sub(*before));
        let added = added.collect::<Option<Vec<i64>>>().ok_or(CorrelatedError::Overflow)?;
        if is_new_tree {
            self.nodes.clear();
        }
        self.nodes.resize(self.nodes.len().max(height + 1), None);
        self.nodes[..height].fill(None);
        self.nodes[height] = Some(node);
        self.leaves = leaf;
        self.done += 1;
        self.prefix = prefix;
        Ok(added)
    }

    /// Serialises the state for [`TreeNoise::from_bytes`]: 42 bytes, plus 8 for each value of the prefix and of every
    /// node.
    pub fn to_bytes(&self) -> Vec<u8> {
        let nodes = || self.nodes.iter().flatten();
        let mut bytes = bytes::begin(bytes::TREE, 5 + self.count * (1 + nodes().count()));
        let leaves = self.leaves_per_tree;
        for number in [u64::from(self.uses_subtrees), leaves, self.rounds_max, self.done, self.count as u64] {
            bytes.extend(number.to_le_bytes());
        }
        bytes::put(&mut bytes, &self.prefix);
        nodes().for_each(|node| bytes::put(&mut bytes, node));
        bytes
    }

    /// Restores a state. It allocates no more memory than the bytes need.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are not a valid state.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StateError> {
        let mut reader = Reader::new(bytes, bytes::TREE)?;
        let (uses_subtrees, leaves_per_tree) = (reader.count()?, reader.count()?);
        let (rounds_max, done, count) = (reader.count()?, reader.count()?, reader.count()?);
        bytes::unless(uses_subtrees <= 1, "the use of subtrees", uses_subtrees, "0 or 1")?;
        bytes::unless(leaves_per_tree > 0, "leaves per tree", leaves_per_tree, "at least 1")?;
        bytes::unless(done <= rounds_max, "rounds done", done, "at most the planned rounds")?;
        let leaves = if done == 0 { 0 } else { (done - 1) % leaves_per_tree + 1 };
        // The nodes that cover the rounds so far correspond to the 1s in the binary form of the number of rounds.
        let count = reader.expect_vectors(1 + u64::from(leaves.count_ones()), count)?;
        let prefix = reader.numbers(count);
        let heights = u64::BITS - leaves.leading_zeros();
        let nodes = (0..heights).map(|height| (leaves >> height & 1 == 1).then(|| reader.numbers(count)));
        let nodes = nodes.collect();
        let uses_subtrees = uses_subtrees == 1;
        Ok(Self { count, leaves_per_tree, uses_subtrees, rounds_max, done, leaves, nodes, prefix })
    }

    /// Computes the noise of the largest node that the next leaf completes.
    fn completed_node(
        &self,
        leaf: u64,
        draw: &mut impl FnMut() -> Result<Vec<i64>, NoiseError>,
    ) -> Result<Vec<i64>, CorrelatedError> {
        let mut node = checked_draw(draw, self.count)?;
        if !self.uses_subtrees {
            // A node that is in no prefix needs no draw.
            return Ok(node);
        }
        for height in 1..=leaf.trailing_zeros() {
            let own = checked_draw(draw, self.count)?;
            let left = self.nodes[height as usize - 1].as_ref().expect("a right child has a left sibling");
            for ((right, own), left) in node.iter_mut().zip(own).zip(left) {
                let weighted = own.checked_mul(1i64.checked_shl(height).ok_or(CorrelatedError::Overflow)?);
                let sum = weighted.and_then(|own| own.checked_add(*left)?.checked_add(*right));
                *right = sum.ok_or(CorrelatedError::Overflow)?;
            }
        }
        Ok(node)
    }

    /// Adds the noise of a node's estimate: its draw, or I / (2^(h+1) − 1) rounded to the nearest, halves upwards.
    fn add_estimate(&self, prefix: &mut [i64], height: usize, node: &[i64]) -> Result<(), CorrelatedError> {
        let divisor = if self.uses_subtrees { (1i128 << (height + 1)) - 1 } else { 1 };
        for (sum, value) in prefix.iter_mut().zip(node) {
            let estimate = (2 * i128::from(*value) + divisor).div_euclid(2 * divisor);
            let total = i128::from(*sum) + estimate;
            *sum = i64::try_from(total).map_err(|_| CorrelatedError::Overflow)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accountant::{rho_of_tree, tree_prefix_variance};
    use crate::noise::NoiseStock;
    use crate::noise_multiplier::Relation;

    /// Returns the noise on each prefix for the given draws.
    fn prefixes(mut noise: TreeNoise, rounds: usize, mut draw: impl FnMut() -> Vec<i64>) -> Vec<Vec<i64>> {
        let mut sums = vec![0; noise.count];
        let round = |_| {
            let mut drawn = 0;
            let expected = noise.draws();
            let added = noise.next_round(|| {
                drawn += 1;
                Ok(draw())
            });
            assert_eq!(drawn, expected);
            sums.iter_mut().zip(added.unwrap()).for_each(|(sum, added): (&mut i64, i64)| *sum += added);
            sums.clone()
        };
        (0..rounds).map(round).collect()
    }

    #[test]
    fn prefixes_carry_the_nodes_that_cover_them() {
        let mut number = 0;
        // With draws of 1, 10, 100, ..., the digits of a prefix show which draws it contains.
        let draw = || {
            number += 1;
            vec![10i64.pow(number - 1)]
        };
        let prefixes = prefixes(TreeNoise::new(1, 6, false), 8, draw);
        let expected = [1, 10, 110, 1000, 11000, 101000, 1101000, 10101000];
        assert_eq!(prefixes.concat(), expected);
    }

    #[test]
    fn the_variance_of_a_prefix_is_the_formulas() {
        const COUNT: usize = 20_000;
        for uses_subtrees in [false, true] {
            let scale = NoiseScale::new(1e4).unwrap();
            let draw = || NoiseStock::begin(COUNT, scale, 2).take().unwrap().to_vec();
            let prefixes = prefixes(TreeNoise::new(COUNT, 16, uses_subtrees), 16, draw);
            for (index, prefix) in prefixes.iter().enumerate() {
                let square: f64 =
                    prefix.iter().map(|value| (*value as f64 / 1e4).powi(2)).sum::<f64>() / COUNT as f64;
                let expected = tree_prefix_variance(index as u64 + 1, uses_subtrees);
                // Six standard deviations of an estimated variance from 20,000 draws are 6·√(2/20000) = 6 % of the
                // variance.
                assert!(
                    (square / expected - 1.0).abs() < 0.06,
                    "{uses_subtrees} {index}: {square} {expected}"
                );
            }
        }
    }

    #[test]
    fn an_estimate_depends_on_the_noised_sums_only() {
        // With the nodes' true sums added to the draws, the prefixes must be exactly those of a tree over noised sums.
        let values = [5i64, -3, 11, 7];
        let draws = [100i64, -41, 7, 63, -9, 15, 2];
        let plain = prefixes(TreeNoise::new(1, 4, true), 4, replay(draws.to_vec()));
        let node_sums = [5, -3, 2, 11, 7, 18, 20];
        let noised = draws.iter().zip(node_sums).map(|(draw, sum)| draw + sum).collect();
        let with_sums = prefixes(TreeNoise::new(1, 4, true), 4, replay(noised));
        let mut sum = 0;
        for ((plain, with_sums), value) in plain.iter().zip(&with_sums).zip(values) {
            sum += value;
            assert_eq!(plain[0] + sum, with_sums[0]);
        }
    }

    fn replay(draws: Vec<i64>) -> impl FnMut() -> Vec<i64> {
        let mut draws = draws.into_iter();
        move || vec![draws.next().unwrap()]
    }

    #[test]
    fn the_scale_is_that_of_the_whole_stream() {
        let pattern = ParticipationPattern::new(3, 20).unwrap();
        let multiplier = NoiseMultiplier::new(2.5, Relation::ZeroOut).unwrap();
        for leaves_per_tree in [100, 16] {
            let noise = TreeNoise::new(1, leaves_per_tree, true);
            let node = noise.node_multiplier(multiplier, 100, pattern).unwrap();
            let rho = rho_of_tree(node, 100, leaves_per_tree, pattern).get();
            assert!(rho <= 1.0 / 12.5 && rho > 0.999_999 / 12.5, "{rho}");
            let scale = noise.noise_scale(multiplier, 1e6, 100, pattern).unwrap().get();
            assert!(scale >= node.get() * 1e6 && scale < node.get() * 1.000_001e6, "{scale}");
        }
    }

    #[test]
    fn rounds_beyond_the_plan_are_refused() {
        let mut noise = TreeNoise::new(1, 2, false).limited_to(3);
        for _ in 0..3 {
            noise.next_round(|| Ok(vec![1])).unwrap();
        }
        assert_eq!(noise.next_round(|| Ok(vec![1])), Err(CorrelatedError::Over { rounds: 3 }));
    }

    #[test]
    fn a_failed_round_leaves_the_state() {
        let mut noise = TreeNoise::new(1, 8, true);
        noise.next_round(|| Ok(vec![5])).unwrap();
        let before = noise.to_bytes();
        let mut calls = 0;
        let error = noise.next_round(|| {
            calls += 1;
            if calls == 2 { Err(NoiseError::Cancelled) } else { Ok(vec![1]) }
        });
        assert!(matches!(error, Err(CorrelatedError::Noise(NoiseError::Cancelled))));
        assert!(matches!(noise.next_round(|| Ok(vec![1, 2])), Err(CorrelatedError::Length { .. })));
        assert!(matches!(noise.next_round(|| Ok(vec![i64::MAX])), Err(CorrelatedError::Overflow)));
        assert_eq!(noise.to_bytes(), before);
    }
}
