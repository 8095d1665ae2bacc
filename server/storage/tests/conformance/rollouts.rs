//! Rollouts, which only a database stores.

use folkmoot_coordinator::rollout::{Reports, Share};
use folkmoot_protocol::ChannelName;
use folkmoot_storage::{ClientRepository, RolloutChange, RolloutRecord, SqlStorage, Storage, StorageError};

use super::fixture::{Fixture, NOW};

fn share(fraction: f64) -> Share {
    Share::new(fraction).expect("it is a fraction")
}

/// Rolls the first version of a new task out.
async fn roll_out(
    database: &SqlStorage,
    fixture: &Fixture,
    channel: &ChannelName,
    share_of_devices: Share,
) -> Result<RolloutRecord, StorageError> {
    let rollout = RolloutRecord {
        organisation_id: fixture.organisation_id,
        population: fixture.population.clone(),
        number: 0,
        channel: channel.clone(),
        task_id: fixture.task().await?.id,
        version: 0,
        share: share_of_devices,
        failures_max: share(0.4),
        held: None,
        reports: Reports::default(),
        last_failure: None,
        created_at: NOW,
    };
    database.create_rollout(&rollout).await
}

pub(super) async fn a_rollout_is_stored_and_changed(storage: &Storage) -> Result<(), StorageError> {
    let Ok(database) = storage.database() else { return Ok(()) };
    let fixture = Fixture::new(storage).await?;
    let (organisation, population) = (fixture.organisation_id, &fixture.population);
    let (stable, beta) = (ChannelName::default(), "beta".parse().expect("it is a name"));
    let first = roll_out(database, &fixture, &stable, share(0.25)).await?;
    let second = roll_out(database, &fixture, &beta, share(0.25)).await?;
    let third = roll_out(database, &fixture, &stable, share(0.25)).await?;
    assert_eq!([first.number, second.number, third.number], [1, 2, 3]);
    let listed = database.rollouts(organisation, population, 2, None).await?;
    assert_eq!(listed, [third.clone(), second.clone()]);
    assert_eq!(database.rollouts(organisation, population, 9, Some(2)).await?, vec![first.clone()]);
    assert_eq!(
        database.open_rollouts(organisation, population, &stable).await?,
        [third.clone(), first.clone()]
    );

    let hold = RolloutChange { held: Some(Some("it is bad".into())), ..RolloutChange::default() };
    let held = database.change_rollout(organisation, population, 3, &hold).await?;
    assert_eq!(held, RolloutRecord { held: Some("it is bad".into()), ..third.clone() });
    assert_eq!(database.open_rollouts(organisation, population, &stable).await?, [first]);
    let resume = RolloutChange { share: Some(Share::ALL), failures_max: Some(share(0.0)), held: Some(None) };
    let open = database.change_rollout(organisation, population, 3, &resume).await?;
    assert_eq!((open.held.as_ref(), open.share, open.failures_max), (None, Share::ALL, share(0.0)));
    assert_eq!(database.rollout(organisation, population, 3).await?, Some(open.clone()));

    let unknown = database.change_rollout(organisation, population, 9, &resume).await;
    assert!(matches!(unknown, Err(StorageError::NotFound("rollout"))), "{unknown:?}");
    let other = Fixture::new(storage).await?;
    assert_eq!(database.rollout(other.organisation_id, population, 3).await?, None);
    let missing = database.create_rollout(&RolloutRecord { version: 7, ..open.clone() }).await;
    assert!(matches!(missing, Err(StorageError::NotFound("model version"))), "{missing:?}");

    let channels = database.rollout_channels(organisation, population).await?;
    assert_eq!(channels, [beta, stable.clone()]);
    roll_out(database, &fixture, &stable, share(0.25)).await?;
    let offered: Vec<u64> = database
        .open_rollouts(organisation, population, &stable)
        .await?
        .iter()
        .map(|rollout| rollout.number)
        .collect();
    assert_eq!(offered, [4, 3], "nothing is older than the rollout for all devices");
    Ok(())
}

