//! The privacy ledger.

use folkmoot_coordinator::privacy::{PopulationBudget, PopulationPrivacy};
use folkmoot_privacy::{
    Delta, Epsilon, NoiseMultiplier, Relation, SamplingRate,
    ledger::{Chain, Charge, Event, Participation, Totals},
};
use folkmoot_protocol::{BlobDigest, PopulationName};

use super::fixture::{Fixture, NOW, aggregating, commit_of, committed, stored, version_of};
use crate::{
    CollectionCharge, Leave, LedgerRepository, ModelVersionRecord, ModelVersionRepository,
    PopulationRepository, Rest, RoundCommit, RoundRecord, RoundRepository, Storage, StorageError,
};

/// Multipliers and rates that a careless trip through decimal digits would change.
fn charge(participation: Participation) -> Charge {
    let multiplier = NoiseMultiplier::new(1.0 + 1.0 / 3.0, Relation::ZeroOut);
    Charge { noise_multiplier: multiplier.expect("it is in range"), participation }
}

fn poisson() -> Charge {
    charge(Participation::Poisson { rate: SamplingRate::new(0.1 + 0.2).expect("it is a rate") })
}

fn leave<'a>(population: &'a PopulationName, entries: u64, charge: &'a Charge) -> Leave<'a> {
    Leave { population, privacy: PopulationPrivacy::default(), entries, charge: Some(charge) }
}

/// Brings a new task's first round to where it commits.
async fn ready(fixture: &Fixture) -> Result<(RoundRecord, ModelVersionRecord), StorageError> {
    let (record, _) = fixture.reporting(1).await?;
    let record = aggregating(record, 0);
    fixture.storage.close_reporting(&record, Rest::Expires, NOW).await?;
    let record = committed(stored(record), 1);
    let version =
        ModelVersionRecord { round_id: Some(record.round.id), ..version_of(record.round.task_id, 1) };
    Ok((record, version))
}

pub(super) async fn a_release_is_charged_with_its_version(storage: &Storage) -> Result<(), StorageError> {
    let [fixture, other] = [Fixture::new(storage).await?, Fixture::new(storage).await?];
    let (organisation_id, population) = (fixture.organisation_id, &fixture.population);
    let charges = [charge(Participation::AtMost { count: 10 }), poisson(), poisson()];
    let (mut totals, mut chain) = (Totals::default(), Chain::new(population.clone()));
    for charge in &charges {
        let (record, version) = ready(&fixture).await?;
        let leave = leave(population, totals.releases(), charge);
        let commit = RoundCommit { leave: Some(leave), ..commit_of(&record, &version, None) };
        storage.commit_round(&commit).await?;
        totals.add(record.round.task_id, *charge, 1);
    }
    let entries = storage.ledger_entries(organisation_id, population, 0, 100).await?;
    let charged = entries.iter().filter_map(|entry| entry.event.charged());
    assert_eq!(charged.map(|(_, charge)| charge).collect::<Vec<_>>(), charges);
    for entry in &entries {
        assert_eq!(chain.follow(entry), Ok(()));
        let Event::Release(release) = entry.event else { panic!("{entry:?}") };
        let round = storage.round(organisation_id, release.round_id).await?;
        assert_eq!(round.map(|record| record.round.task_id), Some(release.task_id));
    }
    assert_eq!(storage.ledger_entries(organisation_id, population, 1, 1).await?, entries[1..2]);
    let sum = storage.ledger_sum(organisation_id, population).await?;
    assert_eq!((sum.entries, sum.totals.releases()), (3, totals.releases()));
    assert_eq!(storage.ledger_entries(other.organisation_id, population, 0, 100).await?, []);
    Ok(())
}

