use serde::{Deserialize, Serialize};

use super::{CorrelatedError, checked_draw};
use crate::noise::NoiseError;

/// The noise of tree aggregation, round by round.
///
/// Kairouz, McMahan, Song, Thakkar, Thakurta and Xu 2021 (DP-FTRL). Every node of a binary tree over the rounds has a
/// discrete Gaussian draw; the sum of the first t rounds carries the draws of the ⌈log2⌉ nodes that cover them. What is
/// added to round t's sum is the difference of two such prefixes.
///
/// With `uses_subtrees` a node's sum is estimated from its own noised sum and from those below (Honaker 2015, bottom-up),
/// which halves the variance for the same privacy. A node of height h has the estimate
/// (2^h·y + (2^h − 1)(left + right)) / (2^(h+1) − 1), so that (2^(h+1) − 1) times it is the integer
/// 2^h·y + I_left + I_right, and one rounding is enough.
///
/// # Privacy
/// All prefixes are functions of the noised node sums y = node + draw, which are [`rho_of_tree`]-private. Without subtrees
/// this is plain. With them, the true sum S of a node enters its estimate with weight 1, so the released integer is
/// S + round(I/D) = round((D·S + I)/D), a function of D·S + I, which is an integer combination of the y below the node.
///
/// [`rho_of_tree`]: crate::accountant::rho_of_tree
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeNoise {
    count: usize,
    leaves_per_tree: u64,
    uses_subtrees: bool,
    /// Rounds of the present tree so far.
    leaves: u64,
    /// By height: the node that covers a part of the rounds so far, as its draw or as the integer I.
    nodes: Vec<Option<Vec<i64>>>,
    /// The noise on the last prefix of the present tree.
    prefix: Vec<i64>,
}

impl TreeNoise {
    /// Begins with `count` values a round. A new tree begins after every `leaves_per_tree` rounds.
    pub fn new(count: usize, leaves_per_tree: u64, uses_subtrees: bool) -> Self {
        let leaves_per_tree = leaves_per_tree.max(1);
        Self { count, leaves_per_tree, uses_subtrees, leaves: 0, nodes: Vec::new(), prefix: vec![0; count] }
    }

    /// Returns how many vectors of draws the next round needs: 1, or 1 to log2 of the leaves with subtrees.
    pub fn draws(&self) -> u32 {
        let leaf = self.leaves % self.leaves_per_tree + 1;
        if self.uses_subtrees { leaf.trailing_zeros() + 1 } else { 1 }
    }

    /// Makes the noise to be added to the next round's sum. `draw` gives discrete Gaussian draws, new ones each time.
    ///
    /// # Errors
    /// [`CorrelatedError`] if a draw failed or a value left 64 bits.
    pub fn next_round(
        &mut self,
        mut draw: impl FnMut() -> Result<Vec<i64>, NoiseError>,
    ) -> Result<Vec<i64>, CorrelatedError> {
        let is_new_tree = self.leaves == self.leaves_per_tree;
        let leaf = if is_new_tree { 1 } else { self.leaves + 1 };
        let node = self.completed_node(leaf, &mut draw)?;
        let height = leaf.trailing_zeros() as usize;
        // Nodes above the completed one stay, those below are within it.
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
        self.prefix = prefix;
        Ok(added)
    }

    /// Makes the largest node that the leaf completes.
    fn completed_node(
        &self,
        leaf: u64,
        draw: &mut impl FnMut() -> Result<Vec<i64>, NoiseError>,
    ) -> Result<Vec<i64>, CorrelatedError> {
        let mut node = checked_draw(draw, self.count)?;
        if !self.uses_subtrees {
            // A node that no prefix shows needs no draw.
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

    /// Adds the noise of a node's estimate: its draw, or I / (2^(h+1) − 1) to the nearest, halves upwards.
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
    use crate::accountant::tree_prefix_variance;
    use crate::noise::{NoiseScale, NoiseStock};

    /// The noise on each prefix, with draws that are given.
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
        // Draws 1, 10, 100, ...: the digits of a prefix say which draws it carries.
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
                // Six standard deviations of a variance's estimate are 6·√(2/20000) of it.
                assert!(
                    (square / expected - 1.0).abs() < 0.06,
                    "{uses_subtrees} {index}: {square} {expected}"
                );
            }
        }
    }

    #[test]
    fn an_estimate_depends_on_the_noised_sums_only() {
        // With the nodes' true sums in the draws, the prefixes must be exactly those of a tree over noised sums.
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
    fn a_failed_round_leaves_the_state() {
        let mut noise = TreeNoise::new(1, 8, true);
        noise.next_round(|| Ok(vec![5])).unwrap();
        let before = serde_json::to_string(&noise).unwrap();
        let mut calls = 0;
        let error = noise.next_round(|| {
            calls += 1;
            if calls == 2 { Err(NoiseError::Cancelled) } else { Ok(vec![1]) }
        });
        assert!(matches!(error, Err(CorrelatedError::Noise(NoiseError::Cancelled))));
        assert!(matches!(noise.next_round(|| Ok(vec![1, 2])), Err(CorrelatedError::Length { .. })));
        assert!(matches!(noise.next_round(|| Ok(vec![i64::MAX])), Err(CorrelatedError::Overflow)));
        assert_eq!(serde_json::to_string(&noise).unwrap(), before);
        let mut restored: TreeNoise = serde_json::from_str(&before).unwrap();
        assert_eq!(restored.next_round(|| Ok(vec![6])), noise.next_round(|| Ok(vec![6])));
    }
}
