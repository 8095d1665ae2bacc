use std::collections::BTreeMap;

/// The bytes of a client's id.
type Client = [u8; 16];

/// The length of the encoding of a client and its weight.
const ENTRY_BYTES: usize = size_of::<Client>() + size_of::<f64>();
/// The length of the encoding of the clients that are not known yet.
const HEAD_BYTES: usize = size_of::<u64>() + size_of::<f64>();

/// A point on the simplex: a weight for each client of a population. Clients without an update so far have one weight in common.
#[derive(Clone, Debug, PartialEq)]
pub struct MixtureWeights {
    unknown: u64,
    of_unknown: f64,
    of_known: BTreeMap<Client, f64>,
}

impl MixtureWeights {
    /// Creates the weights of `clients` clients, all of which have the same weight.
    pub fn uniform(clients: u64) -> Self {
        Self { unknown: clients, of_unknown: 1.0 / clients as f64, of_known: BTreeMap::new() }
    }

    /// Returns the weight of a client, which is known from now on. It is 0 if all clients of the population were known before.
    pub fn of(&mut self, client: Client) -> f64 {
        match self.of_known.get(&client) {
            Some(weight) => *weight,
            None if self.unknown > 0 => {
                self.unknown -= 1;
                self.of_known.insert(client, self.of_unknown);
                self.of_unknown
            }
            None => 0.0,
        }
    }

    /// Raises the weights of known clients by `rate` times their losses, and projects all weights on the simplex.
    pub fn ascend(&mut self, rate: f64, losses: impl Iterator<Item = (Client, f64)>) {
        for (client, loss) in losses {
            if let Some(weight) = self.of_known.get_mut(&client) {
                *weight += rate * loss;
            }
        }
        let shift = self.shift();
        self.of_known.values_mut().for_each(|weight| *weight = (*weight - shift).max(0.0));
        self.of_unknown = (self.of_unknown - shift).max(0.0);
    }

    /// Returns θ for the Euclidean projection on the simplex, max(w − θ, 0) (Duchi et al. 2008, "Efficient projections onto the
    /// ℓ1-ball for learning in high dimensions", figure 1).
    fn shift(&self) -> f64 {
        let known = self.of_known.values().map(|weight| (*weight, 1));
        let unknown = (self.unknown > 0).then_some((self.of_unknown, self.unknown));
        let mut sorted: Vec<(f64, u64)> = known.chain(unknown).collect();
        sorted.sort_by(|one, other| other.0.total_cmp(&one.0));
        let (mut sum, mut count, mut shift) = (0.0, 0.0, 0.0);
        for (weight, number) in sorted {
            sum += weight * number as f64;
            count += number as f64;
            let next = (sum - 1.0) / count;
            if weight > next {
                shift = next;
            }
        }
        shift
    }

    /// Encodes the weights: the number and the weight of the unknown clients, then each known client and its weight, little-endian.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + ENTRY_BYTES * self.of_known.len());
        bytes.extend(self.unknown.to_le_bytes());
        bytes.extend(self.of_unknown.to_le_bytes());
        for (client, weight) in &self.of_known {
            bytes.extend(client);
            bytes.extend(weight.to_le_bytes());
        }
        bytes
    }

    /// Decodes weights. Returns `None` if the bytes are not such an encoding.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (unknown, rest) = bytes.split_first_chunk::<8>()?;
        let (of_unknown, rest) = rest.split_first_chunk::<8>()?;
        let entries = rest.chunks_exact(ENTRY_BYTES);
        if !entries.remainder().is_empty() {
            return None;
        }
        let of_known = entries.map(|entry| {
            let (client, weight) = entry.split_first_chunk::<16>()?;
            Some((*client, f64::from_le_bytes(weight.try_into().ok()?)))
        });
        Some(Self {
            unknown: u64::from_le_bytes(*unknown),
            of_unknown: f64::from_le_bytes(*of_unknown),
            of_known: of_known.collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(number: u8) -> Client {
        [number; 16]
    }

    /// By hand: (0.3, 0.7, 0.2, 0.2, 0.2) is shifted by 0.12, and (0.18, 1.03, 0.13, 0.08, 0.08) by 0.34 / 3, which leaves the last two at 0.
    #[test]
    fn weights_climb_with_their_losses_and_stay_on_the_simplex() {
        let mut weights = MixtureWeights::uniform(5);
        assert_eq!([1, 2].map(|number| weights.of(client(number))), [0.2; 2]);
        weights.ascend(0.5, [(client(1), 0.2), (client(2), 1.0)].into_iter());
        let near =
            |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found}, {expected}");
        near(weights.of(client(1)), 0.18);
        near(weights.of(client(2)), 0.58);
        near(weights.of(client(3)), 0.08);
        weights.ascend(0.5, [(client(2), 0.9), (client(3), 0.1)].into_iter());
        for (number, expected) in [(1, 0.2 / 3.0), (2, 2.75 / 3.0), (3, 0.05 / 3.0)] {
            near(weights.of(client(number)), expected);
        }
        near(weights.of_unknown, 0.0);
        assert_eq!(weights.unknown, 2);
    }

    #[test]
    fn a_client_too_many_counts_for_nothing() {
        let mut weights = MixtureWeights::uniform(2);
        assert_eq!([1, 2, 3].map(|number| weights.of(client(number))), [0.5, 0.5, 0.0]);
        weights.ascend(1.0, [(client(3), 9.0)].into_iter());
        assert_eq!([1, 2, 3].map(|number| weights.of(client(number))), [0.5, 0.5, 0.0]);
    }

    #[test]
    fn weights_come_back_as_they_were() {
        let mut weights = MixtureWeights::uniform(4);
        weights.of(client(9));
        weights.of(client(3));
        weights.ascend(0.3, [(client(9), 0.7)].into_iter());
        let bytes = weights.to_bytes();
        assert_eq!(MixtureWeights::from_bytes(&bytes), Some(weights));
        for cut in [0, 7, 15, bytes.len() - 1] {
            assert_eq!(MixtureWeights::from_bytes(&bytes[..cut]), None, "{cut}");
        }
    }
}
