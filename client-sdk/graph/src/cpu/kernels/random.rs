//! Random numbers as a function of seed, stream and position, so that every executor draws the same numbers.

use crate::cpu::element::Element;

/// Fills `out` with uniform numbers in [0, 1), 24 bits each: SplitMix64 (Steele, Lea, Flood 2014) over a counter.
pub(crate) fn uniform<E: Element>(seed: u64, stream: u64, out: &mut [E]) {
    let key = mix(seed ^ mix(stream.wrapping_add(0x9e37_79b9_7f4a_7c15)));
    for (position, out) in out.iter_mut().enumerate() {
        let bits = mix(key.wrapping_add((position as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        *out = E::from_f64((bits >> 40) as f64 / f64::from(1 << 24));
    }
}

#[inline]
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_and_repeatable() {
        let mut draws = vec![0f32; 100_000];
        uniform(1, 2, &mut draws);
        let mean = draws.iter().map(|x| f64::from(*x)).sum::<f64>() / 1e5;
        assert!((mean - 0.5).abs() < 0.005 && draws.iter().all(|x| (0.0..1.0).contains(x)), "{mean}");
        let mut again = vec![0f32; 10];
        uniform(1, 2, &mut again);
        assert_eq!(again, draws[..10]);
        uniform(1, 3, &mut again);
        assert_ne!(again, draws[..10]);
    }
}
