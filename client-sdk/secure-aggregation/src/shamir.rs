//! Secret sharing (Shamir 1979) over the scalars of Curve25519, a prime field of 252 bits.

use curve25519_dalek::Scalar;
use zeroize::Zeroizing;

/// Evaluates the polynomial whose constant is the secret at `x`, which must not be 0.
pub fn share(coefficients: &[Zeroizing<Scalar>], x: u32) -> Zeroizing<Scalar> {
    let x = Scalar::from(x);
    let horner = coefficients.iter().rev().fold(Scalar::ZERO, |sum, coefficient| sum * x + **coefficient);
    Zeroizing::new(horner)
}

/// Computes the secret from as many shares as the threshold says: Lagrange's interpolation at 0. The `x` must be distinct
/// and not 0.
pub fn recover(shares: &[(u32, Scalar)]) -> Zeroizing<Scalar> {
    let points: Vec<Scalar> = shares.iter().map(|(x, _)| Scalar::from(*x)).collect();
    let mut denominators: Vec<Scalar> = points
        .iter()
        .map(|x| points.iter().filter(|other| *other != x).map(|other| other - x).product())
        .collect();
    Scalar::batch_invert(&mut denominators);
    let terms = points.iter().zip(&denominators).zip(shares).map(|((x, inverse), (_, y))| {
        let numerator: Scalar = points.iter().filter(|other| *other != x).product();
        numerator * inverse * y
    });
    Zeroizing::new(terms.sum())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn coefficients(seed: u64, count: usize) -> Vec<Zeroizing<Scalar>> {
        (0..count).map(|power| Zeroizing::new(Scalar::from(seed + power as u64).invert())).collect()
    }

    proptest! {
        #[test]
        fn any_threshold_of_shares_gives_the_secret_and_fewer_do_not(
            seed in 2u64..1_000_000, threshold in 1usize..20, chosen in prop::collection::btree_set(1u32..60, 20)
        ) {
            let coefficients = coefficients(seed, threshold);
            let shares: Vec<_> = chosen.iter().map(|x| (*x, *share(&coefficients, *x))).collect();
            prop_assert_eq!(*recover(&shares[..threshold]), *coefficients[0]);
            prop_assert_eq!(*recover(&shares[20 - threshold..]), *coefficients[0]);
            if threshold > 1 {
                prop_assert_ne!(*recover(&shares[..threshold - 1]), *coefficients[0]);
            }
        }
    }
}
