//! Named sites, which only a database stores.

use folkmoot_coordinator::ClientKind;
use folkmoot_protocol::{ClientId, ErrorCode};
use folkmoot_storage::{
    AssignmentRepository, ClientRepository, DropReason, EnrolOutcome, KindOutcome, PopulationRepository,
    SiteFailure, SiteSoftware, Storage, StorageError, TokenRecord, TokenRepository,
};

use super::fixture::{Fixture, NOW, fresh, fresh_name, later};

pub(super) async fn who_downloads_models_is_a_setting(storage: &Storage) -> Result<(), StorageError> {
    let Ok(database) = storage.database() else { return Ok(()) };
    let fixture = Fixture::new(storage).await?;
    let (organisation, population) = (fixture.organisation_id, &fixture.population);
    for may_download in [true, false, true] {
        database.set_viewers_download(organisation, population, may_download).await?;
        let stored = storage.population(organisation, population).await?;
        assert_eq!(stored.map(|record| record.viewers_download), Some(may_download));
    }
    let unknown = "nobody".parse().expect("it is a population's name");
    let refused = database.set_viewers_download(organisation, &unknown, false).await;
    assert!(matches!(refused, Err(StorageError::NotFound("population"))), "{refused:?}");
    Ok(())
}

pub(super) async fn sites_have_the_names_of_their_tokens(storage: &Storage) -> Result<(), StorageError> {
    let Ok(database) = storage.database() else { return Ok(()) };
    let fixture = Fixture::new(storage).await?;
    let (organisation, population) = (fixture.organisation_id, &fixture.population);
    let set = async |kind| database.set_client_kind(organisation, population, kind).await;
    assert_eq!(set(ClientKind::Sites).await?, KindOutcome::Set);
    let stored = storage.population(organisation, population).await?;
    assert_eq!(stored.map(|record| record.clients), Some(ClientKind::Sites));

    let enrol = async |name: Option<&str>| {
        let token = TokenRecord { name: name.map(str::to_owned), ..fixture.token_record() };
        storage.create_token(&token).await?;
        storage.enrol(&token.id, &fresh_name(), ClientId::from_random_bytes(fresh()), NOW).await
    };
    assert_eq!(enrol(None).await?, EnrolOutcome::SiteMissing);
    let mut clients = Vec::new();
    for name in ["zwei", "Eins", "zwei"] {
        let EnrolOutcome::Enrolled(client) = enrol(Some(name)).await? else { panic!("it is new") };
        assert_eq!(client.site.as_deref(), Some(name));
        clients.push(client);
    }
    assert_eq!(set(ClientKind::Sites).await?, KindOutcome::Set, "it is the same kind");
    assert_eq!(set(ClientKind::Crowd).await?, KindOutcome::ClientsEnrolled);

    let first = database.sites(organisation, population, 1, None).await?;
    assert_eq!((&first[0].client, first[0].seen_at), (&clients[1], NOW));
    let rest = database.sites(organisation, population, 9, Some(clients[1].id)).await?;
    assert_eq!(rest.iter().map(|site| site.client.site.as_deref()).collect::<Vec<_>>(), [Some("zwei"); 2]);
    let called = database.clients_called(organisation, "", "ZWEI", 9).await?;
    assert_eq!(called.len(), 2);
    let id = clients[0].id.to_string();
    assert_eq!(database.clients_called(organisation, &id, "", 9).await?, [clients[0].clone()]);
    Ok(())
}

pub(super) async fn what_a_site_does_is_recorded(storage: &Storage) -> Result<(), StorageError> {
    let Ok(database) = storage.database() else { return Ok(()) };
    // The clients of a crowd leave no trace.
    let crowd = Fixture::new(storage).await?;
    let (_, assignments) = crowd.reporting(1).await?;
    let refused = DropReason::Refused { code: ErrorCode::UpdateConflict };
    storage.drop_assignment(assignments[0].id, &refused, later(1)).await?;
    let client = storage.client(assignments[0].client_id).await?.expect("it is enrolled");
    database.site_seen(&client, None, later(1)).await?;
    assert_eq!(database.sites(crowd.organisation_id, &crowd.population, 9, None).await?, []);

    let fixture = Fixture::new(storage).await?;
    let (organisation, population) = (fixture.organisation_id, &fixture.population);
    database.set_client_kind(organisation, population, ClientKind::Sites).await?;
    let token = TokenRecord { name: Some("one".into()), id: fresh_name(), ..fixture.token_record() };
    storage.create_token(&token).await?;
    let fixture = Fixture { token_id: token.id, ..fixture };
    let (record, assignments) = fixture.reporting(1).await?;
    let client = storage.client(assignments[0].client_id).await?.expect("it is enrolled");
    let attributes = [("app_version".to_owned(), "7".to_owned())].into();
    let software = SiteSoftware { sdk_version: "1.2.3", attributes: &attributes };
    database.site_seen(&client, Some(software), later(3)).await?;
    database.site_seen(&client, None, later(4)).await?;
    assert_eq!(
        storage.drop_assignment(assignments[0].id, &refused, later(5)).await?,
        folkmoot_storage::CloseOutcome::Dropped
    );
    storage.drop_assignment(assignments[0].id, &DropReason::Expired, later(6)).await?;
    let sites = database.sites(organisation, &fixture.population, 9, None).await?;
    let site = &sites[0];
    assert_eq!((sites.len(), site.seen_at, site.failures), (1, later(4), 1));
    assert_eq!((site.sdk_version.as_deref(), &site.attributes), (Some("1.2.3"), &attributes));
    assert_eq!(site.last_failure, Some(SiteFailure { at: later(5), reason: refused }));
    let round = record.round.id.to_string();
    assert_eq!(database.rounds_called(organisation, &round[..20], 9).await?, [record.round.id]);
    assert_eq!(database.rounds_called(organisation, "", 9).await?, []);
    Ok(())
}
