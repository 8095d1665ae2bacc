//! Small symbols coded several at a time, each group of them one symbol of the range coder.
//!
//! A group of symbols of `width` bits has the bits of its symbols, the first in the lowest. Its frequency is
//! derived from those of its symbols, as if they were independent, so that a table of 256 costs no bytes. A
//! last group that is not full repeats symbols of its own.

use std::borrow::Cow;

/// Bits of a frequency.
pub(crate) const PRECISION: u32 = 12;
/// What all frequencies add up to.
pub(crate) const TOTAL: u32 = 1 << PRECISION;
/// Symbols that the range coder tells apart, at most.
pub(crate) const SYMBOLS: usize = 256;

/// How an alphabet's symbols are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grouping {
    /// Bits of a symbol.
    width: u32,
    /// How often two neighbours are made one: a group has 2^`levels` symbols.
    levels: u32,
}

impl Grouping {
    /// Returns the grouping of an alphabet with the largest groups: as many symbols as a byte holds, to a
    /// power of two.
    pub fn of(alphabet: usize) -> Self {
        let width = alphabet.next_power_of_two().trailing_zeros().max(1);
        Self { width, levels: (8 / width).ilog2() }
    }

    /// Returns log2 of the symbols of a group.
    pub fn levels(self) -> u8 {
        self.levels as u8
    }

    /// Returns the grouping of other, not larger groups.
    pub fn with_levels(self, levels: u8) -> Option<Self> {
        let levels = u32::from(levels);
        (levels <= self.levels).then_some(Self { levels, ..self })
    }

    /// Says whether each symbol stands for itself.
    pub fn is_single(self) -> bool {
        self.levels == 0
    }

    /// Returns the groups of so many symbols.
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

    /// Returns the grouping of half as many symbols, and the counts of its groups from those of these.
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

    /// Counts the symbols of an alphabet, so many in all, by their groups and the counts of those.
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

    /// Derives the frequencies of the groups from those of their symbols.
    pub fn frequencies(self, symbols: &[u16]) -> Vec<u16> {
        if self.is_single() {
            return symbols.to_vec();
        }
        // Products of two as they are, in 24 bits; those of four and eight cut to as many. What can occur
        // does, be it ever so rarely.
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

/// Brings weights, 256 at most and not all of them 0, to frequencies that add up to 2^12, at least 1 where
/// the weight is above 0: one each, and of the rest in proportion to what is above one.
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
        // Three symbols at 1/2, 1/4 and 1/4, four in a group: 81 groups of 256 at most.
        let groups = Grouping::of(3).frequencies(&[2048, 1024, 1024]);
        assert_eq!(groups.iter().filter(|frequency| **frequency > 0).count(), 81);
        assert_eq!((groups[0], groups[0b01_00_00_00], groups[0b10_01_10_01]), (256, 128, 16));
    }
}
