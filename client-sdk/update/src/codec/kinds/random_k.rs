//! Random-k: the seed selects the elements, so only their values are sent.
//!
//! Konečný et al. 2016 (subsampling of a sketched update); Stich, Cordonnier and Jaggi 2018. From each tile of `n`
//! elements, `k = round(share · n)`, at least one, are drawn without replacement, so each is drawn with probability
//! `k / n`. For the unbiased form, values are multiplied by `n / k`; its expected normalised error is `n / k - 1`.
//! Without scaling, it is `1 - k / n`.
//!
//! The draw is Floyd's algorithm (Bentley and Floyd 1987): for each `j` from `n - k` to `n - 1`, draw a number from 0
//! to `j` and select it, or select `j` itself if that number was already selected. If more than half of the elements
//! are sent, those to leave out are drawn instead.
//!
//! A tile: the values in the order of their positions, as in [`crate::codec::coding::floats`].

use crate::codec::Fault;
use crate::codec::coding::{
    bytes::Bytes,
    floats::{self, Float},
};
use crate::codec::transform::{
    random::{Place, Purpose},
    selection::share_of,
};

/// Lists the selected elements of a tile of `count`, in increasing order.
pub(crate) fn positions(share: f64, place: Place, count: usize, positions: &mut Vec<u32>) {
    let sent = share_of(share, count as u64) as usize;
    let (drawn, is_sent) = if sent * 2 <= count { (sent, true) } else { (count - sent, false) };
    let mut taken = vec![0u64; count.div_ceil(64)];
    let mut stream = place.stream(Purpose::Choice);
    for last in count - drawn..count {
        let choice = stream.below(last as u32 + 1) as usize;
        let is_taken = taken[choice / 64] >> (choice % 64) & 1 == 1;
        let choice = if is_taken { last } else { choice };
        taken[choice / 64] |= 1 << (choice % 64);
    }
    positions.clear();
    for (index, word) in taken.iter().enumerate() {
        let start = 64 * index;
        let inside = u64::MAX >> (64 - (count - start).min(64));
        let mut left = if is_sent { *word } else { !word & inside };
        while left != 0 {
            positions.push((start as u32) + left.trailing_zeros());
            left &= left - 1;
        }
    }
}

/// Appends a tile.
pub(crate) fn encode(
    share: f64,
    unbiased: bool,
    values: &[f32],
    place: Place,
    lossless: bool,
    out: &mut Vec<u8>,
) {
    let mut chosen = Vec::new();
    positions(share, place, values.len(), &mut chosen);
    let factor = if unbiased { (values.len() as f64 / chosen.len() as f64) as f32 } else { 1.0 };
    let scaled: Vec<f32> = chosen.iter().map(|at| values[*at as usize] * factor).collect();
    floats::write(Float::Float32, &scaled, lossless, out);
}

/// Reads a tile of `count` elements.
pub(crate) fn decode(
    share: f64,
    bytes: &mut Bytes<'_>,
    place: Place,
    count: usize,
    chosen: &mut Vec<u32>,
    values: &mut Vec<f32>,
) -> Result<(), Fault> {
    values.resize(share_of(share, count as u64) as usize, 0.0);
    floats::read(Float::Float32, bytes, values)?;
    positions(share, place, count, chosen);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_as_likely() {
        let mut counts = [0u32; 10];
        for share in [0.3, 0.7] {
            for seed in 0..1000 {
                let mut chosen = Vec::new();
                positions(share, Place { seed, tensor: 0, tile: 0 }, 10, &mut chosen);
                assert!(chosen.is_sorted() && chosen.len() == (share * 10.0) as usize, "{chosen:?}");
                chosen.iter().for_each(|at| counts[*at as usize] += 1);
            }
        }
        // The sum of two binomials, standard deviation 20.5; the seeds are fixed.
        assert!(counts.iter().all(|count| count.abs_diff(1000) < 90), "{counts:?}");
    }
}
