//! A second, exact sampler of the discrete Gaussian, in integer arithmetic on a stream of random bytes.
//!
//! Canonne, Kamath and Steinke 2020, "The discrete Gaussian for differential privacy", algorithms 1 to 3.

use dashu::integer::UBig;

use super::NoiseScale;

/// A source of uniform bytes.
pub(super) trait RandomBytes {
    /// Fills the buffer with uniform random bytes.
    fn fill(&mut self, bytes: &mut [u8]);
}

/// Draws one value of the discrete Gaussian.
pub(super) fn discrete_gaussian(scale: NoiseScale, source: &mut impl RandomBytes) -> i64 {
    // With the scale n/2^b and t = ⌊scale⌋ + 1 the candidate y is kept with probability
    // exp(−(|y| − scale²/t)² / (2·scale²)) = exp(−(|y|·t·4^b − n²)² / (2·n²·4^b·t²)).
    let (numerator, bits) = scale.as_fraction();
    let square = UBig::from(numerator) * UBig::from(numerator);
    let whole = scale.get().floor() as u64 + 1;
    let denominator = (&square * UBig::from(whole) * UBig::from(whole)) << (2 * bits + 1) as usize;
    loop {
        let candidate = discrete_laplace(whole, source);
        let scaled = (UBig::from(candidate.unsigned_abs()) * UBig::from(whole)) << (2 * bits) as usize;
        let distance = if scaled > square { scaled - &square } else { &square - scaled };
        if bernoulli_exp(&(&distance * &distance), &denominator, source) {
            return candidate;
        }
    }
}

/// Draws from the discrete Laplace distribution with an integer scale: P(x) ∝ e^(−|x|/scale). Algorithm 2.
fn discrete_laplace(scale: u64, source: &mut impl RandomBytes) -> i64 {
    let whole = UBig::from(scale);
    loop {
        let rest = below(&whole, source);
        if !bernoulli_exp(&rest, &whole, source) {
            continue;
        }
        let mut multiple = 0u64;
        while bernoulli_exp(&UBig::ONE, &UBig::ONE, source) {
            multiple += 1;
        }
        let rest = u64::try_from(rest).expect("below the scale, which is a u64");
        let magnitude = i64::try_from(rest + scale * multiple).unwrap_or(i64::MAX);
        let mut sign = [0];
        source.fill(&mut sign);
        match (sign[0] & 1 == 1, magnitude) {
            (true, 0) => {}
            (true, _) => return -magnitude,
            (false, _) => return magnitude,
        }
    }
}

/// Returns `true` with the probability e^(−numerator/denominator). Algorithm 1.
fn bernoulli_exp(numerator: &UBig, denominator: &UBig, source: &mut impl RandomBytes) -> bool {
    let mut rest = numerator.clone();
    while &rest > denominator {
        if !bernoulli_exp_below_one(denominator, denominator, source) {
            return false;
        }
        rest -= denominator;
    }
    bernoulli_exp_below_one(&rest, denominator, source)
}

/// Returns `true` with the probability e^(−numerator/denominator), for a quotient of at most 1. It uses von Neumann's
/// alternating series with uniform integers.
fn bernoulli_exp_below_one(numerator: &UBig, denominator: &UBig, source: &mut impl RandomBytes) -> bool {
    let mut is_odd = true;
    let mut limit = denominator.clone();
    loop {
        if &below(&limit, source) >= numerator {
            return is_odd;
        }
        limit += denominator;
        is_odd = !is_odd;
    }
}

/// Draws a uniform integer below `limit`, which is above 0, by rejection.
fn below(limit: &UBig, source: &mut impl RandomBytes) -> UBig {
    use dashu::base::BitTest;

    let bits = limit.bit_len();
    let mut bytes = vec![0; bits.div_ceil(8)];
    let spare = bytes.len() * 8 - bits;
    loop {
        source.fill(&mut bytes);
        if let Some(last) = bytes.last_mut() {
            *last &= 0xff >> spare;
        }
        let drawn = UBig::from_le_bytes(&bytes);
        if &drawn < limit {
            return drawn;
        }
    }
}
