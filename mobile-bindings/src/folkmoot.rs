use std::{sync::Arc, time::Duration};

use folkmoot_client::{Client, ClientBuilder, DeviceCare, ModelStore, TransparencyLog, engine::Examples};
use tokio::{
    sync::{Mutex, MutexGuard, watch},
    time::timeout,
};

use crate::{
    ConnectOptions, ConsentCallback, DeviceConditions, EventListener, ExampleSet, FloatBuffer, FolkmootError,
    LogEntry, Prediction, SecretStorage, Trainer,
    care::{ForeignSecrets, entries},
    consent::ask,
    runtime::on_runtime,
    trainer::ForeignTrainer,
};

/// One client of one coordinator.
#[derive(uniffi::Object)]
pub struct Folkmoot {
    /// Locked while a run uses it; `None` after the client was forgotten or closed.
    client: Mutex<Option<Client>>,
    examples: Arc<ExampleSet>,
    models: ModelStore,
    care: DeviceCare,
    transparency_log: TransparencyLog,
    has_trainer: bool,
    /// Counts the requests to stop.
    stops: watch::Sender<u64>,
}

/// The outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Record)]
pub struct RunSummary {
    /// The number of updates that were accepted in this run.
    pub accepted_rounds: u64,
}

/// The state of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Record)]
pub struct Status {
    /// Whether the client is currently taking part in rounds.
    pub is_running: bool,
    /// The number of examples that were added.
    pub example_count: u64,
}

#[uniffi::export]
impl Folkmoot {
    /// Opens a client: locks its state directory, and generates its key if there is none. Sends nothing until it is
    /// started.
    #[uniffi::constructor(default(listener = None, consent = None, trainer = None, secrets = None))]
    pub fn connect(
        options: ConnectOptions,
        listener: Option<Arc<dyn EventListener>>,
        consent: Option<Arc<dyn ConsentCallback>>,
        trainer: Option<Arc<dyn Trainer>>,
        secrets: Option<Arc<dyn SecretStorage>>,
    ) -> Result<Arc<Self>, FolkmootError> {
        let has_trainer = trainer.is_some();
        let mut builder = with_callbacks(options.builder()?, listener, consent, trainer);
        if let Some(secrets) = secrets {
            builder = builder.secrets(Arc::new(ForeignSecrets(secrets)));
        }
        let client = builder.build()?;
        Ok(Arc::new(Self {
            models: client.models().clone(),
            care: client.care().clone(),
            transparency_log: client.transparency_log().clone(),
            client: Mutex::new(Some(client)),
            examples: Arc::default(),
            has_trainer,
            stops: watch::channel(0).0,
        }))
    }

    /// Returns the examples of this device.
    pub fn examples(&self) -> Arc<ExampleSet> {
        Arc::clone(&self.examples)
    }

    /// Returns the state of the client.
    pub fn status(&self) -> Status {
        Status { is_running: self.client.try_lock().is_err(), example_count: self.examples.count() }
    }

    /// Sets the device's current conditions. Call it as often as you like. If training is no longer allowed, it pauses
    /// within 250 ms, and later continues at the same step.
    pub fn set_conditions(&self, conditions: DeviceConditions) {
        self.care.set_conditions(conditions.into());
    }

    /// Pauses training for a reason of the app's own. Without a reason, ends that pause.
    #[uniffi::method(default(reason = None))]
    pub fn set_paused(&self, reason: Option<String>) {
        self.care.set_paused(reason);
    }

    /// Returns how the client used the user's data, the oldest entry first. The newest 2,000 entries are kept.
    pub fn transparency_log(&self) -> Result<Vec<LogEntry>, FolkmootError> {
        entries(&self.transparency_log)
    }

    /// Records in the transparency log that the user consented, and the text that the user consented to.
    pub fn consent_given(&self, words: &str) {
        self.transparency_log.consent_given(words);
    }

    /// Records in the transparency log that the user withdrew consent. This does not stop the client.
    pub fn consent_withdrawn(&self) {
        self.transparency_log.consent_withdrawn();
    }

