use std::collections::BTreeSet;

use folkmoot_protocol::secure::{SecureTerms, Threat};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::world::{DropOuts, World, terms};
use crate::{Parameters, RecoverError, Refusal};

/// Splits members that drop out over the steps.
fn drop_outs(gone: &[u32], split: (usize, usize)) -> DropOuts {
    let (first, second) = (split.0.min(gone.len()), (split.0 + split.1).min(gone.len()));
    DropOuts {
        after_keys: gone[..first].iter().copied().collect(),
        after_shares: gone[first..second].iter().copied().collect(),
        after_upload: gone[second..].iter().copied().collect(),
    }
}

fn check(count: usize, length: usize, terms: SecureTerms, drop_outs: &DropOuts, seed: u64) {
    let world = World::new(count, length, terms, drop_outs, seed);
    let survivors: Vec<u32> = world.masking.keys().copied().collect();
    let sum = world.unmask(&survivors, &drop_outs.after_upload).unwrap().unwrap();
    assert_eq!(sum, world.plain_sum(&survivors));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn the_unmasked_sum_is_the_plain_sum_for_any_drop_outs_that_the_terms_assume(
        count in 5usize..40, length in 0usize..60, seed in any::<u64>(), malicious in any::<bool>(),
        split in (0usize..4, 0usize..4), order in Just(()).prop_perturb(|(), mut rng| rng.random::<u64>())
    ) {
        // Against a malicious coordinator, fewer than ten members cannot lose a fifth of them.
        let is_malicious = malicious && count >= 10;
        let terms = terms(if is_malicious { Threat::Malicious } else { Threat::HonestButCurious });
        // At most a fifth of the members drops out, as the terms assume. Any members may be among them.
        let gone: BTreeSet<u32> =
            (0..count as u64 / 5).map(|step| ((order.wrapping_mul(2 * step + 1) >> 20) % count as u64) as u32).collect();
        let gone: Vec<u32> = gone.into_iter().collect();
        check(count, length, terms, &drop_outs(&gone, split), seed);
    }
}

#[test]
fn the_sum_of_many_is_the_plain_sum_over_a_sparse_graph() {
    for (count, threat) in [(120, Threat::HonestButCurious), (150, Threat::Malicious)] {
        let terms = SecureTerms { corrupt_share: 0.05, dropout_share: 0.05, ..terms(threat) };
        let Parameters { degree, .. } = Parameters::of(&terms, count as u64).unwrap();
        assert!((degree as usize) < count - 1, "sparse: {degree}");
        check(count, 20, terms, &drop_outs(&[3, 40, 77, 78, 99], (1, 2)), 5);
    }
}

/// The largest cohort that the terms allow, and sizes between, each with drop-outs at every step.
#[test]
fn the_sum_of_any_cohort_up_to_a_thousand_is_the_plain_sum() {
    for (count, seed) in [(5, 1), (61, 2), (257, 3), (1000, 4)] {
        let terms =
            SecureTerms { corrupt_share: 0.01, dropout_share: 0.05, ..terms(Threat::HonestButCurious) };
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        // At most a twentieth drops out, as the terms assume.
        let gone: BTreeSet<u32> = (0..count / 20).map(|_| rng.random_range(0..count as u32)).collect();
        let gone: Vec<u32> = gone.into_iter().collect();
        check(count, 9, terms, &drop_outs(&gone, (gone.len() / 3, gone.len() / 3)), seed);
    }
}

#[test]
fn every_length_of_a_tile_and_its_edges_adds_up() {
    for length in [1, 7, 8, 9, 2047, 2048, 2049, 16_384, 16_385, 40_000] {
        check(5, length, terms(Threat::HonestButCurious), &drop_outs(&[2], (0, 1)), 8);
    }
}

#[test]
fn the_threshold_suffices_and_one_drop_out_more_reveals_nothing() {
    // Nine neighbours, of whom five recover a secret.
    let terms = terms(Threat::HonestButCurious);
    assert_eq!(Parameters::of(&terms, 10), Ok(Parameters { degree: 9, threshold: 5 }));
    let world = World::new(10, 30, terms, &DropOuts::default(), 3);
    let survivors: Vec<u32> = (0..10).collect();
    // Of each survivor, five others open the share: six members, because nobody holds a share of its own secret.
    let plain = world.plain_sum(&survivors);
    let gone = |count: u32| (0..count).collect::<BTreeSet<u32>>();
    assert_eq!(world.unmask(&survivors, &gone(4)), Ok(Ok(plain.clone())));
    let too_few = Err(RecoverError::TooFewShares { owner: 5, found: 4, least: 5 });
    assert_eq!(world.unmask(&survivors, &gone(5)), Ok(too_few));
    let (masked, _) = world.masked_sum(&survivors);
    let lifted: Vec<i64> = masked.iter().map(|sum| world.ring.lift(world.ring.reduce(*sum))).collect();
    assert!(lifted.iter().zip(&plain.0).all(|(masked, plain)| masked != plain), "the sum stays masked");
}

#[test]
fn a_sum_of_too_few_is_not_opened() {
    let terms = SecureTerms { cohort_min: 8, ..terms(Threat::HonestButCurious) };
    let world = World::new(10, 4, terms, &drop_outs(&[0, 1, 2], (0, 3)), 3);
    let survivors: Vec<u32> = (3..10).collect();
    let refused = Err(Refusal::CohortTooSmall { found: 7, least: 8 });
    assert_eq!(world.unmask(&survivors, &BTreeSet::new()), refused);
}
