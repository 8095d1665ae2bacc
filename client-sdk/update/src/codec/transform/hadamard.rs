//! The in-place Walsh-Hadamard transform, and the random signs of a rotation.

use super::random::{Place, Purpose};
use crate::codec::vectorised;

/// The number of values of the innermost transform.
const BASE: usize = 256;

/// Transforms 2^n values in place, without normalising: applying it twice multiplies the values by their number.
///
/// `y[i] = sum_j (-1)^popcount(i & j) · x[j]` (Sylvester's order). The additions of each stage are independent, so
/// every machine rounds in the same way.
pub(crate) fn transform(values: &mut [f32]) {
    debug_assert!(values.len().is_power_of_two(), "blocks are powers of two");
    vectorised(
        #[inline(always)]
        || {
            let mut stride = 1;
            for group in values.as_chunks_mut::<BASE>().0 {
                base(group);
                stride = BASE;
            }
            while stride >= BASE && stride * 8 <= values.len() {
                octets(values, stride);
                stride *= 8;
            }
            while stride < values.len() {
                pairs(values, stride);
                stride *= 2;
            }
        },
    );
}

/// Computes one stage of the transform: the sums and differences of values that are `stride` apart.
#[inline(always)]
fn pairs(values: &mut [f32], stride: usize) {
    for chunk in values.chunks_exact_mut(2 * stride) {
        let (left, right) = chunk.split_at_mut(stride);
        for (a, b) in left.iter_mut().zip(right) {
            (*a, *b) = (*a + *b, *a - *b);
        }
    }
}

/// Computes three stages at once, so that each value is loaded and stored only once for all three.
#[inline(always)]
fn octets(values: &mut [f32], stride: usize) {
    for chunk in values.chunks_exact_mut(8 * stride) {
        let (left, right) = chunk.split_at_mut(4 * stride);
        let (x0, x1, x2, x3) = quarters(left, stride);
        let (x4, x5, x6, x7) = quarters(right, stride);
        for at in 0..stride {
            let mut x = [x0[at], x1[at], x2[at], x3[at], x4[at], x5[at], x6[at], x7[at]];
            for step in [4, 2, 1] {
                for first in 0..8 {
                    if first & step == 0 {
                        (x[first], x[first + step]) =
                            (x[first] + x[first + step], x[first] - x[first + step]);
                    }
                }
            }
            [x0[at], x1[at], x2[at], x3[at], x4[at], x5[at], x6[at], x7[at]] = x;
        }
    }
}

type Quarters<'a> = (&'a mut [f32], &'a mut [f32], &'a mut [f32], &'a mut [f32]);

#[inline(always)]
fn quarters(values: &mut [f32], stride: usize) -> Quarters<'_> {
    let (left, right) = values.split_at_mut(2 * stride);
    let (first, second) = left.split_at_mut(stride);
    let (third, fourth) = right.split_at_mut(stride);
    (first, second, third, &mut fourth[..stride])
}

/// Computes all stages of 256 values, in the order that suits the CPU's vector width.
#[inline(always)]
fn base(values: &mut [f32; BASE]) {
    if cfg!(target_family = "wasm") { base_in_place(values) } else { base_in_turns(values) }
}

/// Computes two stages at a time, in place. This suits CPUs whose vectors have four values: only the last two stages
/// combine values within a vector.
#[inline(always)]
fn base_in_place(values: &mut [f32; BASE]) {
    fours::<64>(values);
    fours::<16>(values);
    fours::<4>(values);
    fours::<1>(values);
}

#[inline(always)]
fn fours<const STRIDE: usize>(values: &mut [f32; BASE]) {
    for chunk in values.chunks_exact_mut(4 * STRIDE) {
        let [a, b, c, d] = chunk.as_chunks_mut::<STRIDE>().0 else { continue };
        for at in 0..STRIDE {
            let (first, second) = (a[at] + c[at], a[at] - c[at]);
            let (third, fourth) = (b[at] + d[at], b[at] - d[at]);
            (a[at], b[at], c[at], d[at]) = (first + third, first - third, second + fourth, second - fourth);
        }
    }
}

