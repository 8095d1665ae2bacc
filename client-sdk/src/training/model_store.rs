use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use folkmoot_engine::{EvaluateError, ImportLimits, Model};
use folkmoot_protocol::{
    TaskId,
    messages::{AbortReason, Artifact, Assignment, Rollout},
};
use folkmoot_training::{Inputs, parse_plan, predicting_weights, read_weights, travelling, with_output};
use folkmoot_work::WorkError;
use serde::{Deserialize, Serialize};

use crate::{
    Host,
    storage::{BlobCache, StorageError, WorkStore, read_if_present, remove_if_present, write_private},
};

const RECORD_VERSION: u32 = 2;

/// The reason why a model without its blobs cannot be used.
const EVICTED: &str = "a blob of the model is no longer in the cache";

/// The record of a model. Its bytes are blobs in the cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Record {
    version: u32,
    task_id: TaskId,
    base_version: u64,
    plan: Artifact,
    model: Artifact,
    weights: Artifact,
    #[serde(default)]
    weights_parts: Vec<Artifact>,
    /// The rollout that brought the model; `None` if an assignment did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rollout: Option<RolloutNote>,
}

/// The rollout that brought a model, and whether the coordinator knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RolloutNote {
    /// The rollout's number.
    number: u64,
    /// True if the coordinator knows that the model was loaded.
    is_reported: bool,
}

impl Record {
    fn of(rollout: &Rollout) -> Self {
        Self {
            version: RECORD_VERSION,
            task_id: rollout.task_id,
            base_version: rollout.version,
            plan: rollout.plan,
            model: rollout.model,
            weights: rollout.weights,
            weights_parts: Vec::new(),
            rollout: Some(RolloutNote { number: rollout.number, is_reported: false }),
        }
    }

    fn parts(&self) -> Vec<Artifact> {
        [self.plan, self.model, self.weights].into_iter().chain(self.weights_parts.iter().copied()).collect()
    }
}

#[derive(Default)]
struct Known {
    record: Option<Record>,
    loaded: Option<Arc<NewestModel>>,
    /// True after the client was forgotten. Nothing is written any more.
    is_closed: bool,
}

/// One model on this device. Clones share their state.
#[derive(Clone)]
struct Slot {
    path: PathBuf,
    known: Arc<Mutex<Known>>,
}

/// The models on this device: the one that an operator has rolled out to it, and the one of the last assignment. Clones share
/// their state.
#[derive(Clone)]
pub struct ModelStore {
    assigned: Slot,
    rolled_out: Slot,
    blobs: BlobCache,
    work: WorkStore,
    host: Host,
    /// Held by the update that runs.
    pub(crate) updating: Arc<tokio::sync::Mutex<()>>,
}

/// A model and the weights of one version, for predictions.
#[derive(Debug)]
pub struct NewestModel {
    /// The task that trains the model.
    pub task_id: TaskId,
    /// The number of the model version.
    pub version: u64,
    /// The model.
    pub model: Model,
    /// All weights, flat, in the order of the model's parameters. Personal tensors have this client's own values, and so has the
    /// whole model if it has one of its own.
    pub weights: Vec<f32>,
}

impl NewestModel {
    /// Returns the outputs `[rows, …]` for the features `[rows, …]`, both in row-major order.
    ///
    /// # Errors
    /// [`EvaluateError`] if the number of features does not match `rows`.
    pub fn predict(&self, features: &[f32], rows: usize) -> Result<Vec<f32>, EvaluateError> {
        self.model.predict(&self.weights, features, rows)
    }
}

impl Slot {
    /// Reads the record. An unreadable one is treated as missing, because the next model replaces it.
    fn open(path: PathBuf) -> Result<Self, StorageError> {
        let bytes = read_if_present(&path)?.unwrap_or_default();
        let record = serde_json::from_slice::<Record>(&bytes).ok();
        let record = record.filter(|record| record.version == RECORD_VERSION);
        Ok(Self { path, known: Arc::new(Mutex::new(Known { record, ..Known::default() })) })
    }

