//! Tests of the administrative API over HTTPS, against a coordinator in this process.

mod audit;
#[cfg(unix)]
mod collection;
mod components;
mod console;
mod disclosure;
mod endorsements;
mod keys;
mod names;
mod officers;
mod organisations;
mod privacy;
mod quotas;
mod roles;
mod sampled;
mod sessions;
mod sign_in;
mod tasks;
mod tokens;

use folkmoot_api::{AdminClient, AdminError};
use folkmoot_coordinator::task::TaskDescription;
use folkmoot_engine::onnx::build::mlp;
use folkmoot_protocol::ErrorCode;
use folkmoot_rounds::clock::{system_chance, system_clock};
use serde_json::Value;
use tempfile::TempDir;

use folkmoot_service::host::{Host, HostConfig};

/// A coordinator that stops at the end of the test.
struct Running {
    host: Host,
    pem: Vec<u8>,
    folder: TempDir,
}

async fn start() -> Running {
    start_with(|_| {}).await
}

async fn start_with(change: impl FnOnce(&mut HostConfig)) -> Running {
    let folder = tempfile::tempdir().unwrap();
    let mut config = HostConfig::loopback(folder.path().to_owned());
    change(&mut config);
    let host = Host::start(config, system_clock(), system_chance(), None).await.unwrap();
    let pem = std::fs::read(host.root_certificate.as_ref().unwrap()).unwrap();
    Running { host, pem, folder }
}

impl Running {
    fn client(&self, api_key: &str) -> AdminClient {
        AdminClient::new(&self.host.url(), api_key, Some(self.pem.clone())).unwrap()
    }

    /// Returns a client with the coordinator's first admin key.
    fn admin(&self) -> AdminClient {
        self.client(self.host.first_api_key.as_ref().unwrap())
    }
}

fn model() -> Vec<u8> {
    mlp(&[4, 3], 1)
}

fn description() -> TaskDescription {
    serde_json::from_value(described()).unwrap()
}

/// Returns a task with synchronous rounds, as JSON that a test can change.
fn described() -> Value {
    serde_json::json!({
        "name": "digits",
        "population": "digits",
        "plan": {
            "loss": "softmax_cross_entropy",
            "optimizer": { "sgd": { "learning_rate": 0.1 } },
            "epochs": 1,
            "batch_size": 16,
        },
        "scheduling": { "kind": "synchronous", "report_goal": 8 },
        "stop": { "rounds": 30 },
    })
}

/// Returns the code and detail of a refusal.
fn refused<T>(result: Result<T, AdminError>) -> (ErrorCode, String) {
    match result {
        Err(AdminError::Refused(problem)) => (problem.code.known().unwrap(), problem.detail),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was not refused"),
    }
}
