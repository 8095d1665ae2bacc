//! The demo's task and clients for the console of a running coordinator.

use std::sync::{Arc, Mutex, PoisonError};

use folkmoot_coordinator::task::TaskDescription;
use folkmoot_service::{
    host::{MakeFirstRun, Place},
    http::FirstRun,
};

use super::{
    clients::{Clients, Meeting},
    data::{self, DemoModel},
    error::DemoError,
    output::Output,
    plan,
    traffic::Traffic,
    vanish::Vanishing,
};

const CLIENTS: u32 = 20;
const COHORT: u32 = 10;
/// The number of rounds, enough for a person to watch the training.
const ROUNDS: u32 = 100;
const ALPHA: f64 = 1.0;
const SEED: u64 = 1;
/// The folder for the clients' state, inside the data folder.
const FOLDER: &str = "demo";

/// The digits demo.
struct Digits {
    place: Place,
    clients: Mutex<Option<Clients>>,
}

/// Returns the demo that a running coordinator offers on its first run.
pub fn first_run() -> MakeFirstRun {
    MakeFirstRun(|place| Arc::new(Digits { place: place.clone(), clients: Mutex::new(None) }))
}

impl Digits {
    fn begin(&self, token: &str) -> Result<Clients, DemoError> {
        let certificate = self.place.root_certificate.as_ref();
        let unread = |source| DemoError::Output { path: self.place.data.clone(), source };
        let meeting = Meeting {
            url: self.place.url.clone(),
            certificate_pem: certificate.map(std::fs::read).transpose().map_err(unread)?,
            token: token.to_owned(),
        };
        let data = data::deal(CLIENTS as usize, ALPHA, SEED)?;
        let output = Output::open(&self.place.data.join(FOLDER))?;
        Clients::start(&meeting, data.parts, &output, &Traffic::default(), &Vanishing::default())
    }
}

impl FirstRun for Digits {
    fn model(&self) -> &'static [u8] {
        DemoModel::Mlp.onnx()
    }

    fn description(&self) -> TaskDescription {
        plan::description(ROUNDS, COHORT, None)
    }

    fn clients(&self) -> u64 {
        CLIENTS.into()
    }

    fn start(&self, token: &str) -> Result<(), String> {
        let clients = self.begin(token).map_err(|error| error.to_string())?;
        *self.clients.lock().unwrap_or_else(PoisonError::into_inner) = Some(clients);
        Ok(())
    }
}
