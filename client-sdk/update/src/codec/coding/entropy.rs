//! Lossless coding of symbols: a static range coder with one table per tile.
//!
//! rANS (Duda 2013, "Asymmetric numeral systems") with 12-bit frequencies, interleaved 32-bit states (Giesen 2014,
//! "Interleaved entropy coders") and 16-bit words. Symbols of 4 bits or fewer are coded in groups of two, four or eight
//! (see [`super::groups`]).
//!
//! The bytes: log2 of the number of symbols per group; the frequency of each symbol of the alphabet; the states; and
//! the words in the decoder's order. A frequency below 128 takes one byte. Others take two: the low seven bits first,
//! with the top bit set. There are sixteen states for 32,768 groups or more, four for 4,096 or more, else one.

use std::{borrow::Cow, hint::select_unpredictable, sync::LazyLock};

use super::groups::{Grouping, PRECISION, SYMBOLS, TOTAL, share_out};
use crate::codec::Fault;

/// The relative increase in size that is accepted for larger groups, which are faster.
const MARGIN: f64 = 1.0 / 256.0;
/// The lower bound of states between symbols.
const STATE_MIN: u32 = 1 << 16;

/// Symbols to be coded, and their frequencies.
pub(crate) struct Coding<'a> {
    groups: Cow<'a, [u8]>,
    grouping: Grouping,
    /// The symbols' frequencies, which are written to the output.
    frequencies: Vec<u16>,
    /// The groups' frequencies, derived from the symbols'.
    group_frequencies: Vec<u16>,
    bits: f64,
}

impl<'a> Coding<'a> {
    /// Counts symbols, each below `alphabet` (at most 256), and chooses the size of the groups.
    pub fn of(symbols: &'a [u8], alphabet: usize) -> Self {
        let largest = Grouping::of(alphabet);
        let groups = largest.join(symbols);
        let counts = count(&groups);
        let frequencies = share_out(&largest.symbol_counts(&groups, &counts, symbols.len(), alphabet));
        let mut tables = vec![Table::of(largest, counts, &frequencies)];
        while let Some(smaller) = tables.last().and_then(Table::halved) {
            tables.push(Table::of(smaller.0, smaller.1, &frequencies));
        }
        let least = tables.iter().map(|table| table.bits).fold(f64::INFINITY, f64::min);
        let chosen = tables.into_iter().find(|table| table.bits <= least * (1.0 + MARGIN));
        let Table { grouping, frequencies: group_frequencies, bits, .. } =
            chosen.expect("the candidates are not empty");
        let groups = if grouping == largest { groups } else { grouping.join(symbols) };
        Self { groups, grouping, frequencies, group_frequencies, bits }
    }

    /// Estimates the coded size in bytes. The estimate is slightly too high.
    pub fn coded_bytes(&self) -> usize {
        let table: usize = self.frequencies.iter().map(|frequency| 1 + usize::from(*frequency >= 128)).sum();
        1 + table + 4 * states(self.groups.len()) + (self.bits / 8.0) as usize + 2
    }

    /// Appends the coded symbols.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.grouping.levels());
        for frequency in &self.frequencies {
            if *frequency < 128 {
                out.push(*frequency as u8);
            } else {
                out.extend([0x80 | (frequency & 0x7f) as u8, (frequency >> 7) as u8]);
            }
        }
        let steps = steps(&self.group_frequencies);
        match states(self.groups.len()) {
            1 => encode_groups::<1>(&self.groups, &steps, out),
            4 => encode_groups::<4>(&self.groups, &steps, out),
            _ => encode_groups::<16>(&self.groups, &steps, out),
        }
    }
}

/// The number of bits of a coded symbol, by the symbol's frequency. Frequency 0 is treated as 1.
static COSTS: LazyLock<[f64; TOTAL as usize + 1]> = LazyLock::new(|| {
    std::array::from_fn(|frequency| f64::from(PRECISION) - binary_logarithm(frequency.max(1) as u64))
});

/// Computes log2 to 24 fractional bits by repeated squaring. The platform's own function may round differently. That
/// would change the choice of groups, and therefore the bytes of the same weights.
fn binary_logarithm(number: u64) -> f64 {
    let whole = number.ilog2();
    let mut mantissa = (number << 31) >> whole;
    let mut fraction = 0u32;
    for _ in 0..24 {
        mantissa = (mantissa * mantissa) >> 31;
        let bit = (mantissa >> 32) as u32;
        mantissa >>= bit;
        fraction = fraction << 1 | bit;
    }
    f64::from(whole) + f64::from(fraction) / f64::from(1 << 24)
}

