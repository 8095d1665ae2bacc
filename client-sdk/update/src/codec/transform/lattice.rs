//! Evenly spaced levels, used by uniform quantisation, QSGD, TernGrad and block weights.

use crate::codec::vectorised;

/// 1.5 · 2^23: adding it to a float32 below 2^22 leaves the nearest integer in the low bits of the result.
const ROUND_TO_WHOLE: f32 = 12_582_912.0;

/// Levels `base + step · (symbol - offset)` for the symbols from 0 to `top`, which is at most 255.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lattice {
    /// The value of the symbol `offset`.
    pub base: f32,
    /// The distance between two levels, at least 0.
    pub step: f32,
    /// The symbol of `base`.
    pub offset: u8,
    /// The largest symbol.
    pub top: u8,
}

impl Lattice {
    /// Rounds each value to an adjacent level and writes the symbols. With `chance` (one random number per value),
    /// rounding is stochastic, and its mean is the value up to 2^-16 of a step. Without it, rounding is to nearest.
    pub fn encode(self, values: &[f32], chance: Option<&[u16]>, symbols: &mut [u8]) {
        // A step below the smallest normal number cannot be inverted. All values then get the symbol of the base.
        let inverse = if self.step >= f32::MIN_POSITIVE { 1.0 / self.step } else { 0.0 };
        vectorised(
            #[inline(always)]
            || match chance {
                Some(chance) => {
                    for ((symbol, value), chance) in symbols.iter_mut().zip(values).zip(chance) {
                        *symbol = self.symbol(*value, inverse, centred(*chance));
                    }
                }
                None => {
                    for (symbol, value) in symbols.iter_mut().zip(values) {
                        *symbol = self.symbol(*value, inverse, 0.0);
                    }
                }
            },
        );
    }

    #[inline(always)]
    fn symbol(self, value: f32, inverse: f32, shift: f32) -> u8 {
        // The level is relative to the base, so that the base is exact for any shift.
        let level = (value - self.base) * inverse + shift;
        let (lowest, highest) = (-f32::from(self.offset), f32::from(self.top - self.offset));
        // Comparisons instead of `f32::max`, which also handles NaN and takes many instructions on 128-bit vectors.
        let level = if level > lowest { level } else { lowest };
        let level = if level < highest { level } else { highest };
        let rounded = (level + ROUND_TO_WHOLE).to_bits() as u8;
        rounded.wrapping_add(self.offset)
    }

    /// Returns the values of symbols.
    pub fn decode(self, symbols: &[u8], values: &mut [f32]) {
        let (offset, top) = (f32::from(self.offset), self.top);
        vectorised(
            #[inline(always)]
            || {
                for (value, symbol) in values.iter_mut().zip(symbols) {
                    *value = self.base + self.step * (f32::from((*symbol).min(top)) - offset);
                }
            },
        );
    }
}

/// Returns a random number between -1/2 and 1/2 (exclusive) with mean 0: one of 2^16 evenly spaced values, all exact.
#[inline(always)]
fn centred(chance: u16) -> f32 {
    (f32::from(chance) + 0.5) * (1.0 / 65_536.0) - 0.5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extremes_keep_to_their_levels() {
        let lattice = Lattice { base: -1.0, step: 2.0 / 255.0, offset: 0, top: 255 };
        for chance in [16, u16::MAX - 16] {
            let mut symbols = [7; 2];
            lattice.encode(&[-1.0, 1.0], Some(&[chance; 2]), &mut symbols);
            assert_eq!(symbols, [0, 255]);
        }
        let signed = Lattice { base: 0.0, step: 0.25, offset: 4, top: 8 };
        let mut symbols = [0; 5];
        signed.encode(&[-1.0, 0.0, 0.25, 1.0, 9.0], Some(&[0, 0, u16::MAX - 16, 0, 0]), &mut symbols);
        assert_eq!(symbols, [0, 4, 5, 8, 8]);
        let mut values = [0.0; 5];
        signed.decode(&symbols, &mut values);
        assert_eq!(values, [-1.0, 0.0, 0.25, 1.0, 1.0]);
    }

    #[test]
    fn the_share_of_the_upper_level_is_the_distance_from_the_lower() {
        let lattice = Lattice { base: 0.0, step: 1.0, offset: 0, top: 3 };
        let chances: Vec<u16> = (0..=u16::MAX).collect();
        for value in [0.0, 0.125, 0.5, 1.25, 2.75, 3.0] {
            let mut symbols = vec![0; chances.len()];
            lattice.encode(&vec![value; chances.len()], Some(&chances), &mut symbols);
            let mean = symbols.iter().map(|symbol| f64::from(*symbol)).sum::<f64>() / chances.len() as f64;
            assert_eq!(mean, f64::from(value));
        }
    }

    #[test]
    fn a_step_of_nothing_is_the_base() {
        for step in [0.0, f32::MIN_POSITIVE / 2.0] {
            let lattice = Lattice { base: 3.0, step, offset: 0, top: 15 };
            let mut symbols = [5; 2];
            lattice.encode(&[3.0, 3.0], Some(&[0, u16::MAX]), &mut symbols);
            let mut values = [0.0; 2];
            lattice.decode(&symbols, &mut values);
            assert_eq!(values, [3.0; 2]);
        }
    }
}
