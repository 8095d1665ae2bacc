//! The privacy ledger.

use folkmoot_coordinator::{
    privacy::{PopulationBudget, PopulationPrivacy},
    task::WarmStart,
};
use folkmoot_privacy::{
    Delta, Epsilon, NoiseMultiplier, Relation, SamplingRate,
    ledger::{Chain, Charge, Entry, Event, Participation, Totals},
};
use folkmoot_protocol::{BlobDigest, PopulationName};
use folkmoot_storage::{
    CollectionCharge, Leave, LedgerRepository, ModelVersionRecord, ModelVersionRepository, PrivacyOutcome,
    Rest, RoundCommit, RoundRecord, RoundRepository, Storage, StorageError, TaskRepository,
};

use super::fixture::{Fixture, NOW, aggregating, commit_of, committed, stored, version_of};

/// Returns a charge with a multiplier that would change if it were stored with too few digits.
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

/// Advances a new task's first round until it can commit.
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
        let entries = storage.ledger_sum(organisation_id, population).await?.entries;
        let leave = leave(population, entries, charge);
        let commit = RoundCommit { leave: Some(leave), ..commit_of(&record, &version, None) };
        storage.commit_round(&commit).await?;
        totals.add(record.round.task_id, *charge, 1);
    }
    let entries = storage.ledger_entries(organisation_id, population, 0, 100).await?;
    let charged = entries.iter().filter_map(|entry| entry.event.charged());
    assert_eq!(charged.map(|(_, charge)| charge).collect::<Vec<_>>(), charges);
    for entry in &entries {
        assert_eq!(chain.follow(entry), Ok(()));
        let Event::Release(release) = entry.event else { continue };
        let round = storage.round(organisation_id, release.round_id).await?;
        assert_eq!(round.map(|record| record.round.task_id), Some(release.task_id));
    }
    assert_eq!(storage.ledger_entries(organisation_id, population, 1, 1).await?, entries[1..2]);
    let sum = storage.ledger_sum(organisation_id, population).await?;
    // Tasks that were created after the first charge are recorded, too.
    assert_eq!((sum.entries, sum.totals.releases()), (5, totals.releases()));
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
    // Two tasks read the empty ledger, and then one of them commits first.
    let seen = leave(population, 0, &charge);
    with(&first, seen).await?;
    assert!(matches!(with(&second, seen).await, Err(StorageError::LeaveConflict)));
    assert_eq!(storage.ledger_entries(organisation_id, population, 0, 100).await?.len(), 1);
    assert_eq!(storage.model_version(second.1.task_id, 1).await?, None);
    // A budget is set between the check and the commit. A task without privacy must conflict with it, too.
    let budget = Epsilon::new(1.0).ok().zip(Delta::new(1e-6).ok());
    let budget = budget.map(|(epsilon, delta)| PopulationBudget { epsilon, delta });
    let privacy = PopulationPrivacy { budget, ..PopulationPrivacy::default() };
    assert_eq!(fixture.set_privacy(privacy, None).await?, PrivacyOutcome::Set);
    let late = leave(population, 2, &charge);
    for charge in [Some(&charge), None] {
        let late = with(&second, Leave { charge, ..late }).await;
        assert!(matches!(late, Err(StorageError::LeaveConflict)));
    }
    with(&second, Leave { privacy, ..late }).await?;
    assert_eq!(storage.ledger_sum(organisation_id, population).await?.totals.releases(), 2);
    Ok(())
}

fn kind(entry: &Entry) -> &'static str {
    match entry.event {
        Event::Release(_) => "release",
        Event::Collection(_) => "collection",
        Event::Settings(_) => "settings",
        Event::Task(_) => "task",
    }
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
    // Later calls charge nothing, even if their check read an old state of the ledger.
    collect(&fixture, &record, 0, &charge).await?;
    let sum = storage.ledger_sum(organisation_id, population).await?;
    assert_eq!((sum.entries, sum.totals.releases()), (1, 0));
    assert!(sum.totals.has_begun(record.round.task_id));
    // Another task with the same description is charged separately. Its check must have read the first task's entry.
    let (other, _) = fixture.reporting(1).await?;
    let late = collect(&fixture, &other, 1, &charge).await;
    assert!(matches!(late, Err(StorageError::LeaveConflict)), "{late:?}");
    collect(&fixture, &other, 2, &charge).await?;
    // A version of the second task adds another entry.
    let record = aggregating(other, 0);
    fixture.storage.close_reporting(&record, Rest::Expires, NOW).await?;
    let record = committed(stored(record), 1);
    let version =
        ModelVersionRecord { round_id: Some(record.round.id), ..version_of(record.round.task_id, 1) };
    let leave = Some(leave(population, 3, &charge));
    storage.commit_round(&RoundCommit { leave, ..commit_of(&record, &version, None) }).await?;
    let mut chain = Chain::new(population.clone());
    let entries = storage.ledger_entries(organisation_id, population, 0, 100).await?;
    entries.iter().for_each(|entry| chain.follow(entry).expect("it hangs together"));
    let kinds: Vec<&str> = entries.iter().map(kind).collect();
    assert_eq!(kinds, ["collection", "task", "collection", "release"]);
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
    assert_eq!(fixture.set_privacy(privacy, None).await?, PrivacyOutcome::Set);
    let late = collect(&fixture, &record, 0, &charge).await;
    assert!(matches!(late, Err(StorageError::LeaveConflict)), "{late:?}");
    assert!(storage.ledger_sum(organisation_id, population).await?.totals.is_empty());
    Ok(())
}

