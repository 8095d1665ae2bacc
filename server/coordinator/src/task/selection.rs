use folkmoot_protocol::ClientId;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

/// Which of the eligible clients take part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum SelectionChoice {
    /// A uniform draw without replacement from the clients that wait. It claims no privacy amplification:
    /// who waits is not random.
    #[default]
    Uniform,
}

impl SelectionChoice {
    /// Draws `count` of the waiting clients, or all when there are fewer.
    ///
    /// The order of `waiting` matters for which are drawn, so a caller that wants the same draw for the same
    /// seed brings the same order.
    pub fn draw(self, mut waiting: Vec<ClientId>, count: usize, rng: &mut impl Rng) -> Vec<ClientId> {
        let count = count.min(waiting.len());
        // The first steps of a Fisher-Yates shuffle: every subset of `count` is as likely as any other.
        for index in 0..count {
            let other = rng.random_range(index..waiting.len());
            waiting.swap(index, other);
        }
        waiting.truncate(count);
        waiting
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn every_client_is_drawn_about_equally_often() {
        let clients: Vec<ClientId> = (0..10).map(|i| ClientId::from_random_bytes([i; 16])).collect();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut drawn = [0u32; 10];
        for _ in 0..10_000 {
            let cohort = SelectionChoice::Uniform.draw(clients.clone(), 3, &mut rng);
            assert_eq!(cohort.len(), 3);
            for client in cohort {
                drawn[clients.iter().position(|c| *c == client).unwrap()] += 1;
            }
        }
        // Binomial(10000, 0.3) has a standard deviation of 46; five of them miss once in two million.
        assert!(drawn.iter().all(|count| count.abs_diff(3000) < 230), "{drawn:?}");
    }
}
