//! The identity provider of the recorded commands.

use folkmoot_protocol::Timestamp;
use folkmoot_sign_in::{
    SignInConfig,
    issuer::{CLIENT, Issuer, Key},
};
use serde_json::json;

/// Returns the configuration of an identity provider that confirms Ada at once.
pub async fn sign_in(now: Timestamp) -> SignInConfig {
    let issuer = Issuer::start().await;
    issuer.set_token(Key::new(1).token(&issuer.claims("no nonce", now)));
    let provider = json!({
        "name": "example",
        "issuer": issuer.url,
        "client_id": CLIENT,
        "roles": { "staff": "viewer" },
    });
    let provider = serde_json::from_value(provider).expect("it is a provider's configuration");
    SignInConfig { providers: vec![provider], ..SignInConfig::default() }
}
