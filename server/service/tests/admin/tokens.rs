use folkmoot_api::{Page, tokens::CreateTokenRequest};
use folkmoot_protocol::{ClientId, ErrorCode, Role};
use folkmoot_rounds::clock::system_clock;
use folkmoot_storage::{ClientRepository, EnrolOutcome};

use super::{Running, refused, start};

/// A public key that was made for this test.
const KEY: &str = "-----BEGIN PUBLIC KEY-----\n\
    MCowBQYDK2VwAyEABRtLi8CpGS+WscR2oSi+IL28rOROsBxIfWIBf/oSb90=\n-----END PUBLIC KEY-----\n";

#[tokio::test]
async fn a_token_can_be_made_listed_and_revoked() {
    let running = start().await;
    let admin = running.admin();
    let created = admin.create_token("digits".parse().unwrap(), Some(5), Some(60)).await.unwrap();
    assert!(created.token.starts_with(&created.record.id));
    let expires_at = created.record.expires_at.unwrap();
    assert_eq!(expires_at.milliseconds_since(created.record.created_at), 60_000);
    assert_eq!(admin.tokens().await.unwrap(), std::slice::from_ref(&created.record));

    admin.revoke_token(&created.record.id).await.unwrap();
    assert!(admin.tokens().await.unwrap()[0].revoked_at.is_some());
    let (code, _) = refused(admin.revoke_token("0123456789abcdef").await);
    assert_eq!(code, ErrorCode::ResourceUnknown);
    let (code, detail) = refused(admin.create_token("digits".parse().unwrap(), Some(0), None).await);
    assert_eq!(code, ErrorCode::MalformedRequest);
    assert!(detail.starts_with("uses_max is 0"), "{detail}");
    let request = CreateTokenRequest::of("digits".parse().unwrap());
    let both = CreateTokenRequest { user: Some("ann".into()), jwt_keys: vec![KEY.into()], ..request.clone() };
    for (wrong, fault) in [
        (both, "omit user or jwt_keys"),
        (CreateTokenRequest { jwt_keys: vec!["a".into()], ..request }, "PEM"),
    ] {
        let (code, detail) = refused(admin.create_token_from(&wrong).await);
        assert!(code == ErrorCode::MalformedRequest && detail.contains(fault), "{detail}");
    }

    let populations = admin.populations().await.unwrap();
    assert_eq!(populations.len(), 1);
    assert_eq!((populations[0].name.as_str(), populations[0].client_count), ("digits", 0));
    running.host.stop().await.unwrap();
}

#[tokio::test]
async fn a_token_has_bounds_unless_none_are_asked_for() {
    let running = start().await;
    let admin = running.admin();
    let request = || CreateTokenRequest::of("digits".parse().unwrap());
    let bounds = async |request: CreateTokenRequest| {
        let record = admin.create_token_from(&request).await.unwrap().record;
        (record.uses_max, record.expires_at.map(|end| end.milliseconds_since(record.created_at)))
    };
    let month = 30 * 86_400 * 1000;
    assert_eq!(bounds(request()).await, (Some(1_000), Some(month)));
    let unlimited = CreateTokenRequest { unlimited_uses: true, ..request() };
    assert_eq!(bounds(unlimited.clone()).await, (None, Some(month)));
    let endless = CreateTokenRequest { no_expiry: true, ..request() };
    assert_eq!(bounds(endless.clone()).await, (Some(1_000), None));
    for (contradiction, field) in [
        (CreateTokenRequest { uses_max: Some(5), ..unlimited }, "uses_max"),
        (CreateTokenRequest { expires_in_seconds: Some(60), ..endless }, "expires_in_seconds"),
    ] {
        let (code, detail) = refused(admin.create_token_from(&contradiction).await);
        assert_eq!(code, ErrorCode::MalformedRequest);
        assert!(detail.starts_with(field) && detail.contains("only one of the two"), "{detail}");
    }
    running.host.stop().await.unwrap();
}

