//! The clients: each with its own examples, key, state directory and connections.

use std::{sync::Arc, thread::available_parallelism};

use folkmoot_client::{Client, ClientError, Device, HttpSettings, RunSummary, build_http};
use folkmoot_engine::Examples;
use tokio::{
    sync::{Semaphore, watch},
    task::JoinSet,
};

use super::{error::DemoError, output::Output, traffic::Traffic};

/// The longest that a check-in waits: they are answered as soon as a client is drawn.
const WAIT_SECONDS: u32 = 30;

/// Clients that run until they are stopped.
pub struct Clients {
    running: JoinSet<(usize, Result<RunSummary, ClientError>)>,
    stop: watch::Sender<bool>,
}

/// Where the clients find their coordinator.
pub struct Meeting {
    /// Its address.
    pub url: String,
    /// The certificate that vouches for it.
    pub certificate_pem: Option<Vec<u8>>,
    /// What lets them enrol.
    pub token: String,
}

impl Clients {
    /// Starts a client for every part of the data. They enrol by themselves and tell `traffic`.
    ///
    /// # Errors
    /// [`DemoError`] if one of them cannot be made.
    pub fn start(
        meeting: &Meeting,
        parts: Vec<Examples>,
        output: &Output,
        traffic: &Traffic,
    ) -> Result<Self, DemoError> {
        let (stop, stopped) = watch::channel(false);
        // More trainings at a time than there are cores would only take turns.
        let slots = Arc::new(Semaphore::new(available_parallelism().map_or(1, usize::from)));
        let mut running = JoinSet::new();
        for (index, examples) in parts.into_iter().enumerate() {
            let number = index + 1;
            let failed = |source| DemoError::Client { number, source: Box::new(source) };
            // As real devices do, every client has connections of its own.
            let settings =
                HttpSettings { certificate_pem: meeting.certificate_pem.clone(), http1_only: false };
            let traffic = traffic.clone();
            let client = Client::builder(&meeting.url)
                .http(build_http(&settings)?)
                .enrolment_token(&meeting.token)
                .state_directory(output.client(number))
                .examples(examples)
                .wait_seconds(WAIT_SECONDS)
                // Its models are small, and its result is to be the same on every machine.
                .device(Device::Cpu)
                .training_slots(Arc::clone(&slots))
                .on_event(move |event| traffic.record(&event))
                .build();
            let mut client = client.map_err(failed)?;
            let mut stopped = stopped.clone();
            running.spawn(async move {
                let shutdown = async move {
                    let _ = stopped.wait_for(|is_stopped| *is_stopped).await;
                };
                (number, client.run(shutdown).await)
            });
        }
        Ok(Self { running, stop })
    }

    /// Waits until a client ends, which none should before it is stopped, and says why.
    pub async fn failure(&mut self) -> DemoError {
        loop {
            match self.running.join_next().await {
                Some(Ok((number, Err(source)))) => {
                    return DemoError::Client { number, source: Box::new(source) };
                }
                Some(Ok((_, Ok(_)))) => {}
                Some(Err(error)) => return error.into(),
                None => std::future::pending().await,
            }
        }
    }

    /// Stops all clients and waits for them. What they were at is given up.
    pub async fn stop(mut self) {
        let _ = self.stop.send(true);
        while self.running.join_next().await.is_some() {}
    }
}
