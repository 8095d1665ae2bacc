//! Bernoulli trials with probability e^-γ, using only integers.

use rand::CryptoRng;

/// Draws a uniform integer below `bound`, which must be at least 1.
///
/// It is unbiased and usually needs no division: Lemire 2019, "Fast random integer generation in an interval",
/// algorithm 5.
#[inline]
pub(super) fn below(bound: u64, rng: &mut impl CryptoRng) -> u64 {
    if let Ok(bound) = u32::try_from(bound) {
        return below_32(bound, rng).into();
    }
    loop {
        let product = u128::from(rng.next_u64()) * u128::from(bound);
        let fraction = product as u64;
        if fraction >= bound || fraction >= bound.wrapping_neg() % bound {
            return (product >> 64) as u64;
        }
    }
}

/// Like [`below`], but with 32 random bits instead of 64.
#[inline]
fn below_32(bound: u32, rng: &mut impl CryptoRng) -> u32 {
    loop {
        let product = u64::from(rng.next_u32()) * u64::from(bound);
        let fraction = product as u32;
        if fraction >= bound || fraction >= bound.wrapping_neg() % bound {
            return (product >> 32) as u32;
        }
    }
}

/// Returns `true` with probability e^-(numerator/denominator). `denominator` must be at least 1.
///
/// Canonne, Kamath and Steinke 2020, algorithm 1. An exponent above 1 is split into units of 1 and a remainder. Each
/// part has its own trial, and all trials must succeed. Usually one of the first fails, so even a huge exponent takes
/// little time.
#[inline]
pub(super) fn exponential_coin(numerator: u128, denominator: u64, rng: &mut impl CryptoRng) -> bool {
    let mut rest = numerator;
    while rest > u128::from(denominator) {
        if !inverse_e_coin(rng) {
            return false;
        }
        rest -= u128::from(denominator);
    }
    fraction_coin(rest as u64, denominator, rng)
}

/// Like [`exponential_coin`], but for an exponent γ of at most 1.
///
/// Consider trials with the probabilities γ/1, γ/2, γ/3, … The first k of them all succeed with probability γ^k/k!. The
/// first failure therefore has an odd number with probability 1 − γ + γ²/2! − γ³/3! + … = e^-γ. A trial with
/// probability γ/k is one with γ and one with 1/k, both of which must succeed. Nothing is multiplied, so nothing can
/// overflow.
#[inline]
pub(super) fn fraction_coin(numerator: u64, denominator: u64, rng: &mut impl CryptoRng) -> bool {
    let mut number = 1;
    loop {
        let is_one_of_number = number == 1 || below_32(number, rng) == 0;
        if !is_one_of_number || below(denominator, rng) >= numerator {
            return number % 2 == 1;
        }
        // The probability of reaching 2^32 is 1/(2^32)!.
        number += 1;
    }
}

/// Like [`exponential_coin`], but for an exponent of 1. Trials with probability γ then always succeed.
#[inline]
pub(super) fn inverse_e_coin(rng: &mut impl CryptoRng) -> bool {
    let mut number = 2;
    while below_32(number, rng) == 0 {
        number += 1;
    }
    number % 2 == 1
}