#[tokio::test]
async fn a_client_that_is_not_there_cannot_be_revoked() {
    let running = start().await;
    let (code, _) = refused(running.admin().revoke_client(ClientId::from_random_bytes([1; 16]), false).await);
    assert_eq!(code, ErrorCode::ResourceUnknown);
    running.host.stop().await.unwrap();
}

/// Enrols a client by a token.
async fn enrol(running: &Running, token_id: &str, number: u8) -> EnrolOutcome {
    let id = ClientId::from_random_bytes([number; 16]);
    let key = format!("key {number}");
    let storage = &running.host.coordinator.storage;
    storage.enrol(token_id, &key, id, system_clock()()).await.unwrap()
}

#[tokio::test]
async fn a_client_is_revoked_with_its_token_closed_or_open() {
    let running = start().await;
    let admin = running.admin();
    let token = admin.create_token("digits".parse().unwrap(), None, None).await.unwrap().record.id;
    let id = ClientId::from_random_bytes([1; 16]);
    enrol(&running, &token, 1).await;
    let enrolled = admin.client(id).await.unwrap();
    assert_eq!((enrolled.token_id.as_ref(), enrolled.revoked_at), (Some(&token), None));

    let open = admin.revoke_client(id, true).await.unwrap();
    assert!(open.client.revoked_at.is_some() && !open.token_closed, "{open:?}");
    assert!(matches!(enrol(&running, &token, 2).await, EnrolOutcome::Enrolled(_)));
    let closed = admin.revoke_client(id, false).await.unwrap();
    assert_eq!((&closed.client, closed.token_closed), (&open.client, true));
    assert_eq!(enrol(&running, &token, 3).await, EnrolOutcome::TokenClosed);
    let second = admin.revoke_client(ClientId::from_random_bytes([2; 16]), true).await.unwrap();
    assert!(second.token_closed, "it does not open again: {second:?}");
    let shown = admin.tokens().await.unwrap().remove(0);
    assert!(shown.closed_at.is_some() && shown.revoked_at.is_none(), "{shown:?}");
    running.host.stop().await.unwrap();
}

#[tokio::test]
async fn the_clients_of_a_token_are_listed_and_revoked_by_admins() {
    let running = start().await;
    let admin = running.admin();
    let token = admin.create_token("digits".parse().unwrap(), None, None).await.unwrap().record.id;
    let other = admin.create_token("digits".parse().unwrap(), None, None).await.unwrap().record.id;
    for number in 1..=3 {
        enrol(&running, &token, number).await;
    }
    enrol(&running, &other, 4).await;
    let first = admin.clients_of_token(&token, Page { limit: 2, before: None }).await.unwrap();
    let before = Some(first[1].id);
    let rest = admin.clients_of_token(&token, Page { limit: 2, before }).await.unwrap();
    let mut ids: Vec<ClientId> = first.iter().chain(&rest).map(|client| client.id).collect();
    ids.sort();
    assert_eq!(ids, [1, 2, 3].map(|number| ClientId::from_random_bytes([number; 16])));

    let operator = admin.create_api_key("operator", Role::Operator).await.unwrap().api_key;
    let (code, _) = refused(running.client(&operator).revoke_token_and_clients(&token).await);
    assert_eq!(code, ErrorCode::RoleInsufficient);
    assert_eq!(admin.revoke_token_and_clients(&token).await.unwrap().clients_revoked, 3);
    let population = admin.populations().await.unwrap().remove(0);
    assert_eq!(population.client_count, 1, "the other token's client stays");
    let nothing = "0123456789abcdef";
    assert_eq!(refused(admin.revoke_token_and_clients(nothing).await).0, ErrorCode::ResourceUnknown);
    let page = Page { limit: 2, before: None };
    assert_eq!(refused(admin.clients_of_token(nothing, page).await).0, ErrorCode::ResourceUnknown);
    running.host.stop().await.unwrap();
}
