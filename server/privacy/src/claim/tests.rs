use std::{num::NonZeroU64, path::Path};

use super::*;
use crate::{
    Delta, NoiseMultiplier, Relation, SamplingRate,
    ledger::{Charge, Participation, Totals},
};

fn enforced(participations: u64, separation: u64, draw: EnforcedDraw) -> EnforcedParticipation {
    let [participations_max, separation_rounds] = [participations, separation].map(NonZeroU64::new);
    EnforcedParticipation { participations_max, separation_rounds, draw }
}

fn capped(participations: u64) -> Capped {
    Capped::from_enforced(&enforced(participations, 0, EnforcedDraw::FromWaiting)).unwrap()
}

fn coins(rate: f64) -> EnforcedDraw {
    EnforcedDraw::IndependentCoins { rate: SamplingRate::new(rate).unwrap() }
}

fn multiplier(value: f64, relation: Relation) -> NoiseMultiplier {
    NoiseMultiplier::new(value, relation).unwrap()
}

/// Computes the cost of releases under the relation of their noise.
fn cost(noise_multiplier: NoiseMultiplier, participation: Participation, releases: u64) -> Cost {
    let charge = Charge { noise_multiplier, participation };
    Cost::of_charge(charge, releases, noise_multiplier.relation()).unwrap()
}

fn delta() -> Delta {
    Delta::new(1e-5).unwrap()
}

#[test]
fn the_default_claim_is_not_amplified() {
    let ten = Gaussian::participation(&capped(10));
    let thousand = cost(multiplier(5.0, Relation::ZeroOut), ten, 1000);
    assert_eq!((thousand.rho().unwrap().get(), thousand.accountant()), (0.2, Accountant::Zcdp));
    // There are fewer releases than participations.
    assert_eq!(cost(multiplier(5.0, Relation::ZeroOut), ten, 3).rho().unwrap().get(), 0.06);
}

#[test]
fn what_is_not_enforced_cannot_be_claimed() {
    let error = Capped::from_enforced(&enforced(0, 0, EnforcedDraw::FromWaiting)).unwrap_err();
    assert!(error.to_string().contains("limit the participations"), "{error}");
    assert!(PoissonSampled::from_enforced(&enforced(5, 5, EnforcedDraw::FromWaiting)).is_err());
    assert!(Separated::from_enforced(&enforced(5, 0, coins(0.1))).is_err());
    assert!(Separated::from_enforced(&enforced(0, 5, EnforcedDraw::FromWaiting)).is_ok());
}

#[test]
fn sampling_amplifies_as_the_references_say() {
    // Noise of one clipping norm, rate 1 %, 1,000 rounds, delta 1e-5.
    let rate = SamplingRate::new(0.01).unwrap();
    let by_loss = |z, relation| {
        epsilon_by_loss_distribution(rate, multiplier(z, relation), 1000, delta()).unwrap().get()
    };
    assert!((by_loss(1.0, Relation::AddOrRemove) - 1.828).abs() < 0.01);
    assert!((by_loss(0.5, Relation::ReplaceOne) - 2.84).abs() < 0.02);
    // The ledger keeps the Rényi curve, because it adds up with other releases. Its epsilon is an upper bound.
    let sampled = PoissonSampled::from_enforced(&enforced(0, 0, coins(0.01))).unwrap();
    let kept = cost(multiplier(1.0, Relation::ZeroOut), Gaussian::participation(&sampled), 1000);
    assert_eq!((kept.rho(), kept.accountant()), (None, Accountant::Rdp));
    let (kept, exact) = (kept.epsilon(delta()).unwrap().get(), by_loss(1.0, Relation::ZeroOut));
    assert!(kept >= exact && kept < 1.2 * exact, "{kept} {exact}");
    let unsampled = Gaussian::participation(&capped(1000));
    assert!(
        cost(multiplier(1.0, Relation::ZeroOut), unsampled, 1000).epsilon(delta()).unwrap().get() > 500.0
    );
}

#[test]
fn correlated_noise_is_charged_once_for_all_its_releases() {
    let apart = Separated::from_enforced(&enforced(4, 60, EnforcedDraw::FromWaiting)).unwrap();
    for participation in [Tree::participation(&apart), Blt::participation(&apart)] {
        let charged =
            |releases| cost(multiplier(2.0, Relation::ZeroOut), participation, releases).rho().unwrap();
        assert_eq!([0, 1, 300].map(|releases| charged(releases).get()), [0.0, 0.125, 0.125]);
    }
}

/// The coordinator sees every update of a client, so all that it may send are charged when the first one arrives.
#[test]
fn local_noise_is_charged_for_all_updates_of_a_client() {
    let participation = LocalGaussian::participation(&capped(2));
    for releases in [1, 9] {
        let local = cost(multiplier(1.0, Relation::ReplaceOne), participation, releases);
        assert_eq!(local.rho().unwrap().get(), 1.0);
    }
}

#[test]
fn the_ledger_adds_up_what_a_claim_costs() {
    let task = folkmoot_protocol::TaskId::from_random_bytes([1; 16]);
    let seven = Gaussian::participation(&capped(7));
    for (releases, z) in [(1, 0.4), (5, 3.0), (1000, 8.0)] {
        let noise_multiplier = multiplier(z, Relation::ZeroOut);
        let mut totals = Totals::default();
        totals.add(task, Charge { noise_multiplier, participation: seven }, releases);
        let (spent, claimed) = (totals.spent(delta()).unwrap(), cost(noise_multiplier, seven, releases));
        assert_eq!((spent.epsilon, spent.rho), (claimed.epsilon(delta()).unwrap(), claimed.rho()));
        assert_eq!((spent.relation, spent.accountant), (Relation::ZeroOut, claimed.accountant().name()));
    }
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
