//! Computes a lower bound on epsilon for two kinds of releases together: releases that include a unit by a secret coin,
//! and releases that certainly include it.
//!
//! The bound quantises the observations. Of each release, the observer sees only the bin of its privacy loss, and of
//! all releases only the sum of the bins' numbers. Less information never raises epsilon, and the probabilities of the
//! sum are known exactly, with and without the unit. So the result is a lower bound. Its error is proportional to the
//! square of the bins' width. This module shares no code with `server/privacy`.

use super::gaussian::{self, largest, normal};

/// The number of bins for the release with the widest range of losses.
pub const BINS: usize = 96;
/// All outcomes beyond this number of standard deviations share one bin.
const REACH: f64 = 6.5;
/// At the ends of a distribution, bins are merged if their probability is below this number both with and without the
/// unit.
const RARE: f64 = 1e-14;

/// Releases that each include a unit with the same probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampled {
    /// The probability that a release includes the unit.
    pub rate: f64,
    /// The distance by which the unit shifts the sum, in standard deviations of the noise.
    pub shift: f64,
    /// The number of releases.
    pub releases: u64,
}

/// Returns a lower bound on epsilon at `delta`, for the releases `coins` and for releases that certainly include the
/// unit. The latter together shift the unit by `certain` standard deviations.
pub fn epsilon_below(coins: &[Sampled], certain: f64, delta: f64, bins: usize) -> f64 {
    let coins: Vec<Sampled> =
        coins.iter().copied().filter(|one| one.releases > 0 && one.shift > 0.0).collect();
    if coins.is_empty() {
        return gaussian::epsilon(certain, delta);
    }
    let rest = (certain > 0.0).then_some(Sampled { rate: 1.0, shift: certain, releases: 1 });
    let all: Vec<Sampled> = coins.into_iter().chain(rest).collect();
    let width = all.iter().map(|one| one.range() / bins as f64).fold(0.0, f64::max);
    let mut sum = Pair { inside: vec![1.0], outside: vec![1.0] };
    for one in all {
        sum = sum.with(&Pair::of(one, width).times(one.releases));
    }
    largest(|epsilon| sum.delta(epsilon) > delta)
}

impl Sampled {
    /// Returns the privacy loss of an outcome: the log ratio of its probabilities with and without the unit.
    fn loss(self, outcome: f64) -> f64 {
        let ratio = (self.shift * outcome - self.shift * self.shift / 2.0).exp();
        (1.0 - self.rate + self.rate * ratio).ln()
    }

    /// Returns the outcome with this privacy loss; `None` if the loss of every outcome is higher.
    fn outcome(self, loss: f64) -> Option<f64> {
        let ratio = (loss.exp() - 1.0 + self.rate) / self.rate;
        (ratio > 0.0).then(|| ratio.ln() / self.shift + self.shift / 2.0)
    }

    fn ends(self) -> (f64, f64) {
        (self.loss(-REACH), self.loss(self.shift + REACH))
    }

    fn range(self) -> f64 {
        self.ends().1 - self.ends().0
    }
}

/// The probabilities of the bins with the unit, and those without the unit.
struct Pair {
    inside: Vec<f64>,
    outside: Vec<f64>,
}

impl Pair {
    fn of(one: Sampled, width: f64) -> Self {
        let (low, high) = one.ends();
        let count = ((high - low) / width).ceil().max(1.0) as usize;
        let mut pair = Pair { inside: Vec::new(), outside: Vec::new() };
        let mut from = f64::NEG_INFINITY;
        for bin in 1..=count {
            let end = one.outcome(low + width * bin as f64).unwrap_or(f64::NEG_INFINITY);
            let to = if bin == count { f64::INFINITY } else { end };
            let (with, without) = (between(from - one.shift, to - one.shift), between(from, to));
            pair.inside.push((1.0 - one.rate) * without + one.rate * with);
            pair.outside.push(without);
            from = to;
        }
        pair
    }

    /// Composes two pairs, and merges the rare bins at the ends.
    fn with(&self, other: &Self) -> Self {
        let inside = convolved(&self.inside, &other.inside);
        let outside = convolved(&self.outside, &other.outside);
        Pair { inside, outside }.trimmed()
    }