pub(super) async fn failures_of_devices_hold_a_rollout(storage: &Storage) -> Result<(), StorageError> {
    let Ok(database) = storage.database() else { return Ok(()) };
    let fixture = Fixture::new(storage).await?;
    let (organisation, population) = (fixture.organisation_id, &fixture.population);
    let channel = ChannelName::default();
    let rollout = roll_out(database, &fixture, &channel, Share::ALL).await?;
    let mut devices = Vec::new();
    for _ in 0..4 {
        let id = fixture.client().await?;
        devices.push(storage.client(id).await?.expect("it has just enrolled"));
    }
    let report = async |device: usize, failure: Option<&str>| {
        database.report_rollout(&devices[device], rollout.number, failure).await
    };
    // One device may report as often as it likes: only its last report counts.
    for failure in [Some("old app"), None, Some("old app"), None, Some("old app"), Some("old app")] {
        assert_eq!(report(0, failure).await?, None);
    }
    assert_eq!(report(1, None).await?, None);
    assert_eq!(report(2, None).await?, None);
    let stored = database.rollout(organisation, population, 1).await?.expect("it is stored");
    assert_eq!(
        (stored.reports, stored.last_failure),
        (Reports { loaded: 2, failed: 1 }, Some("old app".into()))
    );
    let held = report(3, Some("no memory")).await?.expect("half of the devices failed");
    assert_eq!(held.held.as_deref(), Some("2 of 4 devices could not use the model"));
    assert_eq!(database.open_rollouts(organisation, population, &channel).await?, []);
    assert_eq!(report(1, Some("late")).await?, None, "nothing is counted while it is held");

    let resume =
        RolloutChange { held: Some(None), failures_max: Some(share(0.6)), ..RolloutChange::default() };
    database.change_rollout(organisation, population, 1, &resume).await?;
    let resumed = database.rollout(organisation, population, 1).await?.expect("it is stored");
    assert_eq!(resumed.reports, Reports::default(), "failures that an operator has seen do not count again");
    assert_eq!(report(1, Some("late")).await?, None);
    assert_eq!(
        report(2, Some("late")).await?.map(|held| held.reports),
        Some(Reports { loaded: 0, failed: 2 })
    );
    let again = RolloutChange { held: Some(Some("by somebody".into())), ..RolloutChange::default() };
    let held = database.change_rollout(organisation, population, 1, &again).await?;
    assert_eq!(
        held.held.as_deref(),
        Some("2 of 2 devices could not use the model"),
        "the first reason stays"
    );

    let unknown = database.report_rollout(&devices[0], 9, None).await;
    assert!(matches!(unknown, Err(StorageError::NotFound("rollout"))), "{unknown:?}");
    Ok(())
}

pub(super) async fn old_rollouts_take_no_reports(storage: &Storage) -> Result<(), StorageError> {
    let Ok(database) = storage.database() else { return Ok(()) };
    let fixture = Fixture::new(storage).await?;
    let channel = ChannelName::default();
    let device = storage.client(fixture.client().await?).await?.expect("it has just enrolled");
    for _ in 0..3 {
        let rollout = roll_out(database, &fixture, &channel, Share::ALL).await?;
        database.report_rollout(&device, rollout.number, None).await?;
    }
    let of = async |number| database.rollout(fixture.organisation_id, &fixture.population, number).await;
    database.forget_old_reports(&of(3).await?.expect("it is stored")).await?;
    database.report_rollout(&device, 1, Some("late")).await?;
    database.report_rollout(&device, 2, Some("late")).await?;
    let listed = database.rollouts(fixture.organisation_id, &fixture.population, 9, None).await?;
    let counts: Vec<(u64, u64)> =
        listed.iter().map(|rollout| (rollout.reports.loaded, rollout.reports.failed)).collect();
    assert_eq!(counts, [(1, 0), (0, 1), (1, 0)], "the counts of an old rollout stay as they are");
    // A device that a rollout leaves out does not count.
    let nobody = RolloutChange { share: Some(share(0.0)), ..RolloutChange::default() };
    database.change_rollout(fixture.organisation_id, &fixture.population, 3, &nobody).await?;
    database.report_rollout(&device, 3, Some("stranger")).await?;
    assert_eq!(of(3).await?.map(|rollout| rollout.reports), Some(Reports { loaded: 1, failed: 0 }));
    Ok(())
}
