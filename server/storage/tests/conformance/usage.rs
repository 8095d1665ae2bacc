//! Quotas and usage of organisations, which only a database has.

use folkmoot_coordinator::{
    task::TaskState,
    tenancy::{Day, Quotas, Usage},
};
use folkmoot_protocol::{BlobDigest, ClientId, OrganisationId};
use folkmoot_storage::{
    ClientRepository, EnrolOutcome, Holdings, ModelRecord, ModelRepository, Storage, StorageError,
    TaskRepository, TokenAfter,
};

use super::fixture::{Fixture, NOW, fresh, schema};

const DAY: Day = Day(20_000);

fn requests(requests: u64) -> Usage {
    Usage { requests, received_bytes: 2, sent_bytes: u64::from(u32::MAX), updates: 1 }
}

pub(super) async fn what_is_used_adds_up(storage: &Storage) -> Result<(), StorageError> {
    let Ok(database) = storage.database() else { return Ok(()) };
    let (one, other) =
        (Fixture::new(storage).await?.organisation_id, Fixture::new(storage).await?.organisation_id);
    let next = Day(DAY.0 + 1);
    database.add_usage(&[(one, DAY, requests(3)), (other, DAY, requests(5))]).await?;
    database.add_usage(&[(one, DAY, requests(4)), (one, next, requests(1))]).await?;
    let mut sum = requests(3);
    sum += requests(4);
    let of = async |id, days| -> Result<Vec<(Day, Usage)>, StorageError> {
        let records = database.usage(id, days).await?;
        let ours = records.into_iter().filter(|record| [one, other].contains(&record.organisation_id));
        Ok(ours.map(|record| (record.day, record.used)).collect())
    };
    assert_eq!(of(Some(one), DAY..=next).await?, [(DAY, sum), (next, requests(1))]);
    assert_eq!(of(Some(one), next..=Day(u64::MAX)).await?, [(next, requests(1))]);
    assert_eq!(of(Some(other), DAY..=next).await?, [(DAY, requests(5))]);
    assert_eq!(of(None, DAY..=DAY).await?.len(), 2);
    assert_eq!(of(Some(one), Day(0)..=Day(DAY.0 - 1)).await?, []);
    let today = database.tenancies(DAY).await?.into_iter().find(|record| record.organisation_id == one);
    assert_eq!(today.map(|record| (record.quotas, record.used)), Some((Quotas::default(), sum)));

    // All of it or nothing is stored.
    let unknown = OrganisationId::from_random_bytes(fresh());
    assert!(database.add_usage(&[(one, DAY, requests(9)), (unknown, DAY, requests(1))]).await.is_err());
    assert_eq!(of(Some(one), DAY..=DAY).await?, [(DAY, sum)]);
    Ok(())
}

pub(super) async fn a_full_organisation_enrols_nobody_else(storage: &Storage) -> Result<(), StorageError> {
    let Ok(database) = storage.database() else { return Ok(()) };
    let (full, other) = (Fixture::new(storage).await?, Fixture::new(storage).await?);
    let quotas = Quotas { clients_max: Some(2), ..Quotas::default() };
    database.set_quotas(full.organisation_id, &quotas).await?;
    assert_eq!(database.quotas(full.organisation_id).await?, quotas);
    let enrol = async |of: &Fixture, key: &str| {
        storage.enrol(&of.token_id, key, ClientId::from_random_bytes(fresh()), NOW).await
    };
    let first = enrol(&full, "first").await?;
    let EnrolOutcome::Enrolled(first) = first else { panic!("{first:?}") };
    assert!(matches!(enrol(&full, "second").await?, EnrolOutcome::Enrolled(_)));
    assert_eq!(enrol(&full, "third").await?, EnrolOutcome::OrganisationFull);
    assert_eq!(enrol(&full, "first").await?, EnrolOutcome::Known(first.clone()));
    assert!(matches!(enrol(&other, "third").await?, EnrolOutcome::Enrolled(_)));
    assert_eq!(database.holdings(full.organisation_id).await?.clients, 2);
    storage.revoke_client(full.organisation_id, first.id, TokenAfter::Open, NOW).await?;
    assert!(matches!(enrol(&full, "third").await?, EnrolOutcome::Enrolled(_)));
    database.set_quotas(full.organisation_id, &Quotas::default()).await?;
    assert!(matches!(enrol(&full, "fourth").await?, EnrolOutcome::Enrolled(_)));
    let unknown = OrganisationId::from_random_bytes(fresh());
    let missing = database.set_quotas(unknown, &quotas).await;
    assert!(matches!(missing, Err(StorageError::NotFound("organisation"))), "{missing:?}");
    Ok(())
}

pub(super) async fn what_an_organisation_has_is_counted(storage: &Storage) -> Result<(), StorageError> {
    let Ok(database) = storage.database() else { return Ok(()) };
    let fixture = Fixture::new(storage).await?;
    let id = fixture.organisation_id;
    assert_eq!(database.holdings(id).await?, Holdings::default());
    let model = ModelRecord {
        name: None,
        organisation_id: id,
        model: BlobDigest::of(&fresh()),
        model_bytes: 1_000,
        weights: BlobDigest::of(&fresh()),
        schema: schema(),
        created_at: NOW,
    };
    storage.create_model(&model).await?;
    let ended = fixture.task().await?;
    fixture.task().await?;
    let with_two = database.holdings(id).await?;
    assert_eq!((with_two.tasks, with_two.clients), (2, 0));
    assert!(with_two.stored_bytes > 1_000, "{with_two:?}");
    storage.set_task_state(ended.id, TaskState::Cancelled, 0).await?;
    assert_eq!(database.holdings(id).await?, Holdings { tasks: 1, ..with_two });
    Ok(())
}