/// Computes the same sums as [`base_in_place`], for vectors of more than four values.
///
/// Neighbours are in the same vector, where they cannot be added directly. Each pass therefore processes the two
/// highest bits of the index, whose values are far apart, and moves those bits to the lowest place (Pease 1968, "An
/// adaptation of the fast Fourier transform for parallel processing"). After four passes, every bit has been processed
/// and is back in its place.
#[inline(always)]
fn base_in_turns(values: &mut [f32; BASE]) {
    let mut other = [0.0; BASE];
    for _ in 0..2 {
        turn(values, &mut other);
        turn(&other, values);
    }
}

#[inline(always)]
fn turn(from: &[f32; BASE], to: &mut [f32; BASE]) {
    const QUARTER: usize = BASE / 4;
    for (at, to) in to.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let (first, second) = (from[at] + from[2 * QUARTER + at], from[at] - from[2 * QUARTER + at]);
        let (third, fourth) =
            (from[QUARTER + at] + from[3 * QUARTER + at], from[QUARTER + at] - from[3 * QUARTER + at]);
        *to = [first + third, first - third, second + fourth, second - fourth];
    }
}

/// The random signs of one tile: one bit for each value.
pub(crate) struct Signs {
    words: Vec<u32>,
}

impl Signs {
    /// Draws the signs of `count` values and of the last block's padding.
    pub fn of(place: Place, count: usize) -> Self {
        let mut words = vec![0; count.div_ceil(32) + 2];
        place.stream(Purpose::Signs).fill(&mut words);
        Self { words }
    }

    /// Multiplies values by a factor and by their signs. The first value's sign is the bit at `first`, a multiple of
    /// 32.
    pub fn apply(&self, first: usize, factor: f32, values: &mut [f32]) {
        let words = &self.words[first / 32..];
        vectorised(
            #[inline(always)]
            || {
                let (groups, rest) = values.as_chunks_mut::<32>();
                for (group, word) in groups.iter_mut().zip(words) {
                    flip(group, *word, factor);
                }
                if let Some(word) = words.get(groups.len()) {
                    flip(rest, *word, factor);
                }
            },
        );
    }
}

#[inline(always)]
fn flip(values: &mut [f32], word: u32, factor: f32) {
    for (at, value) in values.iter_mut().enumerate() {
        let sign = word >> at << 31;
        *value *= f32::from_bits(factor.to_bits() ^ sign);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_definition(values: &[f32]) -> Vec<f32> {
        let sign = |row: usize, column: usize| {
            if (row & column).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 }
        };
        let entry = |row| (0..values.len()).map(|column| sign(row, column) * values[column]).sum();
        (0..values.len()).map(entry).collect()
    }

    #[test]
    fn both_orders_make_the_same_bits() {
        let values: [f32; BASE] = std::array::from_fn(|at| ((at * 7919 + 13) as f32).sin());
        let (mut in_place, mut in_turns) = (values, values);
        base_in_place(&mut in_place);
        base_in_turns(&mut in_turns);
        assert_eq!(in_place.map(f32::to_bits), in_turns.map(f32::to_bits));
    }

    #[test]
    fn every_size_follows_the_definition() {
        for exponent in 0..=11 {
            // Whole numbers, so that the sums are exact in any order.
            let values: Vec<f32> =
                (0..1 << exponent).map(|at: u32| ((at * 37 + 11) % 101) as f32 - 50.0).collect();
            let mut transformed = values.clone();
            transform(&mut transformed);
            assert_eq!(transformed, by_definition(&values), "2^{exponent}");
            transform(&mut transformed);
            let scaled: Vec<f32> = values.iter().map(|value| value * values.len() as f32).collect();
            assert_eq!(transformed, scaled);
        }
    }

    #[test]
    fn signs_are_their_own_inverse() {
        let signs = Signs::of(Place { seed: 5, tensor: 1, tile: 2 }, 100);
        let values: Vec<f32> = (0..100).map(|at| at as f32 - 3.5).collect();
        let mut signed = values.clone();
        signs.apply(0, 2.0, &mut signed);
        let negative =
            signed.iter().zip(&values).filter(|(signed, value)| **signed == -2.0 * **value).count();
        // Binomial(100, 1/2), standard deviation 5; the seed is fixed.
        assert!((30..=70).contains(&negative), "{negative}");
        signs.apply(0, 0.5, &mut signed);
        assert_eq!(signed, values);
        let mut tail = values[64..].to_vec();
        signs.apply(64, 1.0, &mut tail);
        let mut whole = values;
        signs.apply(0, 1.0, &mut whole);
        assert_eq!(tail, whole[64..]);
    }
}