/// A grouping and its cost.
struct Table {
    grouping: Grouping,
    counts: [u32; SYMBOLS],
    frequencies: Vec<u16>,
    bits: f64,
}

impl Table {
    fn of(grouping: Grouping, counts: [u32; SYMBOLS], symbol_frequencies: &[u16]) -> Self {
        let frequencies = grouping.frequencies(symbol_frequencies);
        let pairs = counts.iter().zip(&frequencies).filter(|(count, _)| **count > 0);
        let bits = pairs.map(|(count, frequency)| f64::from(*count) * COSTS[usize::from(*frequency)]).sum();
        Self { grouping, counts, frequencies, bits }
    }

    fn halved(&self) -> Option<(Grouping, [u32; SYMBOLS])> {
        self.grouping.halved(&self.counts)
    }
}

/// Returns the number of interleaved states for this many groups. A turn of sixteen states takes as long as a turn of
/// four, because each state is limited by its own latency. However, each state costs up to four bytes.
fn states(groups: usize) -> usize {
    match groups {
        0..4096 => 1,
        4096..32_768 => 4,
        _ => 16,
    }
}

fn count(groups: &[u8]) -> [u32; SYMBOLS] {
    // Four tables, so that runs of one symbol do not wait for the same counter.
    let mut tables = [[0u32; SYMBOLS]; 4];
    let (quads, rest) = groups.as_chunks::<4>();
    for quad in quads {
        for (table, group) in tables.iter_mut().zip(quad) {
            table[usize::from(*group)] += 1;
        }
    }
    for group in rest {
        tables[0][usize::from(*group)] += 1;
    }
    std::array::from_fn(|at| tables.iter().map(|table| table[at]).sum())
}

/// The encoder's constants for a symbol.
#[derive(Clone, Copy, Default)]
struct Step {
    frequency: u16,
    start: u16,
    /// The total minus the frequency.
    complement: u32,
    /// 2^44 / frequency, rounded up. With it, the division of a state below frequency · 2^20 is exact.
    reciprocal: u64,
}

fn steps(frequencies: &[u16]) -> [Step; SYMBOLS] {
    let mut steps = [Step::default(); SYMBOLS];
    let mut start = 0;
    for (step, frequency) in steps.iter_mut().zip(frequencies).filter(|(_, frequency)| **frequency > 0) {
        let reciprocal = (1u64 << 44).div_ceil(u64::from(*frequency));
        *step = Step { frequency: *frequency, start, complement: TOTAL - u32::from(*frequency), reciprocal };
        start += frequency;
    }
    steps
}

fn encode_groups<const STATES: usize>(groups: &[u8], steps: &[Step; SYMBOLS], out: &mut Vec<u8>) {
    let mut states = [STATE_MIN; STATES];
    // Words are written from the end, because the decoder reads them in reverse. A group produces at most one word.
    let mut at = groups.len() + STATES;
    let mut words = vec![[0; 2]; at];
    let (turns, rest) = groups.as_chunks::<STATES>();
    let mut turn = |groups: &[u8], states: &mut [u32]| {
        let window = words[..at].last_chunk_mut::<STATES>().expect("there is room for a turn more");
        let mut room = STATES;
        for (state, group) in states.iter_mut().zip(groups).rev() {
            let step = &steps[usize::from(*group)];
            // The word is always written, but kept only if the state is too large for the symbol.
            let is_full = *state >> 20 >= u32::from(step.frequency);
            window[(room - 1) % STATES] = (*state as u16).to_le_bytes();
            room -= usize::from(is_full);
            let left = select_unpredictable(is_full, *state >> 16, *state);
            let quotient = ((u64::from(left) * step.reciprocal) >> 44) as u32;
            *state = left + quotient * step.complement + u32::from(step.start);
        }
        at -= STATES - room;
    };
    turn(rest, &mut states[..rest.len()]);
    for groups in turns.iter().rev() {
        turn(groups, &mut states);
    }
    out.extend(states.iter().flat_map(|state| state.to_le_bytes()));
    out.extend_from_slice(words[at..].as_flattened());
}