    /// Replaces the model. If the record cannot be written, logs a warning; the model is then unknown after a restart.
    fn set(&self, known: &mut Known, record: Record, loaded: Option<Arc<NewestModel>>) {
        if known.is_closed {
            return;
        }
        let json = serde_json::to_vec(&record).expect("a record has string keys only");
        if let Err(error) = write_private(&self.path, &json) {
            tracing::warn!(%error, "could not record which model is the newest");
        }
        (known.record, known.loaded) = (Some(record), loaded);
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ModelStore {
    /// Reads the records of the models, from the files of the last assignment's and the rolled-out model.
    pub(crate) fn open(
        [assigned, rolled_out]: [PathBuf; 2],
        blobs: BlobCache,
        work: WorkStore,
        host: Host,
    ) -> Result<Self, StorageError> {
        let (assigned, rolled_out) = (Slot::open(assigned)?, Slot::open(rolled_out)?);
        blobs.pin(&rolled_out.lock().record.as_ref().map(Record::parts).unwrap_or_default());
        Ok(Self { assigned, rolled_out, blobs, work, host, updating: Arc::default() })
    }

    /// Returns the model that predictions should use: the one that an operator has rolled out to this device, or else that of
    /// the last assignment. Returns `None` if there is neither, or if it was evicted from the cache.
    ///
    /// # Errors
    /// [`StorageError`] if the cache cannot be read.
    pub fn newest(&self) -> Result<Option<Arc<NewestModel>>, StorageError> {
        match self.loaded(&self.rolled_out)? {
            Some(model) => Ok(Some(model)),
            None => self.loaded(&self.assigned),
        }
    }

    fn loaded(&self, slot: &Slot) -> Result<Option<Arc<NewestModel>>, StorageError> {
        let mut known = slot.lock();
        if let (Some(record), None) = (&known.record, &known.loaded) {
            known.loaded = self.load(&slot.path, record)?.ok().map(Arc::new);
        }
        Ok(known.loaded.clone())
    }

    /// Records an assignment's model as the newest one.
    pub(crate) fn note(&self, assignment: &Assignment, inputs: &Inputs) {
        let record = Record {
            version: RECORD_VERSION,
            task_id: assignment.task_id,
            base_version: assignment.base_version,
            plan: assignment.plan,
            model: assignment.model,
            weights: assignment.weights,
            weights_parts: assignment.weights_parts.clone(),
            rollout: None,
        };
        let mut known = self.assigned.lock();
        if known.record.as_ref() == Some(&record) {
            return;
        }
        // If the app has made predictions before, replace its loaded model now. Otherwise nothing is loaded.
        let loaded = known.loaded.is_some().then(|| {
            Arc::new(NewestModel {
                task_id: record.task_id,
                version: record.base_version,
                model: inputs.model.clone(),
                weights: inputs.own_or_starting_weights().to_vec(),
            })
        });
        self.assigned.set(&mut known, record, loaded);
    }

    /// Returns whether the coordinator knows that the model of this rollout was loaded; `None` if the model is not here.
    pub(crate) fn knows(&self, rollout: &Rollout) -> Option<bool> {
        let known = self.rolled_out.lock();
        let record = known.record.as_ref()?;
        let is_reported = record.rollout?.is_reported;
        let note = Some(RolloutNote { number: rollout.number, is_reported });
        let is_same = *record == Record { rollout: note, ..Record::of(rollout) };
        let is_here = || record.parts().iter().all(|part| self.blobs.seems_to_hold(*part));
        (is_same && is_here()).then_some(is_reported)
    }

    /// Loads the blobs of a rollout and tries a prediction. If it succeeds, predictions use the model from now on; otherwise
    /// returns why it cannot be used, and keeps the model before.
    pub(crate) fn roll_out(&self, rollout: &Rollout) -> Result<Result<(), String>, StorageError> {
        let record = Record::of(rollout);
        let tried = self.load(&self.rolled_out.path, &record)?.and_then(|model| {
            if let Some(index) = model.weights.iter().position(|weight| !weight.is_finite()) {
                return Err(format!("weight {index} is NaN or infinite"));
            }
            let zeros = vec![0.0; model.model.input_shape().iter().product()];
            model.predict(&zeros, 1).map_err(|error| error.to_string())?;
            Ok(Arc::new(model))
        });
        Ok(tried.map(|model| {
            self.blobs.pin(&record.parts());
            self.rolled_out.set(&mut self.rolled_out.lock(), record, Some(model));
        }))
    }

    /// Records that the coordinator knows that the model of this rollout was loaded.
    pub(crate) fn note_reported(&self, number: u64) {
        let mut known = self.rolled_out.lock();
        let (record, loaded) = (known.record.clone(), known.loaded.clone());
        if let Some(record) = record.filter(|record| record.rollout.is_some_and(|note| note.number == number))
        {
            let rollout = Some(RolloutNote { number, is_reported: true });
            self.rolled_out.set(&mut known, Record { rollout, ..record }, loaded);
        }
    }

    /// Forgets the rolled-out model, because none is rolled out to this device any more.
    pub(crate) fn end_rollout(&self) -> Result<(), StorageError> {
        let mut known = self.rolled_out.lock();
        (known.record, known.loaded) = (None, None);
        self.blobs.pin(&[]);
        remove_if_present(&self.rolled_out.path)
    }

    /// Reads the models again when they are next asked for, because their personal tensors have changed.
    pub(crate) fn reload(&self) {
        for slot in [&self.assigned, &self.rolled_out] {
            slot.lock().loaded = None;
        }
    }

    /// Forgets the models for good, because the client is forgotten.
    pub(crate) fn clear(&self) {
        for slot in [&self.assigned, &self.rolled_out] {
            *slot.lock() = Known { is_closed: true, ..Known::default() };
        }
    }

    /// Loads a model, or returns why it cannot be used.
    fn load(&self, path: &Path, record: &Record) -> Result<Result<NewestModel, String>, StorageError> {
        let now = self.host.now();
        let read = |artifact| self.blobs.read(artifact, now).map_err(|error| StorageError::at(path, error));
        let (Some(plan), Some(onnx)) = (read(record.plan)?, read(record.model)?) else {
            return Ok(Err(EVICTED.to_owned()));
        };
        let own = self.work.own_tensors().load(record.task_id)?;
        let read = |artifact: Artifact| {
            let missing = || WorkError::new(AbortReason::FetchFailed, EVICTED);
            read(artifact).ok().flatten().ok_or_else(missing)
        };
        let loaded = || {
            let model = Model::from_onnx(&onnx, &ImportLimits::default())
                .map_err(|error| WorkError::new(AbortReason::PlanUnsupported, error))?;
            let plan = parse_plan(&plan)?;
            let model = with_output(&plan, &model)?;
            let travelling = travelling(&plan, &model)?;
            let values = read_weights(record.weights, &record.weights_parts, &travelling, read)?;
            let weights = predicting_weights(&travelling, values, own.as_deref())?;
            Ok(NewestModel { task_id: record.task_id, version: record.base_version, model, weights })
        };
        Ok(loaded().map_err(|error: WorkError| error.detail))
    }
}

impl std::fmt::Debug for ModelStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelStore").field("path", &self.assigned.path).finish_non_exhaustive()
    }
}
