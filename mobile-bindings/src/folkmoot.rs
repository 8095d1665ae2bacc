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
    /// Held by a run; `None` when the client was forgotten.
    client: Mutex<Option<Client>>,
    examples: Arc<ExampleSet>,
    models: ModelStore,
    care: DeviceCare,
    transparency_log: TransparencyLog,
    has_trainer: bool,
    /// Counts how often it was told to stop.
    stops: watch::Sender<u64>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Record)]
pub struct RunSummary {
    /// The updates that were accepted in this run.
    pub accepted_rounds: u64,
}

/// What a client is and has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Record)]
pub struct Status {
    /// Whether it takes part in rounds now.
    pub is_running: bool,
    /// The examples that were added.
    pub example_count: u64,
}

#[uniffi::export]
impl Folkmoot {
    /// Opens a client: locks its state directory, and draws its key if there is none. Nothing is sent before a start.
    #[uniffi::constructor(default(listener = None, consent = None, trainer = None, secrets = None))]
    pub fn connect(
        options: ConnectOptions,
        listener: Option<Arc<dyn EventListener>>,
        consent: Option<Arc<dyn ConsentCallback>>,
        trainer: Option<Arc<dyn Trainer>>,
        secrets: Option<Arc<dyn SecretStorage>>,
    ) -> Result<Arc<Self>, FolkmootError> {
        let has_trainer = trainer.is_some();
        let mut builder = with_callbacks(options.builder(), listener, consent, trainer);
        if let Some(secrets) = secrets {
            builder = builder.secret_storage(Arc::new(ForeignSecrets(secrets)));
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

    /// The examples of this device.
    pub fn examples(&self) -> Arc<ExampleSet> {
        Arc::clone(&self.examples)
    }

    /// What the client is and has.
    pub fn status(&self) -> Status {
        Status { is_running: self.client.try_lock().is_err(), example_count: self.examples.count() }
    }

    /// Hears what holds of the device now, as often as one likes. A training under way pauses within 250 ms when it may not
    /// go on, and goes on at the same step when it may.
    pub fn set_conditions(&self, conditions: DeviceConditions) {
        self.care.set_conditions(conditions.into());
    }

    /// Pauses for a reason of the app's own, or, with nothing, no longer for one.
    #[uniffi::method(default(reason = None))]
    pub fn set_paused(&self, reason: Option<String>) {
        self.care.set_paused(reason);
    }

    /// What the client did with the user's data, the oldest first; the newest 2,000 entries are kept.
    pub fn transparency_log(&self) -> Result<Vec<LogEntry>, FolkmootError> {
        entries(&self.transparency_log)
    }

    /// Notes in the transparency log that the user agreed, and to which words.
    pub fn consent_given(&self, words: &str) {
        self.transparency_log.consent_given(words);
    }

    /// Notes in the transparency log that the user does not agree any more. It stops nothing.
    pub fn consent_withdrawn(&self) {
        self.transparency_log.consent_withdrawn();
    }

    /// The newest model's outputs for so many rows of features, row-major, which are taken.
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

    /// Takes part in rounds until it is stopped, or, with a number, until so many updates were accepted.
    ///
    /// It enrols first if it has to. A start that is cancelled or killed is gone on with by the next one.
    #[uniffi::method(default(rounds = None))]
    pub async fn start(self: Arc<Self>, rounds: Option<u64>) -> Result<RunSummary, FolkmootError> {
        on_runtime(async move { self.run(rounds).await }).await.map_err(internal)?
    }

    /// Stops taking part. An assignment under way is given up, of which the coordinator hears if it answers in time.
    pub async fn stop(self: Arc<Self>) -> Result<(), FolkmootError> {
        on_runtime(async move { drop(self.stopped().await) }).await.map_err(internal)
    }

    /// Stops, and lets the state directory go, for another client or another process. The client cannot be used any more.
    pub async fn close(self: Arc<Self>) -> Result<(), FolkmootError> {
        on_runtime(async move { drop(self.stopped().await.take()) }).await.map_err(internal)
    }

    /// Stops, and deletes key, state, models and examples. The client cannot be used any more.
    pub async fn forget(self: Arc<Self>) -> Result<(), FolkmootError> {
        let forgotten = async move {
            let client = self.stopped().await.take();
            self.examples.clear();
            client.map_or(Ok(()), Client::forget).map_err(FolkmootError::from)
        };
        on_runtime(forgotten).await.map_err(internal)?
    }
}

/// A run that was cancelled needs a moment to end.
const END_MILLISECONDS_MAX: u64 = 1000;

impl Folkmoot {
    /// Tells a run to stop, and returns the client when it has.
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
            // The other end lives as long as this object.
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
                tracing::warn!(%error, "the app's listener failed");
            }
        });
    }
    if let Some(consent) = consent {
        builder = builder.consent(ask(consent));
    }
    match trainer {
        Some(trainer) => builder.trainer(Arc::new(ForeignTrainer(trainer))),
        // They come before a start.
        None => builder.examples(Examples::none()),
    }
}

fn internal(detail: String) -> FolkmootError {
    FolkmootError::Internal { detail }
}
