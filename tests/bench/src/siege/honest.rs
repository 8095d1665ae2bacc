use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use folkmoot_client::Transport;
use folkmoot_load::update::{answer, offer};
use folkmoot_protocol::messages::CheckInResponse;
use tokio::task::JoinSet;

use crate::{Failure, clock, host::Ready};

/// The pause of a client before it checks in again. It keeps the client below the coordinator's limit of 20 requests
/// per second.
const PAUSE: Duration = Duration::from_millis(200);

/// The measurements of the honest clients.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The duration of each check-in, in milliseconds.
    pub check_ins_ms: Vec<f64>,
    /// The number of accepted updates.
    pub updates: usize,
    /// The number of failed requests.
    pub failures: usize,
}

/// Clients that take part in every round.
pub struct Cohort {
    seen: Arc<Mutex<Seen>>,
    _clients: JoinSet<()>,
}

impl Cohort {
    /// Starts the clients.
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

    /// Resets the measurements.
    pub fn forget(&self) {
        *lock(&self.seen) = Seen::default();
    }

    /// Returns the measurements since the last reset.
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
    let request = offer();
    loop {
        let started = clock::start();
        let answered = transport.check_in(&request, 0).await;
        // The duration is recorded even if the check-in fails.
        lock(seen).check_ins_ms.push(started.elapsed().as_secs_f64() * 1e3);
        match answered {
            Ok(CheckInResponse::Assigned { assignment }) => {
                return Ok(answer(transport, &assignment, values, schema_digest).await?);
            }
            Ok(CheckInResponse::Wait { .. }) => tokio::time::sleep(PAUSE).await,
            Err(error) => return Err(error.into()),
        }
    }
}

fn lock(seen: &Mutex<Seen>) -> std::sync::MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}
