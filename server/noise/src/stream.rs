use folkmoot_coordinator::privacy::{Stream, StreamShape, Terms};
use folkmoot_privacy::{
    RangeError,
    accountant::{BufferedToeplitz, best_tree},
    correlated::{BltNoise, CorrelatedNoise, StateError, TreeNoise},
    noise::{Noise, NoiseScale},
};
use zeroize::Zeroizing;

use super::DrawError;

/// The state of a task's correlated noise before the next version.
///
/// Anyone who reads the serialised state can remove the noise from released versions. So the bytes are as secret as the
/// updates, and a version's state is deleted once the next version is stored.
pub struct StreamNoise(CorrelatedNoise);

impl StreamNoise {
    /// Begins the stream for a model with `parameter_count` parameters.
    ///
    /// # Errors
    /// Fails if the mechanism does not support the planned number of versions.
    pub fn begin(stream: &Stream, parameter_count: usize) -> Result<Self, RangeError> {
        Ok(Self(match stream.shape {
            StreamShape::Tree => {
                let (leaves, _) = best_tree(stream.releases_max, stream.pattern);
                let noise = TreeNoise::new(parameter_count, leaves, true);
                CorrelatedNoise::Tree(noise.limited_to(stream.releases_max))
            }
            StreamShape::Blt => {
                let releases = usize::try_from(stream.releases_max).unwrap_or(usize::MAX);
                let (matrix, _) = BufferedToeplitz::chosen_for(releases, stream.pattern);
                CorrelatedNoise::Blt(BltNoise::new(&matrix, parameter_count, stream.releases_max)?)
            }
        }))
    }

    /// Reads the state that was stored with the last version.
    ///
    /// # Errors
    /// Fails if the bytes are not a valid state.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StateError> {
        CorrelatedNoise::from_bytes(bytes).map(Self)
    }

    /// Serialises the state for the next version.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.to_bytes()
    }

    /// Returns the scale of the draws: the noise multiplier times the sensitivity of all versions. A client changes
    /// each version in which it takes part by at most `clipping_norm` steps of the grid.
    ///
    /// # Errors
    /// Fails if the scale is out of the supported range.
    pub fn scale(
        &self,
        terms: &Terms,
        stream: &Stream,
        clipping_norm: u64,
    ) -> Result<NoiseScale, RangeError> {
        let multiplier = terms.charge.noise_multiplier;
        self.0.noise_scale(multiplier, clipping_norm as f64, stream.releases_max, stream.pattern)
    }

    /// Returns the number of draws per parameter that the next version needs.
    pub fn draws(&self) -> usize {
        self.0.draws() as usize
    }

    /// Returns the number of draws per parameter for a version, numbered from 1.
    pub fn draws_of(stream: &Stream, version: u64) -> usize {
        match stream.shape {
            StreamShape::Tree => {
                let (leaves, _) = best_tree(stream.releases_max, stream.pattern);
                let leaf = version.saturating_sub(1) % leaves + 1;
                leaf.trailing_zeros() as usize + 1
            }
            StreamShape::Blt => 1,
        }
    }

    /// Computes the noise of the next version from its draws.
    ///
    /// # Errors
    /// Fails if all planned versions are done, a vector has the wrong length, or a value exceeds 64 bits. Nothing may
    /// be released then.
    pub fn next(&mut self, drawn: Noise, parameter_count: usize) -> Result<Zeroizing<Vec<i64>>, DrawError> {
        let mut vectors = drawn.into_vectors(parameter_count);
        // A missing vector becomes an empty one, which fails the length check.
        let noise = self.0.next_round(|| Ok(vectors.next().unwrap_or_default()))?;
        Ok(Zeroizing::new(noise))
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_privacy::accountant::ParticipationPattern;

    use super::*;

    #[test]
    fn draws_are_foreseen_and_states_go_on() {
        for shape in [StreamShape::Tree, StreamShape::Blt] {
            for (releases_max, participations, separation) in [(1, 1, 1), (13, 1, 13), (20, 10, 2)] {
                let pattern = ParticipationPattern::new(participations, separation).unwrap();
                let stream = Stream { shape, releases_max, pattern };
                let mut noise = StreamNoise::begin(&stream, 3).unwrap();
                for version in 1..=releases_max {
                    assert_eq!(noise.draws(), StreamNoise::draws_of(&stream, version), "{shape:?} {version}");
                    let scale = NoiseScale::new(1000.0).unwrap();
                    let drawn =
                        |draws| folkmoot_privacy::noise::NoiseStock::begin(3 * draws, scale, 1).take();
                    let added = noise.next(drawn(noise.draws()).unwrap(), 3).unwrap();
                    assert_eq!(added.len(), 3);
                    noise = StreamNoise::from_bytes(&noise.to_bytes()).unwrap();
                }
                let scale = NoiseScale::new(1.0).unwrap();
                let drawn = folkmoot_privacy::noise::NoiseStock::begin(30, scale, 1).take().unwrap();
                assert!(noise.next(drawn, 3).is_err(), "{shape:?}: the planned versions are over");
            }
        }
    }
}