pub(super) async fn a_commit_that_fails_charges_nothing(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (organisation_id, population, charge) = (fixture.organisation_id, &fixture.population, poisson());
    let (record, version) = ready(&fixture).await?;
    let leave = leave(population, 0, &charge);
    let commit = RoundCommit { leave: Some(leave), ..commit_of(&record, &version, None) };
    let taken = ModelVersionRecord { number: 0, ..version.clone() };
    let broken = RoundCommit { version: &taken, ..commit };
    assert!(storage.commit_round(&broken).await.is_err(), "version 0 exists");
    assert_eq!(storage.ledger_entries(organisation_id, population, 0, 100).await?, []);
    storage.commit_round(&commit).await?;
    assert!(storage.commit_round(&commit).await.is_err(), "it is released already");
    assert_eq!(storage.ledger_entries(organisation_id, population, 0, 100).await?.len(), 1);
    assert_eq!(storage.model_version(version.task_id, 1).await?, Some(version));
    Ok(())
}

pub(super) async fn a_leave_that_does_not_hold_any_more_releases_nothing(
    storage: &Storage,
) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (organisation_id, population, charge) = (fixture.organisation_id, &fixture.population, poisson());
    let [first, second] = [ready(&fixture).await?, ready(&fixture).await?];
    let with = |(record, version): &(RoundRecord, ModelVersionRecord), leave| {
        let (record, version) = (record.clone(), version.clone());
        async move {
            storage
                .commit_round(&RoundCommit { leave: Some(leave), ..commit_of(&record, &version, None) })
                .await
        }
    };
    // Both looked at the empty ledger, and one was faster.
    let seen = leave(population, 0, &charge);
    with(&first, seen).await?;
    assert!(matches!(with(&second, seen).await, Err(StorageError::LeaveConflict)));
    assert_eq!(storage.ledger_entries(organisation_id, population, 0, 100).await?.len(), 1);
    assert_eq!(storage.model_version(second.1.task_id, 1).await?, None);
    // A budget is set between the look and the commit, of which a task that promises nothing hears, too.
    let budget = Epsilon::new(1.0).ok().zip(Delta::new(1e-6).ok());
    let budget = budget.map(|(epsilon, delta)| PopulationBudget { epsilon, delta });
    let privacy = PopulationPrivacy { budget, ..PopulationPrivacy::default() };
    assert!(storage.set_population_privacy(organisation_id, population, &privacy).await?);
    let late = leave(population, 1, &charge);
    for charge in [Some(&charge), None] {
        let late = with(&second, Leave { charge, ..late }).await;
        assert!(matches!(late, Err(StorageError::LeaveConflict)));
    }
    with(&second, Leave { privacy, ..leave(population, 1, &charge) }).await?;
    assert_eq!(storage.ledger_entries(organisation_id, population, 0, 100).await?.len(), 2);
    Ok(())
}

/// Charges the collection of a task that has an open round.
async fn collect(
    fixture: &Fixture,
    record: &RoundRecord,
    entries: u64,
    charge: &Charge,
) -> Result<(), StorageError> {
    let (organisation_id, population) = (fixture.organisation_id, &fixture.population);
    let (task_id, round_id) = (record.round.task_id, record.round.id);
    let leave = leave(population, entries, charge);
    let collection = CollectionCharge { organisation_id, task_id, round_id, leave, now: NOW };
    fixture.storage.charge_collection(&collection).await
}

