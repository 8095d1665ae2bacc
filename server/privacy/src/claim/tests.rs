use std::{num::NonZeroU64, path::Path};

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
    assert!(spent.assumptions.iter().any(|words| words.contains("does not depend on how it draws")));
    // There are fewer releases than participations.
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

/// The ledger's sum must equal the claim about the same releases.
#[test]
fn the_ledger_charges_what_is_claimed() {
    use crate::ledger::{Charge, Totals};
    let (delta, task) = (Delta::new(1e-5).unwrap(), folkmoot_protocol::TaskId::from_random_bytes([1; 16]));
    let charged = |noise_multiplier, participation, releases| {
        let mut totals = Totals::default();
        totals.add(task, Charge { noise_multiplier, participation }, releases);
        totals.spent(delta).unwrap()
    };
    let capped = Capped::from_enforced(&enforced(7, 0, EnforcedDraw::FromWaiting)).unwrap();
    for (releases, z) in [(1, 0.4), (5, 3.0), (1000, 8.0)] {
        let noise_multiplier = NoiseMultiplier::new(z, Relation::ZeroOut).unwrap();
        let claimed = Gaussian { noise_multiplier }.account(&capped, question(releases)).unwrap();
        let spent = charged(noise_multiplier, Gaussian::participation(&capped), releases);
        assert_eq!((spent.epsilon, spent.rho), (claimed.epsilon, claimed.rho));
        assert_eq!((spent.relation, spent.accountant), (claimed.relation, claimed.accountant.name()));
        // The ledger charges all updates that a client may send when the first one arrives, and never more than the
        // claim for all of them.
        let noise_multiplier = NoiseMultiplier::new(z, Relation::ReplaceOne).unwrap();
        let claimed = LocalGaussian { noise_multiplier }.account(&capped, question(1000)).unwrap();
        let spent = charged(noise_multiplier, LocalGaussian::participation(&capped), releases);
        assert_eq!(
            (spent.epsilon, spent.rho, spent.relation),
            (claimed.epsilon, claimed.rho, claimed.relation)
        );
    }
    // With sampling, the ledger keeps the Rényi curve, because it adds up with other releases. Its epsilon is never
    // below the claim's.
    let sampled = PoissonSampled::from_enforced(&enforced(0, 0, coins(0.01))).unwrap();
    let noise_multiplier = NoiseMultiplier::new(1.0, Relation::ZeroOut).unwrap();
    let claimed = Gaussian { noise_multiplier }.account(&sampled, question(1000)).unwrap();
    let spent = charged(noise_multiplier, Gaussian::participation(&sampled), 1000);
    assert!(spent.epsilon >= claimed.epsilon && spent.epsilon.get() < 1.2 * claimed.epsilon.get());
}

/// In this package and in those that use it, only [`Cost`] may convert releases to an epsilon.
#[test]
fn there_is_one_way_to_an_epsilon() {
    const ACCOUNTANTS: [&str; 3] = ["zcdp_epsilon(", "gaussian_epsilon(", "RdpCurve::"];
    let server =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package is a folder of the server");
    let above = ["api", "cli", "coordinator", "rounds", "service", "simulation", "storage", "task-file"];
    let mut folders: Vec<_> =
        above.iter().chain(&["privacy"]).map(|package| server.join(package).join("src")).collect();
    let mut looked_at = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let is_theirs = ["privacy/src/accountant", "privacy/src/claim"].map(|folder| server.join(folder));
            let is_test = path.file_name().is_some_and(|name| name == "tests.rs");
            if is_test || is_theirs.iter().any(|folder| path.starts_with(folder)) {
                continue;
            }
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
            for line in lines {
                let found = ACCOUNTANTS.iter().find(|name| line.contains(**name));
                assert!(found.is_none(), "{}: {line}", path.display());
            }
            looked_at += 1;
        }
    }
    assert!(looked_at > 100, "{looked_at} files");
}