    /// Returns the newest model's outputs for `rows` rows of features, in row-major order. The call takes the features
    /// out of their buffer.
    pub fn predict(&self, features: Arc<FloatBuffer>, rows: u64) -> Result<Prediction, FolkmootError> {
        let newest = self.models.newest()?.ok_or(FolkmootError::NoModel)?;
        let outputs = newest.predict(&features.take(), usize::try_from(rows).unwrap_or(usize::MAX))?;
        Ok(Prediction {
            outputs: Arc::new(outputs.into()),
            shape: newest.model.output_shape().iter().map(|size| *size as u64).collect(),
            task_id: newest.task_id.to_string(),
            version: newest.version,
        })
    }

    /// Takes part in rounds until it is stopped or, if `rounds` is given, until that many updates were accepted.
    ///
    /// The client enrols first if necessary. If the call is cancelled or the process is killed, the next start
    /// continues where this one ended.
    #[uniffi::method(default(rounds = None))]
    pub async fn start(self: Arc<Self>, rounds: Option<u64>) -> Result<RunSummary, FolkmootError> {
        on_runtime(async move { self.run(rounds).await }).await.map_err(internal)?
    }

    /// Stops taking part in rounds and gives up the current assignment. The client tells the coordinator if it can be
    /// reached in time.
    pub async fn stop(self: Arc<Self>) -> Result<(), FolkmootError> {
        on_runtime(async move { drop(self.stopped().await) }).await.map_err(internal)
    }

    /// Stops the client and releases the state directory for another client or process. The client cannot be used
    /// afterwards.
    pub async fn close(self: Arc<Self>) -> Result<(), FolkmootError> {
        on_runtime(async move { drop(self.stopped().await.take()) }).await.map_err(internal)
    }

    /// Stops the client and deletes its key, state, models and examples. The client cannot be used afterwards.
    pub async fn forget(self: Arc<Self>) -> Result<(), FolkmootError> {
        let forgotten = async move {
            let client = self.stopped().await.take();
            self.examples.clear();
            client.map_or(Ok(()), Client::forget).map_err(FolkmootError::from)
        };
        on_runtime(forgotten).await.map_err(internal)?
    }
}

/// The maximum time, in milliseconds, to wait for a cancelled run to end.
const END_MILLISECONDS_MAX: u64 = 1000;

impl Folkmoot {
    /// Stops the current run, if any, and returns the client once it has ended.
    async fn stopped(&self) -> MutexGuard<'_, Option<Client>> {
        self.stops.send_modify(|stops| *stops += 1);
        self.client.lock().await
    }

    async fn run(&self, rounds: Option<u64>) -> Result<RunSummary, FolkmootError> {
        let mut stops = self.stops.subscribe();
        let patience = Duration::from_millis(END_MILLISECONDS_MAX);
        let held = timeout(patience, self.client.lock()).await;
        let mut held = held.map_err(|_| FolkmootError::AlreadyRunning)?;
        let client = held.as_mut().ok_or(FolkmootError::Forgotten)?;
        match self.examples.joined()? {
            Some(examples) => client.set_examples(examples),
            None if self.has_trainer => {}
            None => return Err(FolkmootError::NoExamples),
        }
        let stopped = async move {
            // `self` holds the sender, so `changed` cannot fail.
            let _ = stops.changed().await;
        };
        let summary = match rounds {
            Some(rounds) => client.run_rounds(rounds, stopped).await?,
            None => client.run(stopped).await?,
        };
        Ok(RunSummary { accepted_rounds: summary.accepted_rounds })
    }
}

fn with_callbacks(
    mut builder: ClientBuilder,
    listener: Option<Arc<dyn EventListener>>,
    consent: Option<Arc<dyn ConsentCallback>>,
    trainer: Option<Arc<dyn Trainer>>,
) -> ClientBuilder {
    if let Some(listener) = listener {
        builder = builder.on_event(move |event| {
            if let Err(error) = listener.on_event(event.into()) {
                tracing::warn!(%error, "the app's event listener failed");
            }
        });
    }
    if let Some(consent) = consent {
        builder = builder.ask_before(ask(consent));
    }
    match trainer {
        Some(trainer) => builder.trainer(Arc::new(ForeignTrainer(trainer))),
        // The examples are set before each start.
        None => builder.examples(Examples::none()),
    }
}

fn internal(detail: String) -> FolkmootError {
    FolkmootError::Internal { detail }
}
