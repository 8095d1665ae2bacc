//! A coordinator with an identity provider.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use folkmoot_api::{AdminClient, AdminError, Page, session::DeviceSignInState};
use folkmoot_coordinator::audit_log::Record;
use folkmoot_edge::Proxies;
use folkmoot_protocol::{ErrorCode, Timestamp};
use folkmoot_rounds::clock::{Clock, system_chance, system_clock};
use folkmoot_service::host::{Host, HostConfig};
use folkmoot_sign_in::{
    SignInConfig,
    issuer::{CLIENT, Issuer, Key},
};
use serde_json::{Value, json};
use tempfile::TempDir;

const WORKS: &str = "the coordinator and its provider work";

/// A coordinator with the identity provider `example`, and a clock that only the test advances.
pub(super) struct World {
    pub(super) host: Host,
    pub(super) issuer: Issuer,
    _folder: TempDir,
    /// The time in milliseconds.
    pub(super) now: Arc<AtomicU64>,
}

pub(super) async fn world_of(organisation: &str) -> World {
    let (issuer, folder) = (Issuer::start().await, tempfile::tempdir().expect(WORKS));
    let now = Arc::new(AtomicU64::new(system_clock()().0));
    let time = now.clone();
    let clock: Clock = Arc::new(move || Timestamp(time.load(Ordering::Relaxed)));
    let provider = json!({
        "name": "example",
        "organisation": organisation,
        "issuer": issuer.url,
        "client_id": CLIENT,
        "roles": { "staff": "viewer", "builders": "operator" },
    });
    let providers = vec![serde_json::from_value(provider).expect(WORKS)];
    let mut config = HostConfig {
        has_tls: false,
        sign_in: SignInConfig { providers, ..SignInConfig::default() },
        ..HostConfig::loopback(folder.path().to_owned())
    };
    // Addresses of this machine have no limits, so a test must send others.
    config.limits.trusted_proxies = Arc::new(Proxies::parse(&["127.0.0.1".into()]).expect(WORKS));
    let host = Host::start(config, clock, system_chance(), None).await.expect(WORKS);
    World { host, issuer, _folder: folder, now }
}

pub(super) fn newest<C>() -> Page<C> {
    Page { limit: 100, before: None }
}

impl World {
    pub(super) fn client(&self, credential: &str) -> AdminClient {
        AdminClient::new(&self.host.url(), credential, None).expect(WORKS)
    }

    pub(super) fn admin(&self) -> AdminClient {
        self.client(self.host.first_api_key.as_ref().expect(WORKS))
    }

    /// Lets the issuer confirm Ada, with changes to the claims.
    pub(super) fn confirm(&self, change: impl FnOnce(&mut Value)) {
        let mut claims = self.issuer.claims("no nonce", Timestamp(self.now.load(Ordering::Relaxed)));
        change(&mut claims);
        self.issuer.set_token(Key::new(1).token(&claims));
        self.issuer.change("/token", None);
    }

    pub(super) async fn ask(&self) -> Result<DeviceSignInState, AdminError> {
        self.client("").device_sign_in("example", "code").await
    }

    /// Signs in, and returns a client with the session.
    pub(super) async fn signed_in(&self) -> AdminClient {
        match self.ask().await.expect(WORKS) {
            DeviceSignInState::SignedIn { session, .. } => self.client(&session),
            _ => panic!("nobody has signed in"),
        }
    }

    pub(super) async fn records(&self) -> Vec<Record> {
        let page = self.admin().audit(Some(0), 100).await.expect(WORKS);
        page.entries.iter().map(|entry| serde_json::from_str(&entry.record).expect(WORKS)).collect()
    }
}

/// Returns the code and detail of a refusal.
pub(super) fn refused<T>(result: Result<T, AdminError>) -> (ErrorCode, String) {
    match result {
        Err(AdminError::Refused(problem)) => (problem.code.known().expect(WORKS), problem.detail),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was not refused"),
    }
}

pub(super) fn code<T>(result: Result<T, AdminError>) -> ErrorCode {
    refused(result).0
}
