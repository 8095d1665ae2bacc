//! The clients of the demo. Each has its own examples, key, state folder and connections.

use std::{sync::Arc, thread::available_parallelism};

use folkmoot_client::{Client, ClientError, Device, HttpSettings, RunSummary, build_http};
use folkmoot_engine::Examples;
use tokio::{
    sync::{Semaphore, watch},
    task::JoinSet,
};

use super::{
    error::DemoError,
    output::Output,
    traffic::Traffic,
    vanish::{Fate, Vanishing},
};

/// The longest wait of a check-in, in seconds. The coordinator answers as soon as it selects the client.
const WAIT_SECONDS: u32 = 30;

/// The number of a client and the result of its run, or `None` if it has vanished.
type Ended = (usize, Option<Result<RunSummary, ClientError>>);

/// Clients that run until they are stopped or vanish.
pub struct Clients {
    running: JoinSet<Ended>,
    stop: watch::Sender<bool>,
}

/// The settings with which the clients connect to the coordinator.
pub struct Meeting {
    /// The URL of the coordinator.
    pub url: String,
    /// The root certificate to trust, as PEM.
    pub certificate_pem: Option<Vec<u8>>,
    /// The enrolment token.
    pub token: String,
}

impl Clients {
    /// Starts one client for each part of the data. The clients enrol by themselves and report their events to
    /// `traffic`. If `vanishing` says so, a client stops at once, without a word to the coordinator.
    ///
    /// # Errors
    /// [`DemoError`] if a client cannot be created.
    pub fn start(
        meeting: &Meeting,
        parts: Vec<Examples>,
        output: &Output,
        traffic: &Traffic,
        vanishing: &Vanishing,
    ) -> Result<Self, DemoError> {
        let (stop, stopped) = watch::channel(false);
        // More concurrent trainings than cores would gain nothing.
        let slots = Arc::new(Semaphore::new(available_parallelism().map_or(1, usize::from)));
        let mut running = JoinSet::new();
        for (index, examples) in parts.into_iter().enumerate() {
            let number = index + 1;
            let failed = |source| DemoError::Client { number, source: Box::new(source) };
            // Every client has its own connections, as on real devices.
            let settings =
                HttpSettings { certificate_pem: meeting.certificate_pem.clone(), ..HttpSettings::default() };
            let traffic = traffic.clone();
            let fate = Arc::new(Fate::new(vanishing));
            let told = Arc::clone(&fate);
            let client = Client::builder(&meeting.url)
                .http(build_http(&settings)?)
                .enrolment_token(&meeting.token)
                .state_directory(output.client(number))
                .examples(examples)
                .wait_seconds(WAIT_SECONDS)
                // The models are small, and the result must be the same on every machine.
                .device(Device::Cpu)
                .training_slots(Arc::clone(&slots))
                .on_event(move |event| {
                    traffic.record(&event);
                    told.record(&event);
                })
                .build();
            let mut client = client.map_err(failed)?;
            let mut stopped = stopped.clone();
            running.spawn(async move {
                let shutdown = async move {
                    let _ = stopped.wait_for(|is_stopped| *is_stopped).await;
                };
                tokio::select! {
                    biased;
                    () = fate.vanishes() => (number, None),
                    result = client.run(shutdown) => (number, Some(result)),
                }
            });
        }
        Ok(Self { running, stop })
    }

    /// Waits until a client fails, and returns the reason. No client should fail before it is stopped.
    pub async fn failure(&mut self) -> DemoError {
        loop {
            match self.running.join_next().await {
                Some(Ok((number, Some(Err(source))))) => {
                    return DemoError::Client { number, source: Box::new(source) };
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return error.into(),
                None => std::future::pending().await,
            }
        }
    }

    /// Stops all clients and waits for them. They abandon their current work.
    pub async fn stop(mut self) {
        let _ = self.stop.send(true);
        while self.running.join_next().await.is_some() {}
    }
}
