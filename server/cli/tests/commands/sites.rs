//! A population of two named sites.

use folkmoot_coordinator::ClientKind;
use folkmoot_protocol::{ClientId, OrganisationId, Timestamp};
use folkmoot_storage::{
    ClientRepository, EnrolOutcome, PopulationRepository, SiteSoftware, Storage, TokenRecord, TokenRepository,
};

/// Creates the population `clinics` with its sites.
pub async fn fill(storage: &Storage, organisation: OrganisationId, now: Timestamp) {
    let population = "clinics".parse().expect("it is a population's name");
    storage.ensure_population(organisation, &population, now).await.expect("it can be created");
    let database = storage.database().expect("there is one");
    let set = database.set_client_kind(organisation, &population, ClientKind::Sites).await;
    set.expect("no client has enrolled");
    for (number, name) in [(1, "North"), (2, "South")] {
        let token = TokenRecord {
            name: Some(name.into()),
            uses_max: Some(1),
            ..TokenRecord::unlimited(format!("51{number:014x}"), organisation, population.clone(), now)
        };
        storage.create_token(&token).await.expect("it can be created");
        let id = ClientId::from_random_bytes([0x51 + number; 16]);
        let enrolled = storage.enrol(&token.id, name, id, now).await;
        let Ok(EnrolOutcome::Enrolled(client)) = enrolled else { panic!("{enrolled:?}") };
        let attributes = [("app_version".to_owned(), number.to_string())].into();
        let software = SiteSoftware { sdk_version: "0.1.0", attributes: &attributes };
        let seen = database.site_seen(&client, Some(software), now.plus_seconds(60)).await;
        seen.expect("it can be recorded");
    }
}
