//! Sends any bytes over a connection to the coordinator's router with a real database. No response may be an internal
//! error.

#![no_main]

use std::{cell::RefCell, sync::Arc, time::Duration};

use folkmoot_edge::{Edge, HttpLimits};
use folkmoot_fuzz::prepare;
use folkmoot_protocol::Role;
use folkmoot_round_log::RoundLog;
use folkmoot_rounds::{coordinator::Coordinator, credential::Credential, device::Authenticator};
use folkmoot_service::http::{self, App, openapi};
use folkmoot_objects::BlobStore;
use folkmoot_storage::{ApiKeyRecord, ApiKeyRepository, PopulationRepository, SqlOptions, SqlStorage};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto::Builder,
    service::TowerToHyperService,
};
use libfuzzer_sys::fuzz_target;
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    runtime::{self, Runtime},
    time::timeout,
};

const NOW: folkmoot_protocol::Timestamp = folkmoot_protocol::Timestamp(1_700_000_000_000);
/// The number of inputs after which a new coordinator replaces the old one.
const INPUTS: u32 = 2_000;
/// The time limit for a response. Long polls would take longer; the target stops waiting for them.
const PATIENCE: Duration = Duration::from_secs(5);

/// A coordinator without drivers.
struct World {
    runtime: Runtime,
    app: App,
    inputs: u32,
}

thread_local! {
    static WORLD: RefCell<World> = RefCell::new(World::new());
}

fn admin_key() -> Credential {
    Credential::from_random_bytes([1; 8], [2; 32])
}

impl World {
    fn new() -> Self {
        let runtime =
            runtime::Builder::new_current_thread().enable_all().build().expect("a runtime needs nothing");
        let app = runtime.block_on(Self::app());
        Self { runtime, app, inputs: 0 }
    }

    async fn app() -> App {
        let options = SqlOptions::default();
        let storage = SqlStorage::connect("sqlite::memory:", options)
            .await
            .expect("a database in memory needs nothing");
        let chance = ChaCha20Rng::seed_from_u64(1);
        let coordinator = Coordinator::new(storage, BlobStore::in_memory(), RoundLog::in_memory(), chance);
        let organisation = folkmoot_protocol::OrganisationId::from_random_bytes([1; 16]);
        let storage = &coordinator.storage;
        let organisation_id =
            storage.ensure_organisation("default", organisation, NOW).await.expect("it is new");
        let key = admin_key();
        let record = ApiKeyRecord {
            id: key.id.clone(),
            organisation_id,
            name: "first key".into(),
            role: Role::Admin,
            secret_hash: key.secret_hash(),
            created_at: NOW,
            revoked_at: None,
            rotation: None,
            used_at: None,
        };
        storage.create_api_key(&record).await.expect("it is new");
        App {
            coordinator: Arc::new(coordinator),
            authenticator: Arc::new(Authenticator::default()),
            clock: Arc::new(|| NOW),
            limits: Arc::new(HttpLimits::default()),
            edge: Arc::new(Edge::new(&HttpLimits::default())),
            metrics: None,
            started_at: NOW,
            listeners: Arc::default(),
            renewals: Arc::default(),
            first_run: None,
            drivers: Arc::default(),
            closing: tokio::sync::watch::channel(false).1,
        }
    }

    /// Sends the bytes, closes the sending side, and returns the first bytes of the response.
    fn answer(&mut self, bytes: &[u8]) -> Vec<u8> {
        let app = self.app.clone();
        self.runtime.block_on(async {
            let (mut near, far) = tokio::io::duplex(1 << 20);
            let service = TowerToHyperService::new(http::router(app));
            let mut builder = Builder::new(TokioExecutor::new());
            builder.http1().timer(TokioTimer::new());
            let mut answer = Vec::new();
            let served = async { drop(builder.serve_connection(TokioIo::new(far), service).await) };
            let asked = async {
                let _ = near.write_all(bytes).await;
                let _ = near.shutdown().await;
                let _ = near.take(1 << 16).read_to_end(&mut answer).await;
            };
            // Run both to completion, so that the end of the response is not lost. The timeout stops responses that
            // would not end.
            let _ = timeout(PATIENCE, async { tokio::join!(served, asked) }).await;
            answer
        })
    }
}

/// Returns a request to every operation of the API, with an admin's key and a plausible body.
fn seeds() -> Vec<Vec<u8>> {
    let document: serde_json::Value = serde_json::from_str(&openapi::document()).expect("it is JSON");
    let mut seeds = Vec::new();
    let paths = document["paths"].as_object().expect("the document lists paths");
    for (path, operations) in paths {
        for method in operations.as_object().expect("a path lists operations").keys() {
            let path = path.replace("{population}", "digits").replace("{id}", "0".repeat(32).as_str());
            let path = path.replace("{number}", "1").replace("{digest}", "0".repeat(64).as_str());
            let body =
                r#"{"name":"a","role":"viewer","population":"digits","uses_max":1,"plan":{},"version":1}"#;
            let head = format!(
                "{} {path}?limit=2 HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {}\r\n\
                 content-type: application/json\r\ncontent-length: {}\r\n\r\n",
                method.to_uppercase(),
                admin_key(),
                body.len()
            );
            seeds.push([head.as_bytes(), body.as_bytes()].concat());
        }
    }
    seeds
}

fuzz_target!(init: prepare(seeds), |bytes: &[u8]| {
    WORLD.with_borrow_mut(|world| {
        if world.inputs == INPUTS {
            *world = World::new();
        }
        world.inputs += 1;
        let answer = world.answer(bytes);
        let status = String::from_utf8_lossy(&answer[..answer.len().min(12)]).into_owned();
        assert!(!status.ends_with("500"), "{}", String::from_utf8_lossy(&answer));
    });
});
