//! Tails of the hypergeometric distribution, in logarithms to base 2.

/// The logarithms of the factorials up to a number, to base 2.
pub struct LogFactorials(Vec<f64>);

impl LogFactorials {
    pub fn new(largest: u64) -> Self {
        let mut sum = 0.0;
        let mut logs = vec![0.0];
        logs.extend((1..=largest).map(|factor| {
            sum += (factor as f64).log2();
            sum
        }));
        Self(logs)
    }

    fn choose(&self, from: u64, count: u64) -> f64 {
        self.0[from as usize] - self.0[count as usize] - self.0[(from - count) as usize]
    }

    /// Returns the logarithm of the probability that exactly `hits` of `draws` drawn without replacement are among the
    /// `marked` of `total`.
    fn exactly(&self, Urn { total, marked, draws }: Urn, hits: u64) -> f64 {
        if hits > marked || hits > draws || draws - hits > total - marked {
            return f64::NEG_INFINITY;
        }
        self.choose(marked, hits) + self.choose(total - marked, draws - hits) - self.choose(total, draws)
    }

    /// Returns the logarithm of the probability of at least `hits`.
    pub fn at_least(&self, urn: Urn, hits: u64) -> f64 {
        log_sum((hits..=urn.draws).map(|hits| self.exactly(urn, hits)))
    }

    /// Returns the logarithm of the probability of at most `hits`.
    pub fn at_most(&self, urn: Urn, hits: u64) -> f64 {
        log_sum((0..=hits.min(urn.draws)).map(|hits| self.exactly(urn, hits)))
    }
}

/// Draws without replacement.
#[derive(Clone, Copy, Debug)]
pub struct Urn {
    /// The number of balls in the urn.
    pub total: u64,
    /// The number of balls that count as hits.
    pub marked: u64,
    /// The number of draws.
    pub draws: u64,
}

fn log_sum(logs: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = logs.clone().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return largest;
    }
    largest + logs.map(|log| (log - largest).exp2()).sum::<f64>().log2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tails_of_a_small_urn_are_its_fractions() {
        // 10 balls, 4 marked, 3 drawn: P(hits = 0, 1, 2, 3) = 20, 60, 36, 4 of 120.
        let urn = Urn { total: 10, marked: 4, draws: 3 };
        let logs = LogFactorials::new(10);
        for (hits, above, below) in [(0, 120.0, 20.0), (1, 100.0, 80.0), (2, 40.0, 116.0), (3, 4.0, 120.0)] {
            assert!((logs.at_least(urn, hits).exp2() - above / 120.0).abs() < 1e-12);
            assert!((logs.at_most(urn, hits).exp2() - below / 120.0).abs() < 1e-12);
        }
        assert_eq!(logs.at_least(Urn { marked: 2, ..urn }, 3), f64::NEG_INFINITY);
    }
}
