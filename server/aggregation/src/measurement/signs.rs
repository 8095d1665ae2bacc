use super::Norms;
use crate::random::fraction_at;

/// The norms of n updates, and the signs of their values in a random sample of the coordinates.
///
/// A coordinate belongs to the sample if a pseudorandom fraction, which depends on the seed and the coordinate's index alone,
/// is below the share. So the sample does not depend on the tiling.
#[derive(Clone, Debug)]
pub struct Signs {
    norms: Norms,
    share: f64,
    seed: u64,
    /// The number of coordinates of all tiles so far.
    position: u64,
    /// The number of coordinates of the sample so far.
    sampled: u64,
    /// For each update, the number of positive and of negative values in the sample.
    counts: Vec<[u64; 2]>,
}

impl Signs {
    /// Creates the counts for `updates` updates, without any tile. `share` is the share of the coordinates in the
    /// sample.
    pub fn new(updates: usize, share: f64, seed: u64) -> Self {
        Self {
            norms: Norms::new(updates),
            share,
            seed,
            position: 0,
            sampled: 0,
            counts: vec![[0; 2]; updates],
        }
    }

    /// Adds one tile. Tiles follow the rules of [`Norms::add_tile`]; the counts are the same for any tiling.
    pub fn add_tile(&mut self, rows: &[&[f32]]) {
        self.norms.add_tile(rows);
        let length = rows.first().map_or(0, |row| row.len());
        let sample: Vec<usize> = (0..length)
            .filter(|index| fraction_at(self.seed, self.position + *index as u64) < self.share)
            .collect();
        for (counts, row) in self.counts.iter_mut().zip(rows) {
            for value in sample.iter().map(|index| row[*index]) {
                counts[0] += u64::from(value > 0.0);
                counts[1] += u64::from(value < 0.0);
            }
        }
        self.position += length as u64;
        self.sampled += sample.len() as u64;
    }

    pub(crate) fn norms(&self) -> &Norms {
        &self.norms
    }

    /// Returns the shares of positive, zero and negative values of each update in the sample. All are 0 if the sample is empty. A
    /// value that is not a number counts as zero.
    pub(crate) fn shares(&self) -> Vec<[f64; 3]> {
        let share = |count: u64| count as f64 / self.sampled.max(1) as f64;
        let shares = |[positive, negative]: &[u64; 2]| {
            [share(*positive), share(self.sampled - positive - negative), share(*negative)]
        };
        self.counts.iter().map(shares).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_by_hand() {
        let mut signs = Signs::new(2, 1.0, 5);
        signs.add_tile(&[&[3.0, -4.0, 0.0], &[1.0, -0.0, f32::NAN]]);
        signs.add_tile(&[&[-12.0], &[1.0]]);
        assert_eq!(signs.shares(), [[0.25, 0.25, 0.5], [0.5, 0.5, 0.0]]);
        assert_eq!(signs.norms().squared(0), 169.0);
    }

    #[test]
    fn the_sample_depends_on_the_seed_and_not_on_the_tiles() {
        let row: Vec<f32> = (0..1000u16).map(|index| f32::from(index % 7) - 2.0).collect();
        let shares = |seed: u64, cut: usize| {
            let mut signs = Signs::new(1, 0.1, seed);
            signs.add_tile(&[&row[..cut]]);
            signs.add_tile(&[&row[cut..]]);
            (signs.shares(), signs.sampled)
        };
        assert_eq!(shares(1, 0), shares(1, 123));
        assert_ne!(shares(1, 0).0, shares(2, 0).0);
        assert!((70..130).contains(&shares(1, 0).1));
    }

    #[test]
    fn an_empty_sample_has_no_shares() {
        let mut signs = Signs::new(1, 0.0, 5);
        signs.add_tile(&[&[1.0]]);
        assert_eq!(signs.shares(), [[0.0; 3]]);
    }
}