/// Decodes symbols of an alphabet from all of `bytes`.
///
/// # Errors
/// A fault if [`Coding::encode`] does not write these bytes for this many symbols.
pub(crate) fn decode(bytes: &[u8], alphabet: usize, symbols: &mut [u8]) -> Result<(), Fault> {
    let (levels, bytes) = bytes.split_first().ok_or(Fault("the bytes end before the size of the groups"))?;
    let grouping = Grouping::of(alphabet)
        .with_levels(*levels)
        .ok_or(Fault("the groups have more symbols than fit into a byte"))?;
    let (frequencies, bytes) = read_frequencies(bytes, alphabet)?;
    let table = table(&grouping.frequencies(&frequencies));
    let read = |groups: &mut [u8]| match states(groups.len()) {
        1 => decode_groups::<1>(bytes, &table, groups),
        4 => decode_groups::<4>(bytes, &table, groups),
        _ => decode_groups::<16>(bytes, &table, groups),
    };
    if grouping.is_single() {
        return read(symbols);
    }
    let mut groups = vec![0; grouping.group_count(symbols.len())];
    read(&mut groups)?;
    grouping.split(groups, symbols);
    Ok(())
}

/// Reads the states and the words, and decodes the groups. Words past the end read as 0. At the end, `at` shows whether
/// any of these words was used.
fn decode_groups<const STATES: usize>(
    bytes: &[u8],
    table: &[u32; TOTAL as usize],
    groups: &mut [u8],
) -> Result<(), Fault> {
    let (heads, words) =
        bytes.split_at_checked(4 * STATES).ok_or(Fault("the bytes end within the coder's states"))?;
    let mut states = [0; STATES];
    for (state, head) in states.iter_mut().zip(heads.as_chunks::<4>().0) {
        *state = u32::from_le_bytes(*head);
        if *state < STATE_MIN {
            return Err(Fault("a coder state is below the minimum"));
        }
    }
    let (words, odd) = words.as_chunks::<2>();
    let mut at = 0;
    let mut turn = |groups: &mut [u8], states: &mut [u32]| {
        let rest = words.get(at..).unwrap_or_default();
        let mut last = [[0; 2]; STATES];
        let window = rest.first_chunk::<STATES>().unwrap_or_else(|| {
            last[..rest.len()].copy_from_slice(rest);
            &last
        });
        let mut taken = 0;
        for (state, group) in states.iter_mut().zip(groups) {
            let entry = table[(*state % TOTAL) as usize];
            // The frequency minus 1, and the distance from the symbol's start, in 12 bits each.
            let (frequency, distance) = ((entry >> 8 & 0xfff) + 1, entry >> 20);
            let next = frequency * (*state >> PRECISION) + distance;
            // There is no branch, because it would be unpredictable. A large state shifts no word in.
            let is_short = next < STATE_MIN;
            let word = u32::from(u16::from_le_bytes(window[taken % STATES]));
            *state = select_unpredictable(is_short, next << 16 | word, next);
            taken += usize::from(is_short);
            *group = entry as u8;
        }
        at += taken;
    };
    let (turns, rest) = groups.as_chunks_mut::<STATES>();
    for groups in turns {
        turn(groups, &mut states);
    }
    turn(rest, &mut states[..rest.len()]);
    let is_whole = at == words.len() && odd.is_empty() && states == [STATE_MIN; STATES];
    if is_whole { Ok(()) } else { Err(Fault("the coded symbols do not end at the end of the bytes")) }
}

/// Reads the frequencies of an alphabet and returns the remaining bytes.
fn read_frequencies(mut bytes: &[u8], alphabet: usize) -> Result<(Vec<u16>, &[u8]), Fault> {
    let mut take = || {
        let (first, rest) =
            bytes.split_first().ok_or(Fault("the bytes end within the symbols' frequencies"))?;
        bytes = rest;
        Ok(u16::from(*first))
    };
    let mut frequencies = Vec::with_capacity(alphabet);
    let mut left = TOTAL as u16;
    for _ in 0..alphabet {
        let mut frequency = take()?;
        if frequency >= 128 {
            frequency = frequency & 0x7f | take()? << 7;
        }
        let fault = Fault("the symbols' frequencies add up to more than 4096, their fixed sum");
        left = left.checked_sub(frequency).ok_or(fault)?;
        frequencies.push(frequency);
    }
    if left == 0 {
        Ok((frequencies, bytes))
    } else {
        Err(Fault("the symbols' frequencies add up to less than 4096, their fixed sum"))
    }
}

