//! Tests against a small issuer in this process, whose answers can be hostile.

mod device;
mod limits;
mod renewal;
mod settings;
mod tokens;

use folkmoot_protocol::{Role, Timestamp};

use crate::{
    Attempt, Provider, ProviderConfig, Providers, SignInConfig,
    http::HttpLimits,
    issuer::{self, Issuer, Key},
};

/// The time of all tests.
const NOW: Timestamp = Timestamp(1_800_000_000_000);
/// The address of the coordinator.
const COORDINATOR: &str = "https://coordinator.example";

fn attempt() -> Attempt {
    Attempt::from_random_bytes([9; 32])
}

/// Returns a configuration with one provider, `example`.
fn configured(issuer: &str) -> SignInConfig {
    let roles = [("staff", Role::Viewer), ("builders", Role::Operator), ("owners", Role::Admin)];
    let provider = ProviderConfig {
        name: "example".into(),
        organisation: "default".into(),
        issuer: issuer.into(),
        client_id: issuer::CLIENT.into(),
        client_secret_file: None,
        client_secret_variable: Some("SECRET".into()),
        scopes: vec!["profile".into()],
        groups_claim: "groups".into(),
        ca_file: None,
        roles: roles.map(|(group, role)| (group.to_owned(), role)).into(),
    };
    SignInConfig { providers: vec![provider], ..SignInConfig::default() }
}

fn providers(issuer: &str, limits: HttpLimits) -> Providers {
    let environment = |name: &str| (name == "SECRET").then(|| issuer::SECRET.to_owned());
    Providers::with_limits(&configured(issuer), COORDINATOR, &environment, limits).unwrap()
}

/// An issuer and the coordinator's view of it.
struct Pair {
    issuer: Issuer,
    providers: Providers,
}

async fn pair() -> Pair {
    let issuer = Issuer::start().await;
    issuer.set_token(Key::new(1).token(&issuer.claims(&attempt().nonce("example"), NOW)));
    let providers = providers(&issuer.url, HttpLimits::default());
    Pair { issuer, providers }
}

impl Pair {
    /// Returns the claims of a right token.
    fn claims(&self) -> serde_json::Value {
        self.issuer.claims(&attempt().nonce("example"), NOW)
    }

    fn provider(&self) -> &Provider {
        self.providers.get("example").unwrap()
    }

    /// Finishes an attempt with the right state.
    async fn sign_in(&self) -> Result<crate::Person, crate::SignInError> {
        let attempt = attempt();
        self.provider().person(&attempt, &attempt.state("example"), "code", NOW).await
    }
}
