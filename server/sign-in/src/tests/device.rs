//! Sign-in with a code that a person enters in a browser on any machine.

use folkmoot_protocol::Role;
use serde_json::{Value, json};

use super::{NOW, Pair, pair};
use crate::{
    DEVICE_CODE_BYTES_MAX, DeviceSignIn, SignInError,
    issuer::{CLIENT, Key},
};

const CODE: &str = "a code of the device";

impl Pair {
    async fn ask(&self) -> Result<DeviceSignIn, SignInError> {
        self.provider().device_person(CODE, NOW).await
    }

    /// Returns the error of a sign-in that begins with a changed answer of the provider.
    async fn begin_with(&self, field: &str, value: Value) -> SignInError {
        let mut answer = self.issuer.device();
        answer[field] = value;
        self.issuer.change("/device", Some((200, answer.to_string())));
        self.provider().device_authorization(NOW).await.err().unwrap_or_else(|| panic!("{field}"))
    }
}

#[tokio::test]
async fn a_person_enters_a_code_and_is_known() {
    let pair = pair().await;
    let begun = pair.provider().device_authorization(NOW).await.unwrap();
    assert_eq!((begun.device_code.as_str(), begun.user_code.as_str()), (CODE, "WDJB-MJHT"));
    assert_eq!(begun.verification_uri, format!("{}/enter", pair.issuer.url));
    assert_eq!(begun.verification_uri_complete, Some(format!("{}/enter?code=WDJB-MJHT", pair.issuer.url)));
    assert_eq!((begun.expires_in_seconds, begun.interval_seconds), (600, 5));
    assert_eq!(pair.issuer.requests("/device"), ["scope=openid+profile"]);

    for (code, state) in
        [("authorization_pending", DeviceSignIn::Pending), ("slow_down", DeviceSignIn::SlowDown)]
    {
        pair.issuer.refuse_tokens(code);
        assert_eq!(pair.ask().await, Ok(state));
    }
    assert_eq!(pair.issuer.requests("/token").len(), 2, "each question is one request");
    pair.issuer.change("/token", None);
    let Ok(DeviceSignIn::Person(person)) = pair.ask().await else { panic!("the provider confirms") };
    assert_eq!((person.subject.as_str(), person.role), ("ada", Role::Operator));
    assert_eq!(person.expires_at, NOW.plus_seconds(600));
    let asked = pair.issuer.requests("/token").pop().unwrap();
    assert_eq!(
        asked,
        "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code=a+code+of+the+device"
    );
}

#[tokio::test]
async fn an_end_without_a_person_says_why() {
    let pair = pair().await;
    for (code, reason) in [("access_denied", "declined"), ("expired_token", "in time")] {
        pair.issuer.refuse_tokens(code);
        match pair.ask().await {
            Err(SignInError::NotCompleted(text)) => assert!(text.contains(reason), "{text}"),
            other => panic!("{other:?}"),
        }
    }
    pair.issuer.refuse_tokens("invalid_grant");
    assert!(matches!(pair.ask().await, Err(SignInError::Unverified(text)) if text.contains("invalid_grant")));
    let asked = pair.issuer.requests("/token").len();
    for wrong in ["", &"a".repeat(DEVICE_CODE_BYTES_MAX + 1)] {
        let refused = pair.provider().device_person(wrong, NOW).await;
        assert!(matches!(refused, Err(SignInError::Unverified(_))), "{refused:?}");
    }
    assert_eq!(pair.issuer.requests("/token").len(), asked, "the provider gets no such code");
}

#[tokio::test]
async fn tokens_of_this_flow_are_verified_too() {
    let pair = pair().await;
    let (key, right) = (Key::new(1), pair.claims());
    let seconds = NOW.0 / 1000;
    for (field, value) in [
        ("iss", json!("https://evil.example")),
        ("aud", json!("another client")),
        ("aud", json!([CLIENT, "another client"])),
        ("exp", json!(seconds)),
        ("iat", json!(seconds + 301)),
        ("sub", json!("a\nb")),
    ] {
        let mut claims = right.clone();
        claims[field] = value;
        pair.issuer.set_token(key.token(&claims));
        assert!(matches!(pair.ask().await, Err(SignInError::Unverified(_))), "{field}");
    }
    pair.issuer.set_token(crate::issuer::unsigned_token(&right));
    assert!(matches!(pair.ask().await, Err(SignInError::Unverified(_))));

    let mut claims = right;
    claims["groups"] = json!(["choir"]);
    pair.issuer.set_token(key.token(&claims));
    let no_role = SignInError::NoRole { subject: "ada".into(), name: "Ada Lovelace".into() };
    assert_eq!(pair.ask().await, Err(no_role));

    // The provider has changed its keys.
    let new = Key::new(2);
    pair.issuer.set_keys(&[&new]);
    pair.issuer.set_token(new.token(&pair.claims()));
    assert!(matches!(pair.ask().await, Ok(DeviceSignIn::Person(_))));
}

#[tokio::test]
async fn a_provider_without_this_flow_is_named_with_a_remedy() {
    let pair = pair().await;
    pair.issuer.change_document(|document| {
        document.as_object_mut().unwrap().remove("device_authorization_endpoint");
    });
    let error = pair.provider().device_authorization(NOW).await.err().unwrap().to_string();
    assert!(error.contains("has no device_authorization_endpoint; allow the device"), "{error}");

    let pair = super::pair().await;
    for (code, is_remedied) in [("unauthorized_client", true), ("invalid_client", false)] {
        pair.issuer.change("/device", Some((400, json!({ "error": code }).to_string())));
        let error = pair.provider().device_authorization(NOW).await.err().unwrap();
        assert_eq!(matches!(error, SignInError::NoDeviceGrant(_)), is_remedied, "{error}");
    }
}

#[tokio::test]
async fn unusable_answers_are_refused() {
    let pair = pair().await;
    for (field, value) in [
        ("device_code", json!("a".repeat(DEVICE_CODE_BYTES_MAX + 1))),
        ("device_code", json!("")),
        ("user_code", json!("a".repeat(65))),
        ("user_code", json!("\u{1b}[2J")),
        ("verification_uri", json!("http://provider.example/enter")),
        ("verification_uri", json!("javascript:alert(1)")),
        ("verification_uri", json!(format!("https://provider.example/{}", "a".repeat(2048)))),
    ] {
        let error = pair.begin_with(field, value).await;
        assert!(matches!(&error, SignInError::Unavailable(text) if text.contains(field)), "{field}: {error}");
    }
    let mut answer = pair.issuer.device();
    answer["expires_in"] = json!(u64::MAX);
    answer["interval"] = json!(0);
    answer["verification_uri_complete"] = json!("ftp://provider.example");
    pair.issuer.change("/device", Some((200, answer.to_string())));
    let begun = pair.provider().device_authorization(NOW).await.unwrap();
    assert_eq!((begun.expires_in_seconds, begun.interval_seconds), (3600, 1));
    assert_eq!(begun.verification_uri_complete, None);

    let huge = " ".repeat(300_000);
    for answer in [(200, huge.clone()), (400, huge), (502, "busy".into()), (200, "{}".into())] {
        pair.issuer.change("/device", Some(answer.clone()));
        pair.issuer.change("/token", Some(answer));
        let begun = pair.provider().device_authorization(NOW).await.err();
        assert!(matches!(begun, Some(SignInError::Unavailable(_))), "{begun:?}");
        let asked = pair.ask().await;
        assert!(matches!(asked, Err(SignInError::Unavailable(_))), "{asked:?}");
    }
}
