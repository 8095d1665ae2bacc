//! The quantisers of 1 to 4 bits with the least squared error for a standard normal value (Lloyd 1982; Max 1960).

use crate::codec::vectorised;

/// The positive values of the 1-bit quantiser. All quantisers are symmetric around 0.
pub(crate) const ONE: [f64; 1] = [0.797_884_560_802_865_4];
/// The positive values of the 2-bit quantiser.
pub(crate) const TWO: [f64; 2] = [0.452_780_034_636_485_64, 1.510_417_608_499_081_7];
/// The positive values of the 3-bit quantiser.
pub(crate) const THREE: [f64; 4] =
    [0.245_094_178_944_208_54, 0.756_005_281_205_841_5, 1.343_909_278_504_949_6, 2.151_945_704_536_943];
/// The positive values of the 4-bit quantiser.
pub(crate) const FOUR: [f64; 8] = [
    0.128_395_029_851_118_03,
    0.388_048_299_490_207_2,
    0.656_759_118_532_332_5,
    0.942_340_456_486_793_4,
    1.256_231_197_346_980_2,
    1.618_046_386_021_680_5,
    2.069_017_226_531_183_7,
    2.732_589_570_994_988,
];

/// The expected squared error for a standard normal value, by bits minus 1.
pub(crate) const DISTORTIONS: [f64; 4] =
    [0.363_380_227_632_418_6, 0.117_481_847_829_336_24, 0.034_547_760_788_511_74, 0.009_501_008_008_200_973];

/// The number of symbols with 4 bits.
const SYMBOLS: usize = 16;

/// The positive half of one quantiser, in the form that the loops use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantiser<const HALF: usize> {
    /// Entry `i` is the midpoint of the values `i - 1` and `i`; entry 0 is 0.
    boundaries: [f32; HALF],
    /// The bits in which value `i` differs from the previous one; entry 0 is value 0. With plain values, the compiler
    /// would select between addresses and could not vectorise the loop.
    changes: [u32; HALF],
}

impl<const HALF: usize> Quantiser<HALF> {
    /// Creates the quantiser with these positive values, in increasing order.
    pub fn of(values: [f64; HALF]) -> Self {
        let bits = |at: usize| (values[at] as f32).to_bits();
        let middle = |at: usize| if at == 0 { 0.0 } else { ((values[at - 1] + values[at]) / 2.0) as f32 };
        let change = |at: usize| if at == 0 { bits(0) } else { bits(at) ^ bits(at - 1) };
        Self { boundaries: std::array::from_fn(middle), changes: std::array::from_fn(change) }
    }

    /// Returns the quantiser for values with another standard deviation. Its output values do not change.
    pub fn for_deviation(self, deviation: f32) -> Self {
        Self { boundaries: self.boundaries.map(|boundary| boundary * deviation), ..self }
    }

    /// Returns the symbol of a value and its quantised value. The upper half of the symbols stands for positive values
    /// and zero.
    #[inline(always)]
    pub fn nearest(&self, value: f32) -> (u8, f32) {
        let magnitude = value.abs();
        let (mut index, mut bits) = (0, self.changes[0]);
        for at in 1..HALF {
            let is_above = u32::from(magnitude >= self.boundaries[at]);
            index += is_above;
            bits ^= self.changes[at] & is_above.wrapping_neg();
        }
        let negative = u32::from(value < 0.0);
        // `-(index) - 1` is the bitwise complement of the index.
        let symbol = (index ^ negative.wrapping_neg()).wrapping_add(HALF as u32);
        (symbol as u8, f32::from_bits(bits | negative << 31))
    }

    /// Writes the values of symbols. Symbols must fit the quantiser's bits.
    pub fn decode(self, symbols: &[u8], values: &mut [f32]) {
        if 2 * HALF < SYMBOLS {
            vectorised(
                #[inline(always)]
                || values.iter_mut().zip(symbols).for_each(|(value, symbol)| *value = self.value(*symbol)),
            );
            return;
        }
        // With this many values, a table is faster than comparisons.
        let table: [f32; SYMBOLS] = std::array::from_fn(|symbol| self.value(symbol as u8));
        for (value, symbol) in values.iter_mut().zip(symbols) {
            *value = table[usize::from(*symbol) % SYMBOLS];
        }
    }

    #[inline(always)]
    fn value(&self, symbol: u8) -> f32 {
        let symbol = u32::from(symbol);
        let negative = u32::from(symbol < HALF as u32);
        let index = symbol.wrapping_sub(HALF as u32) ^ negative.wrapping_neg();
        let mut bits = self.changes[0];
        for at in 1..HALF {
            bits ^= self.changes[at] & u32::from(index >= at as u32).wrapping_neg();
        }
        f32::from_bits(bits | negative << 31)
    }
}
