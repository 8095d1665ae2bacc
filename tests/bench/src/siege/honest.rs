use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use folkmoot_client::Transport;
use folkmoot_protocol::messages::{CheckInRequest, CheckInResponse};
use tokio::task::JoinSet;

use crate::{Failure, clock, host::Ready, ingest::load};

/// How long a client rests before it checks in again: together with fetching and sending it stays below the 20 requests a
/// second that a coordinator allows one client.
const PAUSE: Duration = Duration::from_millis(200);

/// What the clients have seen.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// How long each check-in took, in milliseconds.
    pub check_ins_ms: Vec<f64>,
    /// Updates that were accepted.
    pub updates: usize,
    /// Requests that failed.
    pub failures: usize,
}

/// Clients that take part in every round.
pub struct Cohort {
    seen: Arc<Mutex<Seen>>,
    _clients: JoinSet<()>,
}

impl Cohort {
    /// Lets the clients begin.
    pub fn begin(ready: &Ready, transports: Vec<Transport>, parameters: usize) -> Self {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let values: Arc<Vec<f32>> = Arc::new((0..parameters).map(|i| (i % 997) as f32 * 1e-5).collect());
        let mut clients = JoinSet::new();
        for transport in transports {
            let (seen, values, schema_digest) = (seen.clone(), values.clone(), ready.schema_digest);
            clients.spawn(async move {
                loop {
                    let outcome = take_part(&transport, &values, schema_digest, &seen).await;
                    tokio::time::sleep(PAUSE).await;
                    let mut seen = lock(&seen);
                    match outcome {
                        Ok(()) => seen.updates += 1,
                        Err(_) => seen.failures += 1,
                    }
                }
            });
        }
        Self { seen, _clients: clients }
    }

    /// Begins a new account.
    pub fn forget(&self) {
        *lock(&self.seen) = Seen::default();
    }

    /// Returns the account.
    pub fn seen(&self) -> Result<Seen, Failure> {
        let seen = lock(&self.seen).clone();
        if seen.check_ins_ms.is_empty() {
            return Err("no check-in was answered".into());
        }
        Ok(seen)
    }
}

async fn take_part(
    transport: &Transport,
    values: &[f32],
    schema_digest: [u8; 32],
    seen: &Mutex<Seen>,
) -> Result<(), Failure> {
    let request = CheckInRequest {
        sdk_version: "bench".into(),
        example_count: 100,
        attributes: Default::default(),
        codecs: Vec::new(),
    };
    loop {
        let started = clock::start();
        let answer = transport.check_in(&request, 0).await;
        // One that failed took its time all the same.
        lock(seen).check_ins_ms.push(started.elapsed().as_secs_f64() * 1e3);
        match answer {
            Ok(CheckInResponse::Assigned { assignment }) => {
                return load::answer(transport, assignment, values, schema_digest).await;
            }
            Ok(CheckInResponse::Wait { .. }) => tokio::time::sleep(PAUSE).await,
            Err(error) => return Err(error.into()),
        }
    }
}

fn lock(seen: &Mutex<Seen>) -> std::sync::MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}
