//! Populations whose unit of privacy is the user.

use folkmoot_coordinator::{
    participation::{Participated, StartClocks, User, Waiting},
    privacy::{PopulationBudget, PopulationPrivacy},
    round::Phase,
};
use folkmoot_privacy::{Delta, Epsilon, Unit};
use folkmoot_protocol::{ClientId, TaskId, UserKey};
use folkmoot_storage::{
    AssignmentRepository, CheckInRepository, ClientRepository, EnrolOutcome, ParticipationRepository,
    PopulationRepository, PrivacyOutcome, RoundRepository, Storage, StorageError, TokenAfter, TokenRecord,
    TokenRepository,
};

use super::fixture::{Fixture, NOW, change_of, fresh, fresh_name, stored, update_of, with_phase};

fn of_users() -> PopulationPrivacy {
    let budget = PopulationBudget {
        epsilon: Epsilon::new(0.1 + 0.2).expect("it is an epsilon"),
        delta: Delta::new(1e-7).expect("it is a delta"),
    };
    PopulationPrivacy { unit: Unit::User, budget: Some(budget) }
}

/// Creates a population whose unit is the user. Returns it with tokens for two users.
async fn users(storage: &Storage) -> Result<(Fixture, [(String, UserKey); 2]), StorageError> {
    let fixture = Fixture::new(storage).await?;
    assert_eq!(fixture.set_privacy(of_users(), None).await?, PrivacyOutcome::Set);
    let mut tokens = Vec::new();
    for user in ["ann", "bob"] {
        let key = UserKey::of(fixture.organisation_id, &fixture.population, user);
        let token = TokenRecord { user_key: Some(key), ..fixture.token_record() };
        storage.create_token(&token).await?;
        tokens.push((token.id, key));
    }
    let [ann, bob] = [tokens[0].clone(), tokens[1].clone()];
    Ok((fixture, [ann, bob]))
}

pub(super) async fn a_token_names_its_user_where_users_are_protected(
    storage: &Storage,
) -> Result<(), StorageError> {
    let (fixture, [(ann, ann_key), (bob, _)]) = users(storage).await?;
    let enrol = async |token: &str, key: &str| {
        storage.enrol(token, key, ClientId::from_random_bytes(fresh()), NOW).await
    };
    let key = fresh_name();
    assert_eq!(enrol(&fixture.token_id, &key).await?, EnrolOutcome::UserMissing);
    let EnrolOutcome::Enrolled(client) = enrol(&ann, &key).await? else { panic!("it is new") };
    assert_eq!(client.user_key, Some(ann_key));
    assert_eq!(enrol(&ann, &key).await?, EnrolOutcome::Known(client.clone()));
    assert_eq!(enrol(&bob, &key).await?, EnrolOutcome::UserDiffers);
    assert_eq!(storage.client(client.id).await?, Some(client));
    let record = storage.population(fixture.organisation_id, &fixture.population).await?;
    assert_eq!(record.map(|record| record.privacy), Some(of_users()), "its numbers survive bit for bit");
    Ok(())
}

pub(super) async fn who_is_protected_does_not_change_under_the_enrolled(
    storage: &Storage,
) -> Result<(), StorageError> {
    let [fixture, other] = [Fixture::new(storage).await?, Fixture::new(storage).await?];
    fixture.client().await?;
    let set = async |fixture: &Fixture, privacy: PopulationPrivacy| {
        fixture.set_privacy(privacy, Some("the study is over")).await
    };
    assert_eq!(set(&fixture, of_users()).await?, PrivacyOutcome::UnitDiffers);
    let record = storage.population(fixture.organisation_id, &fixture.population).await?;
    assert_eq!(record.map(|record| record.privacy), Some(PopulationPrivacy::default()));
    let budget = PopulationPrivacy { unit: Unit::Client, ..of_users() };
    assert_eq!(set(&fixture, budget).await?, PrivacyOutcome::Set, "a budget may");
    for privacy in [of_users(), PopulationPrivacy::default()] {
        assert_eq!(set(&other, privacy).await?, PrivacyOutcome::Set);
    }
    let nobody = "nobody".parse().expect("it is a name");
    let missing =
        storage.set_population_privacy(fixture.organisation_id, &nobody, &change_of(of_users(), None)).await;
    assert!(matches!(missing, Err(StorageError::NotFound("population"))), "{missing:?}");
    assert_eq!(storage.population(fixture.organisation_id, &nobody).await?, None);
    Ok(())
}

