use std::num::NonZeroU64;

use super::*;
use crate::{Delta, NoiseMultiplier, Relation, SamplingRate, Unit, accountant::BufferedToeplitz};

fn enforced(participations: u64, separation: u64, draw: EnforcedDraw) -> EnforcedParticipation {
    let [participations_max, separation_rounds] = [participations, separation].map(NonZeroU64::new);
    EnforcedParticipation { participations_max, separation_rounds, draw }
}

fn sampling(participations: u64, separation: u64, draw: EnforcedDraw) -> Sampling {
    Sampling::from_enforced(&enforced(participations, separation, draw)).unwrap()
}

fn gaussian(multiplier: f64, relation: Relation) -> Mechanism {
    Mechanism::Gaussian(Gaussian { noise_multiplier: NoiseMultiplier::new(multiplier, relation).unwrap() })
}

fn question(releases: u64) -> Question {
    Question { releases, delta: Delta::new(1e-5).unwrap(), unit: Unit::Client }
}

fn coins(rate: f64) -> EnforcedDraw {
    EnforcedDraw::IndependentCoins { rate: SamplingRate::new(rate).unwrap() }
}

fn without_replacement(population: u64, cohort: u64) -> EnforcedDraw {
    let [population, cohort] = [population, cohort].map(|count| NonZeroU64::new(count).unwrap());
    EnforcedDraw::WithoutReplacement { population, cohort }
}

#[test]
fn the_default_claim_is_not_amplified() {
    let ten = sampling(10, 0, EnforcedDraw::FromWaiting);
    let spent = account(&gaussian(5.0, Relation::ZeroOut), &ten, question(1000)).unwrap();
    assert_eq!((spent.participations, spent.rho.unwrap().get()), (10, 0.2));
    assert_eq!((spent.relation, spent.accountant), (Relation::ZeroOut, Accountant::Zcdp));
    assert_eq!(spent.epsilon, spent.without_amplification.epsilon);
    assert!(spent.assumptions.iter().any(|words| words.contains("how it draws is not relied on")));
    // Fewer releases than participations.
    let spent = account(&gaussian(5.0, Relation::ZeroOut), &ten, question(3)).unwrap();
    assert_eq!(spent.participations, 3);
}

#[test]
fn what_is_not_enforced_cannot_be_claimed() {
    let nothing = enforced(0, 0, EnforcedDraw::FromWaiting);
    let error = Sampling::from_enforced(&nothing).unwrap_err();
    assert!(error.to_string().contains("limit the participations"), "{error}");
    assert!(PoissonSampled::from_enforced(&enforced(5, 5, EnforcedDraw::FromWaiting)).is_err());
    assert!(FixedSize::from_enforced(&enforced(5, 5, coins(0.1))).is_err());
    assert!(Separated::from_enforced(&enforced(5, 0, coins(0.1))).is_err());
}

#[test]
fn the_ways_of_sampling_differ_as_the_references_say() {
    // Noise of one clipping norm, 1 % cohorts, 1,000 rounds, delta 1e-5.
    let by_coins = sampling(0, 0, coins(0.01));
    let spent = account(&gaussian(1.0, Relation::AddOrRemove), &by_coins, question(1000)).unwrap();
    assert!((spent.epsilon.get() - 1.828).abs() < 0.01 && spent.accountant == Accountant::Pld);
    assert!(spent.without_amplification.epsilon.get() > 500.0);
    let replaced = account(&gaussian(0.5, Relation::ReplaceOne), &by_coins, question(1000)).unwrap();
    assert!((replaced.epsilon.get() - 2.84).abs() < 0.02, "{}", replaced.epsilon);
    let fixed = sampling(0, 0, without_replacement(100_000, 1000));
    let spent = account(&gaussian(1.0, Relation::ZeroOut), &fixed, question(1000)).unwrap();
    assert!((spent.epsilon.get() - 20.99).abs() < 0.1, "{}", spent.epsilon);
    assert_eq!((spent.relation, spent.accountant), (Relation::ReplaceOne, Accountant::Rdp));
}

#[test]
fn an_amplified_claim_is_never_worse_than_the_plain_one() {
    for (rate, releases) in [(1.0, 1), (0.9, 10), (1e-9, 1_000_000)] {
        let spent =
            account(&gaussian(0.05, Relation::ZeroOut), &sampling(2, 0, coins(rate)), question(releases));
        let spent = spent.unwrap();
        assert!(spent.epsilon <= spent.without_amplification.epsilon, "{rate} {releases}");
    }
}

#[test]
fn a_pair_without_a_proof_names_both_and_the_remedy() {
    let noise_multiplier = NoiseMultiplier::new(3.0, Relation::ZeroOut).unwrap();
    let tree = Mechanism::Tree(Tree { noise_multiplier, leaves_per_tree: 31 });
    let error = account(&tree, &sampling(1, 0, coins(0.1)), question(31)).unwrap_err();
    let message = error.to_string();
    assert!(
        message.starts_with("tree aggregation cannot be accounted with Poisson sampling: draw"),
        "{message}"
    );
    let spent = account(&tree, &sampling(1, 31, EnforcedDraw::FromWaiting), question(31)).unwrap();
    assert!((spent.rho.unwrap().get() - 5.0 / 18.0).abs() < 1e-12);
    // Without a separation the same client may be in neighbouring rounds.
    let spent = account(&tree, &sampling(2, 0, EnforcedDraw::FromWaiting), question(31)).unwrap();
    assert!((spent.rho.unwrap().get() - (2.0 + 4.0 * 4.0) / 18.0).abs() < 1e-12);
}

#[test]
fn a_factorisation_is_claimed_only_for_what_it_was_planned() {
    let noise_multiplier = NoiseMultiplier::new(2.0, Relation::ZeroOut).unwrap();
    let matrix = BufferedToeplitz::new(vec![0.9], vec![0.3]).unwrap();
    let planned = PlannedRounds { rounds: 300, participations_max: 4, separation: 60 };
    let blt = Mechanism::Blt(Blt { noise_multiplier, matrix, planned });
    let spent = account(&blt, &sampling(4, 60, EnforcedDraw::FromWaiting), question(300)).unwrap();
    assert_eq!(spent.rho.unwrap().get(), 0.125);
    for (participations, separation, releases) in [(4, 59, 300), (5, 60, 300), (4, 60, 301)] {
        let sampling = sampling(participations, separation, EnforcedDraw::FromWaiting);
        assert!(
            account(&blt, &sampling, question(releases)).is_err(),
            "{participations} {separation} {releases}"
        );
    }
    assert!(account(&blt, &sampling(4, 0, EnforcedDraw::FromWaiting), question(300)).is_err());
}

#[test]
fn local_noise_trusts_nobody() {
    let noise_multiplier = NoiseMultiplier::new(1.0, Relation::ReplaceOne).unwrap();
    let local = Mechanism::LocalGaussian(LocalGaussian { noise_multiplier });
    let spent = account(&local, &sampling(2, 0, EnforcedDraw::FromWaiting), question(9)).unwrap();
    assert_eq!((spent.rho.unwrap().get(), spent.relation), (1.0, Relation::ReplaceOne));
    assert!(account(&local, &sampling(0, 0, coins(0.5)), question(9)).is_err());
}
