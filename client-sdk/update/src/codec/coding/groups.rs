//! Groups of small symbols, each coded as one symbol of the range coder.
//!
//! A group consists of the bits of its symbols, the first one in the lowest bits. Its frequency is derived from the
//! frequencies of its symbols as if the symbols were independent, so a table of 256 groups takes no bytes. An
//! incomplete last group is filled up with its own symbols.

use std::borrow::Cow;

/// The number of bits of a frequency.
pub(crate) const PRECISION: u32 = 12;
/// The sum of all frequencies.
pub(crate) const TOTAL: u32 = 1 << PRECISION;
/// The maximum number of symbols that the range coder supports.
pub(crate) const SYMBOLS: usize = 256;

/// The grouping of an alphabet's symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grouping {
    /// The number of bits of a symbol.
    width: u32,
    /// log2 of the number of symbols per group.
    levels: u32,
}

impl Grouping {
    /// Returns the grouping with the largest groups: the largest power of two of symbols that fits into a byte.
    pub fn of(alphabet: usize) -> Self {
        let width = alphabet.next_power_of_two().trailing_zeros().max(1);
        Self { width, levels: (8 / width).ilog2() }
    }

    /// Returns log2 of the number of symbols in a group.
    pub fn levels(self) -> u8 {
        self.levels as u8
    }

    /// Returns the grouping with 2^`levels` symbols per group, or `None` if that is more than in `self`.
    pub fn with_levels(self, levels: u8) -> Option<Self> {
        let levels = u32::from(levels);
        (levels <= self.levels).then_some(Self { levels, ..self })
    }

    /// Returns whether each group is a single symbol.
    pub fn is_single(self) -> bool {
        self.levels == 0
    }

    /// Returns the number of groups for this many symbols.
    pub fn group_count(self, symbols: usize) -> usize {
        symbols.div_ceil(1 << self.levels)
    }

    /// Joins symbols to groups.
    pub fn join(self, symbols: &[u8]) -> Cow<'_, [u8]> {
        (0..self.levels).fold(Cow::Borrowed(symbols), |groups, level| {
            let width = self.width << level;
            let (pairs, rest) = groups.as_chunks::<2>();
            let mut joined = vec![0; groups.len().div_ceil(2)];
            for (joined, pair) in joined.iter_mut().zip(pairs) {
                *joined = pair[0] | pair[1] << width;
            }
            if let ([symbol], Some(last)) = (rest, joined.last_mut()) {
                *last = symbol | symbol << width;
            }
            Cow::Owned(joined)
        })
    }

    /// Undoes [`Self::join`].
    pub fn split(self, groups: Vec<u8>, symbols: &mut [u8]) {
        let (mut groups, mut levels) = (groups, self.levels);
        while levels > 1 {
            levels -= 1;
            let mut halves = vec![0; symbols.len().div_ceil(1 << levels)];
            split_pairs(&groups, self.width << levels, &mut halves);
            groups = halves;
        }
        split_pairs(&groups, self.width, symbols);
    }

    /// Returns the grouping with half as many symbols per group, and its groups' counts derived from `counts`.
    pub fn halved(self, counts: &[u32; SYMBOLS]) -> Option<(Self, [u32; SYMBOLS])> {
        let levels = self.levels.checked_sub(1)?;
        let width = self.width << levels;
        let mut halves = [0; SYMBOLS];
        for (group, count) in counts.iter().enumerate() {
            halves[group & ((1 << width) - 1)] += count;
            halves[group >> width] += count;
        }
        Some((Self { levels, ..self }, halves))
    }

    /// Returns the counts of the alphabet's symbols, derived from the groups and their counts.
    pub fn symbol_counts(
        self,
        groups: &[u8],
        counts: &[u32; SYMBOLS],
        symbols: usize,
        alphabet: usize,
    ) -> Vec<u64> {
        let (mut grouping, mut counts) = (self, *counts);
        while let Some(halved) = grouping.halved(&counts) {
            (grouping, counts) = halved;
        }
        let repeated = (groups.len() << self.levels) - symbols;
        let size = 1 << self.levels;
        if let Some(last) = groups.last() {
            let mask = ((1u32 << self.width) - 1) as u8;
            for place in size - repeated as u32..size {
                counts[usize::from(last >> (place * self.width) & mask)] -= 1;
            }
        }
        counts[..alphabet].iter().map(|count| u64::from(*count)).collect()
    }

    /// Derives the groups' frequencies from their symbols'.
    pub fn frequencies(self, symbols: &[u16]) -> Vec<u16> {
        if self.is_single() {
            return symbols.to_vec();
        }
        // Products of two frequencies have 24 bits. Products of four and eight are cut to 24 bits, but a group that can
        // occur keeps a weight above 0.
        let mut weights: Vec<u64> = symbols.iter().map(|frequency| u64::from(*frequency)).collect();
        weights.resize(1 << self.width, 0);
        for level in 0..self.levels {
            let cut = if level == 0 { 0 } else { 2 * PRECISION };
            let product = |first: u64, second: u64| ((first * second) >> cut).max((first * second).min(1));
            let pairs =
                weights.iter().flat_map(|second| weights.iter().map(|first| product(*first, *second)));
            weights = pairs.collect();
        }
        share_out(&weights)
    }
}

