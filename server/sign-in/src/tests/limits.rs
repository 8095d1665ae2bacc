use std::time::Duration;

use openidconnect::AsyncHttpClient;
use tokio::net::TcpListener;

use super::{COORDINATOR, NOW, attempt, pair, providers};
use crate::{
    SignInError,
    http::{Http, HttpLimits},
    issuer::{CLIENT, Issuer},
};

fn unavailable<T: std::fmt::Debug>(answer: Result<T, SignInError>, reason: &str) {
    match answer {
        Err(SignInError::Unavailable(text)) => assert!(text.contains(reason), "{text}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_huge_set_of_keys_is_not_read() {
    let pair = pair().await;
    pair.issuer.set_key_document(format!("{{\"keys\":[{}]}}", " ".repeat(300_000)));
    unavailable(pair.provider().authorization_url(&attempt(), NOW).await, "more than 262144 bytes");
}

#[tokio::test]
async fn a_provider_that_never_answers_is_given_up_and_left_in_peace() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let limits = HttpLimits { timeout: Duration::from_millis(20), ..HttpLimits::default() };
    let providers = providers(&url, limits);
    let provider = providers.get("example").unwrap();
    unavailable(provider.authorization_url(&attempt(), NOW).await, "timed out");
    // The next seconds need no request.
    drop(silent);
    unavailable(provider.authorization_url(&attempt(), NOW.plus_seconds(4)).await, "timed out");
    unavailable(provider.authorization_url(&attempt(), NOW.plus_seconds(5)).await, "refused");
    assert_eq!(provider.sign_out_url(NOW.plus_seconds(5)).await, None);
}

#[tokio::test]
async fn documents_are_fetched_again_after_an_hour() {
    let pair = pair().await;
    for (seconds, fetched) in [(0, 1), (3599, 1), (3600, 2), (3601, 2)] {
        pair.provider().authorization_url(&attempt(), NOW.plus_seconds(seconds)).await.unwrap();
        assert_eq!(pair.issuer.requests("/jwks").len(), fetched, "after {seconds} s");
    }
}

#[tokio::test]
async fn a_document_of_another_issuer_is_refused() {
    let issuer = Issuer::start().await;
    let other = issuer.url.replace("127.0.0.1", "localhost");
    let providers = providers(&other, HttpLimits::default());
    let answer = providers.get("example").unwrap().authorization_url(&attempt(), NOW).await;
    unavailable(answer, "unexpected issuer");
}

#[tokio::test]
async fn no_request_leaves_this_machine_without_encryption() {
    let http = Http::new(None, HttpLimits::default()).unwrap();
    let request = openidconnect::http::Request::get("http://provider.example/jwks").body(Vec::new()).unwrap();
    let error = http.call(request).await.unwrap_err().to_string();
    assert!(error.contains("is not encrypted"), "{error}");
}

#[tokio::test]
async fn signing_out_leads_to_the_provider_and_back() {
    let pair = pair().await;
    let url = pair.provider().sign_out_url(NOW).await.unwrap();
    let url = reqwest::Url::parse(&url).unwrap();
    assert!(url.as_str().starts_with(&format!("{}/end?", pair.issuer.url)));
    let asked: std::collections::BTreeMap<_, _> = url.query_pairs().into_owned().collect();
    assert_eq!(asked["post_logout_redirect_uri"], format!("{COORDINATOR}/console/"));
    assert_eq!(asked["client_id"], CLIENT);
}
