//! Sessions that the coordinator renews with a refresh token.

use std::sync::atomic::Ordering;

use folkmoot_protocol::ErrorCode;
use serde_json::json;

use super::world::{World, code, newest, world_of};

/// More than the interval at which the provider is asked again, and less than the life of an ID token.
const INTERVAL: u64 = 950;
/// The life of an ID token in these tests.
const TOKEN_SECONDS: u64 = 3600;

/// Returns a coordinator whose provider gives refresh tokens, and ID tokens for an hour.
async fn world() -> World {
    let world = world_of("default").await;
    world.issuer.set_refresh_token(Some("the first"));
    confirm(&world, &["builders"]);
    world
}

fn confirm(world: &World, groups: &[&str]) {
    world.confirm(|claims| {
        claims["groups"] = json!(groups);
        claims["exp"] = json!(claims["iat"].as_u64().expect("a time") + TOKEN_SECONDS);
    });
}

fn pass(world: &World, seconds: u64) {
    world.now.fetch_add(seconds * 1000, Ordering::Relaxed);
}

async fn actions(world: &World) -> Vec<String> {
    world.records().await.into_iter().map(|record| record.action).collect()
}

#[tokio::test]
async fn a_changed_group_changes_the_role_of_an_open_session() {
    let world = world().await;
    let ada = world.signed_in().await;
    let ends = ada.me().await.unwrap().expires_at;
    confirm(&world, &["staff"]);
    assert_eq!(
        ada.me().await.unwrap().role,
        "operator",
        "the provider is not asked before the interval ends"
    );
    pass(&world, INTERVAL);
    world.issuer.set_refresh_token(Some("the second"));
    let me = ada.me().await.unwrap();
    assert_eq!((me.role.as_str(), me.expires_at), ("viewer", ends));
    assert_eq!(
        code(ada.create_token("digits".parse().unwrap(), None, None).await),
        ErrorCode::RoleInsufficient
    );

    // The session outlives its first ID token, and each request uses the newest refresh token.
    for _ in 0..4 {
        pass(&world, INTERVAL);
        confirm(&world, &["staff"]);
        assert_eq!(ada.me().await.unwrap().role, "viewer");
    }
    let requests = world.issuer.requests("/token");
    let with = |token: &str| requests.iter().filter(|body| body.contains(token)).count();
    assert_eq!((with("the+first"), with("the+second")), (1, 4), "{requests:?}");
    assert_eq!(actions(&world).await, ["session.create", "session.change_role"]);
    let records = world.records().await;
    assert_eq!(records[1].by, "oidc:example:ada (Ada Lovelace)");
    let change = &records[1].changes[0];
    assert_eq!((change.before.as_deref(), change.after.as_deref()), (Some("operator"), Some("viewer")));

    // No renewal makes a session longer than the configuration allows: 12 hours.
    pass(&world, 12 * 3600 - 5 * INTERVAL);
    confirm(&world, &["staff"]);
    assert_eq!(code(ada.me().await), ErrorCode::ApiKeyInvalid);
}

#[tokio::test]
async fn a_session_ends_when_its_person_loses_the_last_group_or_the_provider_refuses() {
    let world = world().await;
    let [ada, again] = [world.signed_in().await, world.signed_in().await];
    confirm(&world, &["choir"]);
    pass(&world, INTERVAL);
    assert_eq!(code(ada.tasks(newest()).await), ErrorCode::ApiKeyInvalid);
    let ends = ["session.create", "session.create", "session.refuse", "session.delete"];
    assert_eq!(actions(&world).await, ends);
    confirm(&world, &["builders"]);
    assert_eq!(code(ada.me().await), ErrorCode::ApiKeyInvalid, "the session does not come back");

    // The account was deleted at the provider, or its session was ended there.
    world.issuer.refuse_tokens("invalid_grant");
    assert_eq!(code(again.me().await), ErrorCode::ApiKeyInvalid);
    assert_eq!(actions(&world).await.len(), ends.len() + 1);
}

#[tokio::test]
async fn a_provider_that_is_down_ends_no_session_before_its_token_expires() {
    let world = world().await;
    let ada = world.signed_in().await;
    world.issuer.change("/token", Some((503, "busy".into())));
    pass(&world, INTERVAL);
    assert_eq!(ada.me().await.unwrap().role, "operator");
    let asked = world.issuer.requests("/token").len();
    assert_eq!(ada.me().await.unwrap().role, "operator");
    assert_eq!(world.issuer.requests("/token").len(), asked, "it is not asked again at once");

    pass(&world, TOKEN_SECONDS);
    assert_eq!(code(ada.me().await), ErrorCode::IdentityProviderUnavailable);
    assert_eq!(code(ada.me().await), ErrorCode::IdentityProviderUnavailable);
    assert_eq!(world.issuer.requests("/token").len(), asked + 1, "once a minute is enough");
    // It is back.
    confirm(&world, &["builders"]);
    pass(&world, 61);
    assert_eq!(ada.me().await.unwrap().role, "operator");

    // Nobody needs the provider to sign out.
    world.issuer.change("/token", Some((503, "busy".into())));
    pass(&world, TOKEN_SECONDS + INTERVAL);
    assert!(ada.sign_out().await.unwrap().is_some());
    assert_eq!(actions(&world).await, ["session.create", "session.delete"]);
    let revoked = world.issuer.requests("/revoke");
    assert!(revoked.len() == 1 && revoked[0].contains("the+first"), "{revoked:?}");
}

#[tokio::test]
async fn many_requests_at_once_renew_a_session_once() {
    let world = world().await;
    let ada = world.signed_in().await;
    let before = world.issuer.requests("/token").len();
    // Its confirmation has expired, so all of them wait for the one that asks.
    pass(&world, TOKEN_SECONDS + 1);
    confirm(&world, &["staff"]);
    let answers = futures::future::join_all((0..8).map(|_| ada.me())).await;
    assert!(answers.iter().all(|me| me.as_ref().is_ok_and(|me| me.role == "viewer")), "{answers:?}");
    assert_eq!(world.issuer.requests("/token").len(), before + 1);
}

#[tokio::test]
async fn without_a_new_id_token_a_session_ends_with_its_last_one() {
    let world = world().await;
    let ada = world.signed_in().await;
    world.issuer.set_token(String::new());
    pass(&world, INTERVAL);
    assert_eq!(ada.me().await.unwrap().role, "operator");
    pass(&world, TOKEN_SECONDS - INTERVAL - 1);
    assert_eq!(ada.me().await.unwrap().role, "operator");
    pass(&world, 1);
    assert_eq!(code(ada.me().await), ErrorCode::ApiKeyInvalid);
    assert_eq!(world.issuer.requests("/token").len(), 2, "the provider is not asked a third time");
}

#[tokio::test]
async fn a_session_without_a_new_id_token_serves_no_request_after_the_last_one() {
    let world = world().await;
    let ada = world.signed_in().await;
    world.issuer.set_token(String::new());
    pass(&world, TOKEN_SECONDS + 1);
    let answers = futures::future::join_all((0..4).map(|_| ada.me())).await;
    for answer in answers {
        assert_eq!(code(answer), ErrorCode::ApiKeyInvalid);
    }
}