    fn times(self, count: u64) -> Self {
        let (mut sum, mut power, mut left) = (Pair { inside: vec![1.0], outside: vec![1.0] }, self, count);
        loop {
            if left % 2 == 1 {
                sum = sum.with(&power);
            }
            left /= 2;
            if left == 0 {
                return sum;
            }
            power = power.with(&power);
        }
    }

    fn trimmed(mut self) -> Self {
        for _ in 0..2 {
            while self.inside.len() > 1 {
                let (inside, outside) =
                    (self.inside[self.inside.len() - 1], self.outside[self.outside.len() - 1]);
                if inside > RARE || outside > RARE {
                    break;
                }
                self.inside.pop();
                self.outside.pop();
                *self.inside.last_mut().expect("there were two") += inside;
                *self.outside.last_mut().expect("there were two") += outside;
            }
            self.inside.reverse();
            self.outside.reverse();
        }
        self
    }

    /// Returns delta at `epsilon`, which is the larger delta of the two directions.
    fn delta(&self, epsilon: f64) -> f64 {
        let factor = epsilon.exp();
        let of = |more: &[f64], less: &[f64]| -> f64 {
            more.iter().zip(less).map(|(more, less)| (more - factor * less).max(0.0)).sum()
        };
        of(&self.inside, &self.outside).max(of(&self.outside, &self.inside))
    }
}

/// Returns the probability of an interval under the standard normal distribution. It is also accurate in the upper
/// tail.
fn between(from: f64, to: f64) -> f64 {
    if from > 0.0 { normal(-from) - normal(-to) } else { normal(to) - normal(from) }
}

fn convolved(one: &[f64], other: &[f64]) -> Vec<f64> {
    let mut sum = vec![0.0; one.len() + other.len() - 1];
    for (index, first) in one.iter().enumerate() {
        for (place, second) in sum[index..].iter_mut().zip(other) {
            *place += first * second;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Published values (rate, noise multiplier, releases, delta, epsilon) from the privacy loss distribution in
    /// dp-accounting 0.6.0. prv_accountant 0.2.0 confirms them to 1 %.
    const PUBLISHED: [(f64, f64, u64, f64, f64); 4] = [
        (0.02, 0.7, 10, 1e-5, 2.359_900_110_455_997),
        (0.02, 0.7, 10, 1e-7, 3.799_920_598_811_339),
        (0.2, 1.1, 10, 1e-5, 4.215_611_700_812_306),
        (0.1, 1.0, 100, 1e-5, 7.047),
    ];

    fn found(index: usize, bins: usize) -> f64 {
        let (rate, multiplier, releases, delta, _) = PUBLISHED[index];
        let coins = [Sampled { rate, shift: 1.0 / multiplier, releases }];
        epsilon_below(&coins, 0.0, delta, bins)
    }

    #[test]
    fn it_is_just_below_the_published_epsilon() {
        for (index, (.., published)) in PUBLISHED.into_iter().enumerate() {
            let found = found(index, 600);
            assert!(found < published * 1.0002 && found > published * 0.99, "{index}: {found}, {published}");
        }
    }

    #[test]
    fn few_bins_are_a_bound_that_is_lower() {
        for (index, (.., published)) in PUBLISHED.into_iter().enumerate().take(3) {
            let few = found(index, BINS);
            assert!(few < published * 1.0002 && few > published * 0.9, "{index}: {few}, {published}");
        }
    }

    #[test]
    fn a_coin_that_is_certain_is_a_gaussian() {
        let certain = [Sampled { rate: 1.0, shift: 0.5, releases: 4 }];
        let (exact, found) =
            (gaussian::epsilon(1.25f64.sqrt(), 1e-5), epsilon_below(&certain, 0.5, 1e-5, 600));
        assert!(found < exact && found > exact * 0.999, "{found}, {exact}");
        assert_eq!(epsilon_below(&[], 0.5, 1e-5, BINS), gaussian::epsilon(0.5, 1e-5));
    }
}
