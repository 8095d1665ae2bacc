/// The spread of a metric among clients, which says how evenly a model serves them. Every client counts the same, however many examples it has.
///
/// These are the figures of Li, Sanjabi, Beirami and Smith 2020, "Fair resource allocation in federated learning", table 1. The paper
/// shows the variance instead of the deviation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fairness {
    /// The mean of the clients' values.
    pub mean: f64,
    /// The standard deviation of the clients' values. It divides by their number, because they are not a sample.
    pub deviation: f64,
    /// The mean over the tenth of the clients with the worst values, rounded up to whole clients.
    pub worst_tenth: f64,
    /// The mean over the tenth of the clients with the best values, rounded up to whole clients.
    pub best_tenth: f64,
}

impl Fairness {
    /// Computes the figures from one value for each client; `None` without values.
    pub fn of(values: &[f64], is_larger_better: bool) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        if !is_larger_better {
            sorted.reverse();
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let tail = sorted.len().div_ceil(10);
        let whole = mean(&sorted);
        let squares: f64 = sorted.iter().map(|value| (value - whole).powi(2)).sum();
        Some(Self {
            mean: whole,
            deviation: (squares / sorted.len() as f64).sqrt(),
            worst_tenth: mean(&sorted[..tail]),
            best_tenth: mean(&sorted[sorted.len() - tail..]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// numpy gives the deviation: `numpy.std(values)`. The worst tenth of 11 clients are two clients.
    #[test]
    fn the_tails_are_the_worst_and_the_best_clients() {
        let values = [0.9, 0.1, 0.5, 0.7, 0.8, 0.3, 0.6, 0.2, 0.95, 0.4, 0.85];
        let fairness = Fairness::of(&values, true).unwrap();
        let is_near = |one: f64, other: f64| (one - other).abs() < 1e-12;
        assert!(is_near(fairness.mean, 6.3 / 11.0) && is_near(fairness.deviation, 0.2807163210299002));
        assert!(is_near(fairness.worst_tenth, 0.15) && is_near(fairness.best_tenth, 0.925), "{fairness:?}");
        let losses = Fairness::of(&values, false).unwrap();
        assert_eq!((losses.worst_tenth, losses.best_tenth), (fairness.best_tenth, fairness.worst_tenth));
    }

    #[test]
    fn one_client_is_the_worst_and_the_best() {
        let one = Fairness { mean: 0.5, deviation: 0.0, worst_tenth: 0.5, best_tenth: 0.5 };
        assert_eq!(Fairness::of(&[0.5], true), Some(one));
        assert_eq!(Fairness::of(&[], true), None);
    }
}
