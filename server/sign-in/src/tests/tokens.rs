use folkmoot_protocol::Role;
use serde_json::{Value, json};

use super::{COORDINATOR, NOW, attempt, pair};
use crate::{
    SignInError,
    issuer::{CLIENT, Key, SECRET, hmac_token, unsigned_token},
};

#[tokio::test]
async fn a_person_comes_with_a_code_and_the_highest_role_of_the_groups() {
    let pair = pair().await;
    let url = pair.provider().authorization_url(&attempt(), NOW).await.unwrap();
    let url = reqwest::Url::parse(&url).unwrap();
    let asked: std::collections::BTreeMap<_, _> = url.query_pairs().into_owned().collect();
    assert_eq!(asked["redirect_uri"], format!("{COORDINATOR}/v1/admin/sign-in/example/callback"));
    assert_eq!((asked["code_challenge_method"].as_str(), asked["response_type"].as_str()), ("S256", "code"));
    assert_eq!(asked["scope"], "openid profile");
    assert_eq!(asked["state"], attempt().state("example"));
    assert_eq!(asked["nonce"], attempt().nonce("example"));
    assert!(!url.as_str().contains(&attempt().verifier("example")), "the verifier stays here");

    let person = pair.sign_in().await.unwrap();
    assert_eq!((person.subject.as_str(), person.name.as_str()), ("ada", "Ada Lovelace"));
    assert_eq!((person.role, person.expires_at), (Role::Operator, NOW.plus_seconds(600)));
    let exchanged = &pair.issuer.requests("/token")[0];
    assert!(exchanged.contains(&format!("code_verifier={}", attempt().verifier("example"))), "{exchanged}");
}

#[tokio::test]
async fn hostile_tokens_are_refused() {
    let pair = pair().await;
    let (key, right) = (Key::new(1), pair.claims());
    let changed = |name: &str, value: Value| {
        let mut claims = right.clone();
        claims[name] = value;
        key.token(&claims)
    };
    let without = |name: &str| {
        let mut claims = right.clone();
        claims.as_object_mut().unwrap().remove(name);
        key.token(&claims)
    };
    let seconds = NOW.0 / 1000;
    let public = key.public()["x"].as_str().unwrap().as_bytes().to_vec();
    let (head, signature) = {
        let token = key.token(&right);
        let (head, signature) = token.rsplit_once('.').unwrap();
        (head.to_owned(), signature.to_owned())
    };
    let cases = [
        ("no signature", unsigned_token(&right)),
        ("an empty signature", format!("{head}.")),
        ("a stranger's key under a known id", {
            let other = Key::new(2).token(&right);
            format!("{head}.{}", other.rsplit_once('.').unwrap().1)
        }),
        ("a signature of other claims", {
            let other = changed("sub", json!("eve"));
            format!("{}.{signature}", other.rsplit_once('.').unwrap().0)
        }),
        ("HMAC with the public key", hmac_token(&public, &right)),
        ("HMAC with the client secret", hmac_token(SECRET.as_bytes(), &right)),
        ("a foreign issuer", changed("iss", json!("https://evil.example"))),
        ("a foreign audience", changed("aud", json!("another client"))),
        ("one more audience", changed("aud", json!([CLIENT, "another client"]))),
        ("a foreign nonce", changed("nonce", json!("0"))),
        ("no nonce", without("nonce")),
        ("expired", changed("exp", json!(seconds))),
        ("issued in the future", changed("iat", json!(seconds + 301))),
        ("no expiry", without("exp")),
        ("a control character in the subject", changed("sub", json!("ada\n2026 admin"))),
        ("a long subject", changed("sub", json!("a".repeat(256)))),
        ("no token at all", String::new()),
        ("no JWT", "a.b.c".into()),
    ];
    for (what, token) in cases {
        pair.issuer.set_token(token);
        let refused = pair.sign_in().await;
        assert!(
            matches!(refused, Err(SignInError::Unverified(_) | SignInError::Unavailable(_))),
            "{what}: {refused:?}"
        );
    }
    pair.issuer.set_token(key.token(&right));
    assert!(pair.sign_in().await.is_ok(), "the right token is accepted");
}

#[tokio::test]
async fn a_foreign_state_is_refused_before_any_request() {
    let pair = pair().await;
    let foreign = crate::Attempt::from_random_bytes([8; 32]);
    for state in ["", "0", &foreign.state("example"), &attempt().state("other"), &attempt().nonce("example")]
    {
        let refused = pair.provider().person(&attempt(), state, "code", NOW).await;
        assert!(matches!(refused, Err(SignInError::Unverified(_))), "{refused:?}");
    }
    assert!(pair.issuer.requests("/token").is_empty());
}

#[tokio::test]
async fn an_unknown_key_is_looked_for_once() {
    let pair = pair().await;
    pair.sign_in().await.unwrap();
    pair.sign_in().await.unwrap();
    assert_eq!(pair.issuer.requests("/jwks").len(), 1, "the keys are cached");

    let (new, claims) = (Key::new(2), pair.claims());
    pair.issuer.set_keys(&[&new]);
    pair.issuer.set_token(new.token(&claims));
    assert_eq!(pair.sign_in().await.unwrap().subject, "ada");
    assert_eq!(pair.issuer.requests("/jwks").len(), 2);

    pair.issuer.set_token(Key::new(1).token(&claims));
    let old = pair.sign_in().await;
    assert!(matches!(old, Err(SignInError::Unverified(_))), "{old:?}");
    assert_eq!(pair.issuer.requests("/jwks").len(), 3);
}

#[tokio::test]
async fn who_has_no_group_with_a_role_is_named_and_refused() {
    let pair = pair().await;
    for groups in
        [json!(["choir"]), json!([]), json!(null), json!(7), json!([["owners"]]), json!({ "owners": 1 })]
    {
        let mut claims = pair.claims();
        claims["groups"] = groups;
        pair.issuer.set_token(Key::new(1).token(&claims));
        let no_role = SignInError::NoRole { subject: "ada".into(), name: "Ada Lovelace".into() };
        assert_eq!(pair.sign_in().await, Err(no_role));
    }
    let mut claims = pair.claims();
    claims["groups"] = json!("owners");
    claims["name"] = json!("\u{202e} \u{0007}");
    claims["exp"] = json!(NOW.0 / 1000 + 1_000_000);
    pair.issuer.set_token(Key::new(1).token(&claims));
    let person = pair.sign_in().await.unwrap();
    assert_eq!((person.role, person.name.as_str()), (Role::Admin, "ada"));
    assert_eq!(person.expires_at, NOW.plus_seconds(12 * 3600), "a session has a largest duration");
}