pub(super) async fn a_collection_is_charged_once_before_any_version(
    storage: &Storage,
) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (organisation_id, population) = (fixture.organisation_id, &fixture.population);
    let charge = charge(Participation::Whole { count: 3 });
    let (record, _) = fixture.reporting(2).await?;
    collect(&fixture, &record, 0, &charge).await?;
    // Whoever comes later pays nothing more, whatever was seen of the ledger.
    collect(&fixture, &record, 0, &charge).await?;
    storage.abandon_round(&record, NOW).await.expect_err("its revision is another");
    let sum = storage.ledger_sum(organisation_id, population).await?;
    assert_eq!((sum.entries, sum.totals.releases()), (1, 0));
    assert!(sum.totals.has_begun(record.round.task_id));
    // Another task of the same description asks anew, and pays anew. It must have seen the first.
    let (other, _) = fixture.reporting(1).await?;
    let late = collect(&fixture, &other, 0, &charge).await;
    assert!(matches!(late, Err(StorageError::LeaveConflict)), "{late:?}");
    collect(&fixture, &other, 1, &charge).await?;
    // A version of it is an entry, too, which follows.
    let record = aggregating(other, 0);
    fixture.storage.close_reporting(&record, Rest::Expires, NOW).await?;
    let record = committed(stored(record), 1);
    let version =
        ModelVersionRecord { round_id: Some(record.round.id), ..version_of(record.round.task_id, 1) };
    let leave = Some(leave(population, 2, &charge));
    storage.commit_round(&RoundCommit { leave, ..commit_of(&record, &version, None) }).await?;
    let mut chain = Chain::new(population.clone());
    let entries = storage.ledger_entries(organisation_id, population, 0, 100).await?;
    entries.iter().for_each(|entry| chain.follow(entry).expect("it hangs together"));
    let kinds: Vec<bool> = entries.iter().map(|entry| matches!(entry.event, Event::Collection(_))).collect();
    assert_eq!(kinds, [true, true, false]);
    let mut counted = Totals::default();
    entries.iter().for_each(|entry| counted.count(&entry.event));
    let delta = Delta::new(1e-6).expect("it is a delta");
    let sum = storage.ledger_sum(organisation_id, population).await?;
    assert_eq!(sum.totals.spent(delta), counted.spent(delta));
    Ok(())
}

pub(super) async fn a_collection_is_charged_once_whoever_is_first(
    storage: &Storage,
) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (organisation_id, population) = (fixture.organisation_id, &fixture.population);
    let charge = charge(Participation::Whole { count: 3 });
    let (record, _) = fixture.reporting(4).await?;
    let attempts = (0..4).map(|_| collect(&fixture, &record, 0, &charge));
    for outcome in futures::future::join_all(attempts).await {
        assert!(matches!(outcome, Ok(()) | Err(StorageError::LeaveConflict)), "{outcome:?}");
    }
    assert_eq!(storage.ledger_sum(organisation_id, population).await?.entries, 1);
    Ok(())
}

pub(super) async fn a_collection_is_not_charged_under_other_settings(
    storage: &Storage,
) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (organisation_id, population) = (fixture.organisation_id, &fixture.population);
    let charge = charge(Participation::Whole { count: 3 });
    let (record, _) = fixture.reporting(1).await?;
    let budget = Epsilon::new(1.0).ok().zip(Delta::new(1e-6).ok());
    let budget = budget.map(|(epsilon, delta)| PopulationBudget { epsilon, delta });
    let privacy = PopulationPrivacy { budget, ..PopulationPrivacy::default() };
    assert!(storage.set_population_privacy(organisation_id, population, &privacy).await?);
    let late = collect(&fixture, &record, 0, &charge).await;
    assert!(matches!(late, Err(StorageError::LeaveConflict)), "{late:?}");
    assert_eq!(storage.ledger_sum(organisation_id, population).await?.entries, 0);
    Ok(())
}

pub(super) async fn what_was_not_released_is_known(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (record, version) = ready(&fixture).await?;
    let round = record.round.id;
    assert_eq!(storage.unreleased(round).await?, []);
    let blobs = [BlobDigest::of(b"weights"), BlobDigest::of(b"state")];
    storage.note_unreleased(round, &blobs[..1]).await?;
    storage.note_unreleased(round, &blobs).await?;
    assert_eq!(storage.unreleased(round).await?, blobs);
    storage.forget_unreleased(round).await?;
    assert_eq!(storage.unreleased(round).await?, []);
    storage.note_unreleased(round, &blobs).await?;
    let charge = poisson();
    let leave = Some(leave(&fixture.population, 0, &charge));
    storage.commit_round(&RoundCommit { leave, ..commit_of(&record, &version, None) }).await?;
    assert_eq!(storage.unreleased(round).await?, [], "it is released");
    Ok(())
}