fn split_pairs(groups: &[u8], width: u32, symbols: &mut [u8]) {
    let mask = ((1u32 << width) - 1) as u8;
    let (pairs, rest) = symbols.as_chunks_mut::<2>();
    for (pair, group) in pairs.iter_mut().zip(groups) {
        *pair = [group & mask, group >> width & mask];
    }
    if let ([symbol], Some(group)) = (rest, groups.last()) {
        *symbol = group & mask;
    }
}

/// Converts up to 256 weights, not all 0, to frequencies that add up to 2^12. Each weight above 0 gets at least 1. The
/// remaining sum is distributed in proportion to the weights.
pub(crate) fn share_out(weights: &[u64]) -> Vec<u16> {
    let total: u64 = weights.iter().sum();
    let whole = u64::from(TOTAL);
    let excess = |weight: &u64| (weight * whole).saturating_sub(total);
    let present = weights.iter().filter(|weight| **weight > 0).count() as u64;
    let (rest, excesses) = (whole - present, weights.iter().map(excess).sum::<u64>().max(1));
    let (mut sum, mut given) = (0, 0);
    let share = |weight: &u64| {
        if *weight == 0 {
            return 0;
        }
        sum += excess(weight);
        let (before, behind) = (given, sum * rest / excesses);
        given = behind;
        (behind - before) as u16 + 1
    };
    weights.iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn groups_are_undone(alphabet in 2usize..=256, symbols in prop::collection::vec(any::<u8>(), 0..90)) {
            let symbols: Vec<u8> = symbols.iter().map(|symbol| (usize::from(*symbol) % alphabet) as u8).collect();
            let mut grouping = Some(Grouping::of(alphabet));
            while let Some(of) = grouping {
                let groups = of.join(&symbols).into_owned();
                prop_assert_eq!(groups.len(), of.group_count(symbols.len()));
                let mut seen = vec![0; symbols.len()];
                if of.is_single() {
                    seen.copy_from_slice(&groups);
                } else {
                    of.split(groups.clone(), &mut seen);
                }
                prop_assert_eq!(&seen, &symbols);
                let mut counts = [0; SYMBOLS];
                groups.iter().for_each(|group| counts[usize::from(*group)] += 1);
                let found = of.symbol_counts(&groups, &counts, symbols.len(), alphabet);
                for (symbol, count) in found.iter().enumerate() {
                    let expected = symbols.iter().filter(|other| usize::from(**other) == symbol).count();
                    prop_assert_eq!(*count, expected as u64);
                }
                grouping = of.halved(&counts).map(|(halved, _)| halved);
            }
        }

        #[test]
        fn frequencies_are_the_whole_and_leave_nothing_out(
            weights in prop::collection::vec(prop_oneof![Just(0u64), 1u64..10, 1u64..65_536], 1..=256),
        ) {
            prop_assume!(weights.iter().any(|weight| *weight > 0));
            let shared = share_out(&weights);
            prop_assert_eq!(shared.iter().map(|share| u32::from(*share)).sum::<u32>(), TOTAL);
            prop_assert!(weights.iter().zip(&shared).all(|(weight, share)| (*weight > 0) == (*share > 0)));
        }

        #[test]
        fn what_can_occur_in_a_group_has_a_frequency(weights in prop::collection::vec(0u64..5000, 2..=16)) {
            prop_assume!(weights.iter().any(|weight| *weight > 0));
            let symbols = share_out(&weights);
            let grouping = Grouping::of(weights.len());
            let groups = grouping.frequencies(&symbols);
            prop_assert_eq!(groups.iter().map(|share| u32::from(*share)).sum::<u32>(), TOTAL);
            let mask = (1 << grouping.width) - 1;
            for (group, frequency) in groups.iter().enumerate() {
                let can_occur = (0..1 << grouping.levels)
                    .all(|at| symbols.get(group >> (at * grouping.width) & mask).is_some_and(|share| *share > 0));
                prop_assert_eq!(can_occur, *frequency > 0);
            }
        }
    }

    #[test]
    fn a_group_is_as_frequent_as_its_symbols_are_together() {
        // Three symbols with frequencies 1/2, 1/4 and 1/4, four in a group: at most 81 of the 256 groups occur.
        let groups = Grouping::of(3).frequencies(&[2048, 1024, 1024]);
        assert_eq!(groups.iter().filter(|frequency| **frequency > 0).count(), 81);
        assert_eq!((groups[0], groups[0b01_00_00_00], groups[0b10_01_10_01]), (256, 128, 16));
    }
}