pub(super) async fn all_devices_of_a_user_count_as_one(storage: &Storage) -> Result<(), StorageError> {
    let (fixture, [(ann, ann_key), (bob, bob_key)]) = users(storage).await?;
    let task = fixture.task().await?;
    let mut devices = Vec::new();
    for token in [&ann, &ann, &ann, &bob] {
        let id = ClientId::from_random_bytes(fresh());
        storage.enrol(token, &fresh_name(), id, NOW).await?;
        assert!(storage.check_in(&fixture.check_in_of(id)).await?);
        devices.push(id);
    }
    let users = async |task: TaskId| -> Result<Vec<(ClientId, User)>, StorageError> {
        let waiting = storage.waiting_for(fixture.organisation_id, &fixture.population, task, NOW).await?;
        let user = |one: Waiting| (one.candidate.client_id, one.user.expect("everybody has one"));
        let mut users: Vec<(ClientId, User)> = waiting.into_iter().map(user).collect();
        users.sort_by_key(|(id, _)| devices.iter().position(|device| device == id));
        Ok(users)
    };
    let nothing = |key| User { key, participated: Participated::default(), is_busy: false };
    let keys = [ann_key, ann_key, ann_key, bob_key];
    let expected: Vec<(ClientId, User)> = devices.iter().copied().zip(keys.map(nothing)).collect();
    assert_eq!(users(task.id).await?, expected);

    let record = with_phase(fixture.round_record(task.id, 1), Phase::Selecting { since: NOW });
    storage.open_round(&record).await?;
    let assignments = fixture.assignments_of(&record, &devices[..2]);
    let reporting = with_phase(record, Phase::Reporting { since: NOW, cohort: 2, asked: None });
    storage.assign(&reporting, &assignments, &StartClocks::default()).await?;
    assert!(!matches!(stored(reporting).round.phase, Phase::Selecting { .. }));
    storage.accept_update(&update_of(&assignments[0])).await?;
    let started = |accepted: u64, is_busy| User {
        key: ann_key,
        participated: Participated {
            starts: 2,
            accepted,
            accepted_from: (accepted > 0).then_some(assignments[0].base_version),
        },
        is_busy,
    };
    let expected = [(devices[2], started(1, true)), (devices[3], nothing(bob_key))];
    assert_eq!(users(task.id).await?, expected, "another device has an assignment still");
    storage.accept_update(&update_of(&assignments[1])).await?;
    assert_eq!(users(task.id).await?[0], (devices[2], started(2, false)), "both were accepted");
    // A device that is revoked and enrols again still belongs to the same user. The participation of all the user's
    // devices is kept.
    storage.revoke_client(fixture.organisation_id, devices[0], TokenAfter::Open, NOW).await?;
    let again = ClientId::from_random_bytes(fresh());
    storage.enrol(&ann, &fresh_name(), again, NOW).await?;
    assert!(storage.check_in(&fixture.check_in_of(again)).await?);
    let found = users(task.id).await?.into_iter().find(|(id, _)| *id == again);
    assert_eq!(found, Some((again, started(2, false))), "a new device does not start from zero");
    storage.withdraw_check_in(again).await?;
    let other = fixture.task().await?;
    assert_eq!(users(other.id).await?[0], (devices[2], nothing(ann_key)), "another task counts by itself");
    Ok(())
}
