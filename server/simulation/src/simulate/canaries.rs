use folkmoot_protocol::ValueGrid;
use rand::Rng;

use crate::chance::Stream;

/// The canary clients of an audit. Each has a separate direction, which shares no coordinate with that of any other
/// canary. In every round it sends an update of the clipping norm in that direction or zeros, depending on its coin.
///
/// The first `keeping` clients keep to the norm. The others skip the clipping that honest software does, and send an
/// update `LENGTH` times as long. The coordinator must reject it.
#[derive(Clone, Debug)]
pub struct Canaries {
    keeping: usize,
    is_in: Vec<bool>,
    signs: u64,
}

/// The length of updates that exceed the norm, in clipping norms.
const LENGTH: f64 = 4.0;

impl Canaries {
    /// Draws the coins of `keeping` clients that keep to the norm and of `longer` clients that exceed it. The code that
    /// computes the scores must not see the state of `chance`.
    pub fn draw(keeping: usize, longer: usize, chance: &mut impl Rng) -> Self {
        let is_in = (0..keeping + longer).map(|_| chance.next_u64() & 1 == 1).collect();
        Self { keeping, is_in, signs: chance.next_u64() }
    }

    /// Returns the number of clients.
    pub fn len(&self) -> usize {
        self.is_in.len()
    }

    /// Returns whether there are no canaries.
    pub fn is_empty(&self) -> bool {
        self.is_in.is_empty()
    }

    /// Returns whether a client keeps to the norm.
    pub fn keeps(&self, client: usize) -> bool {
        client < self.keeping
    }

    /// Returns whether the coin of a client decided that it takes part.
    pub fn is_in(&self, client: usize) -> bool {
        self.is_in[client]
    }

    /// Builds the update of a client. `norm_steps` is the clipping norm, in steps of the grid.
    pub fn update(
        &self,
        client: usize,
        norm_steps: u64,
        grid: &ValueGrid,
        parameter_count: usize,
    ) -> Vec<f32> {
        let mut delta = vec![0.0; parameter_count];
        if self.is_in(client) {
            let length = if self.keeps(client) { 1.0 } else { LENGTH };
            let norm = length * norm_steps as f64 / f64::from(grid.fraction_bits).exp2();
            for (index, value) in self.direction(client, parameter_count) {
                delta[index] = (norm * value) as f32;
            }
        }
        delta
    }

    /// Returns the inner product of a sum of updates and a client's direction.
    pub fn score(&self, client: usize, sum: &[f64]) -> f64 {
        self.direction(client, sum.len()).map(|(index, value)| sum[index] * value).sum()
    }

    /// Returns the nonzero elements of a client's direction: every n-th element for n clients. The direction has the
    /// length 1.
    fn direction(&self, client: usize, parameter_count: usize) -> impl Iterator<Item = (usize, f64)> {
        let count = (parameter_count + self.len() - 1 - client) / self.len();
        let length = 1.0 / (count as f64).sqrt();
        let mut signs = Stream::new(self.signs, &[client as u64]);
        let indices = (client..parameter_count).step_by(self.len());
        indices.map(move |index| (index, if signs.next_u64() & 1 == 1 { length } else { -length }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_are_of_length_one_and_have_nothing_in_common() {
        let canaries = Canaries::draw(7, 3, &mut Stream::new(1, &[2]));
        let grid = ValueGrid::default();
        let mut sum = vec![0.0; 95];
        for client in 0..10 {
            let update = canaries.update(client, 1 << grid.fraction_bits, &grid, 95);
            let norm = update.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
            let expected = match (canaries.is_in(client), canaries.keeps(client)) {
                (false, _) => 0.0,
                (true, true) => 1.0,
                (true, false) => LENGTH,
            };
            assert!((norm - expected).abs() < 1e-6, "{client}: {norm}");
            for (sum, value) in sum.iter_mut().zip(&update) {
                *sum += f64::from(*value);
            }
        }
        for client in 0..10 {
            let own = canaries.update(client, 1 << grid.fraction_bits, &grid, 95);
            let norm = own.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
            assert!((canaries.score(client, &sum) - norm).abs() < 1e-6);
        }
    }
}