pub(super) async fn what_bounds_privacy_is_an_entry(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (organisation_id, population) = (fixture.organisation_id, &fixture.population);
    let of = |epsilon| {
        let budget = Epsilon::new(epsilon).ok().zip(Delta::new(1e-6).ok());
        PopulationPrivacy {
            budget: budget.map(|(epsilon, delta)| PopulationBudget { epsilon, delta }),
            ..PopulationPrivacy::default()
        }
    };
    let (nothing, reason) = (PopulationPrivacy::default(), Some("a second study"));
    let attempts = [
        (of(9.0), None, PrivacyOutcome::Set),
        (of(9.0), reason, PrivacyOutcome::Set),
        (of(100.0), None, PrivacyOutcome::Weaker),
        (nothing, None, PrivacyOutcome::Weaker),
        (of(100.0), reason, PrivacyOutcome::Set),
        (of(1.0), reason, PrivacyOutcome::Set),
        (nothing, reason, PrivacyOutcome::Set),
    ];
    for (privacy, weakened, outcome) in attempts {
        assert_eq!(fixture.set_privacy(privacy, weakened).await?, outcome, "{privacy:?} {weakened:?}");
    }
    let entries = storage.ledger_entries(organisation_id, population, 0, 100).await?;
    let settings = |entry: &Entry| match &entry.event {
        Event::Settings(one) => Some((one.budget.map(|(epsilon, _)| epsilon.get()), one.weakened.clone())),
        _ => None,
    };
    let reason = reason.map(str::to_owned);
    // Unchanged settings are not recorded again, and a stricter budget needs no reason.
    let expected =
        [(Some(9.0), None), (Some(100.0), reason.clone()), (Some(1.0), None), (None, reason)].map(Some);
    assert_eq!(entries.iter().map(settings).collect::<Vec<_>>(), expected);
    let mut chain = Chain::new(population.clone());
    entries.iter().for_each(|entry| chain.follow(entry).expect("it hangs together"));
    let sum = storage.ledger_sum(organisation_id, population).await?;
    assert!(sum.entries == 4 && sum.totals.is_empty(), "{sum:?}");
    Ok(())
}

pub(super) async fn the_terms_of_a_task_are_an_entry(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (organisation_id, population) = (fixture.organisation_id, &fixture.population);
    fixture.task().await?;
    assert_eq!(storage.ledger_sum(organisation_id, population).await?.entries, 0, "nothing was promised");
    let mut private = fixture.task_record();
    let privacy = r#"{"kind": "central", "epsilon": 8.0, "delta": 1e-6, "participations_max": 2,
        "clipping": {"kind": "fixed", "norm": 1.0}}"#;
    private.description.privacy = serde_json::from_str(privacy).expect("it is one");
    private.description.aggregator = serde_json::from_str(r#"{"kind": "uniform_mean"}"#).expect("it is one");
    storage.create_task(&private, &version_of(private.id, 0)).await?;
    // From then on all tasks are recorded, even one that starts from another task's version.
    let clone = fixture.task_record();
    let mut first = version_of(clone.id, 0);
    first.making.warm_start = Some(WarmStart { task_id: private.id, version: 0 });
    storage.create_task(&clone, &first).await?;
    let taken = storage.create_task(&clone, &first).await;
    assert!(matches!(taken, Err(StorageError::NameTaken(_))), "{taken:?}");
    let entries = storage.ledger_entries(organisation_id, population, 0, 100).await?;
    let [Event::Task(of_private), Event::Task(of_clone)] = [&entries[0].event, &entries[1].event] else {
        panic!("{entries:?}")
    };
    assert_eq!(entries.len(), 2);
    let promise = of_private.promise.expect("it promises something");
    assert_eq!((of_private.task_id, promise.epsilon.get(), promise.delta.get()), (private.id, 8.0, 1e-6));
    assert_eq!(promise.charge.participation, Participation::AtMost { count: 2 });
    assert_eq!((of_clone.promise, of_clone.warm_start), (None, Some((private.id, 0))));
    let mut chain = Chain::new(population.clone());
    entries.iter().for_each(|entry| chain.follow(entry).expect("it hangs together"));
    Ok(())
}

pub(super) async fn what_was_not_released_is_known(storage: &Storage) -> Result<(), StorageError> {
    let fixture = Fixture::new(storage).await?;
    let (record, version) = ready(&fixture).await?;
    let round = record.round.id;
    assert_eq!(storage.unreleased(round).await?, []);
    let blobs = [BlobDigest::of(b"weights"), BlobDigest::of(b"state")];
    storage.note_unreleased(&record, &blobs[..1]).await?;
    storage.note_unreleased(&record, &blobs).await?;
    let changed = RoundRecord { revision: record.revision + 1, ..record.clone() };
    let late = storage.note_unreleased(&changed, &blobs).await;
    assert!(matches!(late, Err(StorageError::RevisionConflict(_))), "{late:?}");
    assert_eq!(storage.unreleased(round).await?, blobs);
    storage.forget_unreleased(round, &blobs).await?;
    assert_eq!(storage.unreleased(round).await?, []);
    let of_another_attempt = BlobDigest::of(b"other noise");
    storage.note_unreleased(&record, &[of_another_attempt, version.weights]).await?;
    let charge = poisson();
    let leave = Some(leave(&fixture.population, 0, &charge));
    storage.commit_round(&RoundCommit { leave, ..commit_of(&record, &version, None) }).await?;
    assert_eq!(storage.unreleased(round).await?, [of_another_attempt], "only this version is released");
    Ok(())
}
