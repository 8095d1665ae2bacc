use serde_json::json;

use super::{NOW, Pair, pair};
use crate::{Person, RefreshToken, Renewal, SignInError, issuer::Key};

fn first() -> RefreshToken {
    RefreshToken::new("the first")
}

async fn renew(pair: &Pair) -> Result<Option<Person>, SignInError> {
    pair.provider().renew(&first(), "ada", NOW).await
}

#[tokio::test]
async fn a_refresh_token_lets_a_session_outlive_its_id_token() {
    let pair = pair().await;
    let without = pair.sign_in().await.unwrap();
    assert_eq!((without.expires_at, without.renewal), (NOW.plus_seconds(600), None));
    pair.issuer.set_refresh_token(Some("the first"));
    let with = pair.sign_in().await.unwrap();
    assert_eq!(with.expires_at, NOW.plus_seconds(12 * 3600));
    // The ID token expires before the interval of 15 minutes ends.
    let until = NOW.plus_seconds(600);
    assert_eq!(with.renewal, Some(Renewal { at: until, confirmed_until: until, token: first() }));
    pair.issuer.set_refresh_token(Some(&"a".repeat(8193)));
    assert_eq!(pair.sign_in().await.unwrap().renewal, None, "it is too long to be kept");
}

#[tokio::test]
async fn a_renewal_has_the_groups_of_today_and_needs_no_nonce() {
    let pair = pair().await;
    let mut claims = pair.claims();
    claims["groups"] = json!(["staff"]);
    claims["exp"] = json!(NOW.0 / 1000 + 3600);
    claims.as_object_mut().unwrap().remove("nonce");
    pair.issuer.set_token(Key::new(1).token(&claims));
    let person = renew(&pair).await.unwrap().unwrap();
    assert_eq!(person.role.name(), "viewer");
    // This provider does not rotate its refresh tokens, so the old one stays.
    let renewal =
        Renewal { at: NOW.plus_seconds(900), confirmed_until: NOW.plus_seconds(3600), token: first() };
    assert_eq!(person.renewal, Some(renewal));
    let request = pair.issuer.requests("/token").remove(0);
    assert!(request.contains("grant_type=refresh_token") && request.contains("the+first"), "{request}");

    pair.issuer.set_refresh_token(Some("the second"));
    let rotated = renew(&pair).await.unwrap().unwrap().renewal.unwrap();
    assert_eq!(rotated.token, RefreshToken::new("the second"));
}

#[tokio::test]
async fn a_renewal_is_verified_like_a_sign_in() {
    let pair = pair().await;
    pair.issuer.set_token(String::new());
    assert_eq!(renew(&pair).await, Ok(None), "an answer without an ID token is allowed");
    let changes = [
        ("sub", json!("eve")),
        ("iss", json!("https://other.example")),
        ("aud", json!("another client")),
        ("exp", json!(NOW.0 / 1000 - 1)),
    ];
    for (claim, value) in changes {
        let mut claims = pair.claims();
        claims[claim] = value;
        pair.issuer.set_token(Key::new(1).token(&claims));
        let refused = renew(&pair).await;
        assert!(matches!(refused, Err(SignInError::Unverified(_))), "{claim}: {refused:?}");
    }
    // Somebody else without a role is not named as the person of this session.
    let mut claims = pair.claims();
    (claims["sub"], claims["groups"]) = (json!("eve"), json!([]));
    pair.issuer.set_token(Key::new(1).token(&claims));
    assert!(matches!(renew(&pair).await, Err(SignInError::Unverified(_))));
    claims["sub"] = json!("ada");
    pair.issuer.set_token(Key::new(1).token(&claims));
    assert!(matches!(renew(&pair).await, Err(SignInError::NoRole { .. })));
}

#[tokio::test]
async fn only_a_refused_token_ends_a_session() {
    let pair = pair().await;
    pair.issuer.refuse_tokens("invalid_grant");
    assert!(matches!(renew(&pair).await, Err(SignInError::Unverified(_))));
    // The coordinator's own secret was changed at the provider: an operator can mend that.
    pair.issuer.refuse_tokens("invalid_client");
    assert!(matches!(renew(&pair).await, Err(SignInError::Unavailable(_))));
    pair.issuer.change("/token", Some((503, "busy".into())));
    assert!(matches!(renew(&pair).await, Err(SignInError::Unavailable(_))));
}

#[tokio::test]
async fn a_refresh_token_is_given_up_where_the_provider_allows_it() {
    let pair = pair().await;
    pair.issuer.change("/revoke", Some((200, String::new())));
    pair.provider().revoke(&first(), NOW).await.unwrap();
    let request = pair.issuer.requests("/revoke").remove(0);
    assert!(request.contains("the+first"), "{request}");
    pair.issuer.change("/revoke", Some((503, "busy".into())));
    assert!(matches!(pair.provider().revoke(&first(), NOW).await, Err(SignInError::Unavailable(_))));

    let other = super::pair().await;
    other.issuer.change_document(|document| {
        document.as_object_mut().unwrap().remove("revocation_endpoint");
    });
    other.provider().revoke(&first(), NOW).await.unwrap();
    assert!(other.issuer.requests("/revoke").is_empty());
}