/// Returns, for each slot, the symbol, its frequency and the slot's distance from the symbol's start.
fn table(frequencies: &[u16]) -> Box<[u32; TOTAL as usize]> {
    let mut table = Box::new([0; TOTAL as usize]);
    let mut rest = &mut table[..];
    for (symbol, frequency) in (0u32..).zip(frequencies).filter(|(_, frequency)| **frequency > 0) {
        let (slots, behind) = rest.split_at_mut(usize::from(*frequency));
        for (distance, slot) in (0u32..).zip(slots) {
            *slot = symbol | u32::from(frequency - 1) << 8 | distance << 20;
        }
        rest = behind;
    }
    table
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn coded(symbols: &[u8], alphabet: usize) -> (Vec<u8>, usize) {
        let coding = Coding::of(symbols, alphabet);
        let mut bytes = Vec::new();
        coding.encode(&mut bytes);
        (bytes, coding.coded_bytes())
    }

    proptest! {
        #[test]
        fn symbols_survive(
            alphabet in 1usize..=256, symbols in prop::collection::vec(any::<u8>(), 1..9000), skew in 0u32..8,
        ) {
            let skewed = |symbol: &u8| ((usize::from(*symbol) >> skew) % alphabet) as u8;
            let symbols: Vec<u8> = symbols.iter().map(skewed).collect();
            let (bytes, estimate) = coded(&symbols, alphabet);
            // Each of the sixteen states may add up to 2 bytes to the estimate.
            prop_assert!(bytes.len() <= estimate + 32, "{} {estimate}", bytes.len());
            let mut seen = vec![0; symbols.len()];
            decode(&bytes, alphabet, &mut seen).unwrap();
            prop_assert_eq!(seen, symbols);
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..200), alphabet in 1usize..=256,
        ) {
            let _ = decode(&bytes, alphabet, &mut [0; 100]);
        }

        #[test]
        fn a_cut_is_noticed(symbols in prop::collection::vec(0u8..5, 1..500), cut in 1usize..20) {
            let (bytes, _) = coded(&symbols, 5);
            let cut = cut.min(bytes.len());
            let mut seen = vec![0; symbols.len()];
            prop_assert!(decode(&bytes[..bytes.len() - cut], 5, &mut seen).is_err());
        }
    }

    #[test]
    fn logarithms_are_right() {
        for number in 1..=u64::from(TOTAL) {
            let error = (number as f64).log2() - binary_logarithm(number);
            assert!((0.0..2e-7).contains(&(error + 1e-12)), "{number}: {error}");
        }
    }

    #[test]
    fn rare_symbols_cost_what_theory_says() {
        // One symbol in 64 is 1: the entropy is 0.1161 bits per symbol.
        let symbols: Vec<u8> = (0..65_536u32).map(|at| u8::from(at % 64 == 0)).collect();
        let (bytes, _) = coded(&symbols, 2);
        let bits = bytes.len() as f64 * 8.0 / 65_536.0;
        assert!((0.1161..0.1161 + 0.004).contains(&bits), "{bits}");
    }

    #[test]
    fn the_bytes_stay() {
        let (bytes, _) = coded(&[0, 1, 2, 0, 0, 0, 1, 0, 0], 3);
        // Groups of four symbols, with the frequencies 2730, 910 and 456 of 4096.
        assert_eq!(bytes[..7], [2, 0xaa, 0x15, 0x8e, 0x07, 0xc8, 0x03]);
        let mut seen = [0; 9];
        decode(&bytes, 3, &mut seen).unwrap();
        assert_eq!(seen, [0, 1, 2, 0, 0, 0, 1, 0, 0]);
    }

    #[test]
    fn the_bytes_of_long_runs_stay() {
        // FNV-1a hashes of the output, for one, four and sixteen states.
        let mut seen = Vec::new();
        for (length, alphabet) in [(4095, 200), (4096, 200), (32_768, 200), (131_072, 3)] {
            let symbols: Vec<u8> = (0..length as u32)
                .map(|at| (at.wrapping_mul(2_654_435_761) >> 20) as u8 % (at % alphabet + 1) as u8)
                .collect();
            let (bytes, _) = coded(&symbols, alphabet as usize);
            let mut back = vec![0; length];
            decode(&bytes, alphabet as usize, &mut back).unwrap();
            assert_eq!(back, symbols);
            let hash = bytes
                .iter()
                .fold(0x811c_9dc5u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
            seen.push((bytes.len(), hash));
        }
        assert_eq!(
            seen,
            [(3726, 474_269_142), (3734, 2_611_709_671), (28_533, 2_971_248_219), (21_317, 2_468_571_743)]
        );
    }
}
