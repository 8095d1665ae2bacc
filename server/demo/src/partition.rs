//! Splits labelled examples over clients, evenly or not.

use std::collections::BTreeMap;

use folkmoot_simulation::chance::dirichlet;
use rand::{Rng, RngExt};

/// Splits the examples `indices` over `clients`, label by label, in shares drawn from a Dirichlet distribution.
///
/// `alpha` is the concentration of this distribution: 100 gives every client about the same mix, 0.1 leaves most
/// clients with few labels and some with few examples (Yurochkin et al. 2019, "Bayesian nonparametric federated
/// learning of neural networks", section 4). `labels[i]` is the label of example `i`. Every index goes to one client. A
/// client that would get no example takes one from the client with the most examples.
///
/// The caller has checked that `clients` is at least 1 and at most the number of indices.
pub fn partition(
    indices: &[usize],
    labels: &[u32],
    clients: usize,
    alpha: f64,
    rng: &mut impl Rng,
) -> Vec<Vec<usize>> {
    let mut by_label: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for &index in indices {
        by_label.entry(labels[index]).or_default().push(index);
    }
    let mut parts = vec![Vec::new(); clients];
    for examples in by_label.values_mut() {
        shuffle(examples, rng);
        let shares = dirichlet(clients, alpha, rng);
        let mut rest = &examples[..];
        let mut dealt_share = 0.0;
        let mut dealt = 0;
        for (part, share) in parts.iter_mut().zip(shares) {
            dealt_share += share;
            let end = (dealt_share * examples.len() as f64).round() as usize;
            let (now, later) = rest.split_at((end.saturating_sub(dealt)).min(rest.len()));
            part.extend_from_slice(now);
            dealt += now.len();
            rest = later;
        }
        // The shares may not add up to exactly 1, so the last part gets the remaining examples.
        parts.iter_mut().last().into_iter().for_each(|part| part.extend_from_slice(rest));
    }
    fill_empty(&mut parts);
    parts
}

/// Shuffles in place (Fisher and Yates).
pub fn shuffle(items: &mut [usize], rng: &mut impl Rng) {
    for last in (1..items.len()).rev() {
        items.swap(last, rng.random_range(0..=last));
    }
}

/// Gives every client without examples one example of the client with the most examples.
fn fill_empty(parts: &mut [Vec<usize>]) {
    for empty in 0..parts.len() {
        if parts[empty].is_empty() {
            let largest = (0..parts.len()).max_by_key(|&part| parts[part].len()).unwrap_or(empty);
            let given = parts[largest].pop();
            parts[empty].extend(given);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;

    fn parts(examples: usize, clients: usize, alpha: f64, seed: u64) -> (Vec<u32>, Vec<Vec<usize>>) {
        let labels: Vec<u32> = (0..examples as u32).map(|index| index % 10).collect();
        let indices: Vec<usize> = (0..examples).collect();
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let parts = partition(&indices, &labels, clients, alpha, &mut rng);
        (labels, parts)
    }

    /// Returns the share of each client's most frequent label, averaged over the clients.
    fn skew(alpha: f64) -> f64 {
        let (labels, parts) = parts(2000, 20, alpha, 1);
        let top_share = |part: &Vec<usize>| {
            let count = |label| part.iter().filter(|&&index| labels[index] == label).count();
            (0..10).map(count).max().unwrap() as f64 / part.len() as f64
        };
        parts.iter().map(top_share).sum::<f64>() / parts.len() as f64
    }

    proptest! {
        #[test]
        fn it_is_a_partition_without_empty_parts(
            examples in 1usize..400, share in 0.0f64..1.0, log_alpha in -4.0f64..4.0, seed: u64,
        ) {
            let clients = 1 + (share * (examples - 1) as f64) as usize;
            let (_, parts) = parts(examples, clients, log_alpha.exp(), seed);
            prop_assert_eq!(parts.len(), clients);
            prop_assert!(parts.iter().all(|part| !part.is_empty()));
            let mut all = parts.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..examples).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_seed_gives_one_split() {
        assert_eq!(parts(500, 20, 0.5, 7), parts(500, 20, 0.5, 7));
        assert_ne!(parts(500, 20, 0.5, 7), parts(500, 20, 0.5, 8));
    }

    #[test]
    fn a_low_alpha_is_skewed_and_a_high_one_even() {
        assert!(skew(0.05) > 0.6, "{}", skew(0.05));
        assert!(skew(1000.0) < 0.15, "{}", skew(1000.0));
        let (_, parts) = parts(2000, 20, 1000.0, 1);
        assert!(parts.iter().all(|part| part.len().abs_diff(100) < 20));
    }

    #[test]
    fn an_absurd_alpha_still_deals_everything_out() {
        for alpha in [1e-9, 1e12] {
            assert_eq!(parts(100, 30, alpha, 1).1.concat().len(), 100);
        }
    }
}
