use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use folkmoot_engine::{EvaluateError, ImportLimits, Model};
use folkmoot_protocol::{
    TaskId,
    messages::{AbortReason, Artifact, Assignment},
};
use folkmoot_training::{Inputs, parse_plan, predicting_weights, read_weights, travelling, with_output};
use folkmoot_work::WorkError;
use serde::{Deserialize, Serialize};

use crate::{
    Host,
    storage::{BlobCache, StorageError, WorkStore, read_if_present, write_private},
};

const RECORD_VERSION: u32 = 2;

/// The record of the newest model. Its bytes are blobs in the cache.
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
}

#[derive(Default)]
struct Known {
    record: Option<Record>,
    loaded: Option<Arc<NewestModel>>,
}

/// The newest model on this device, which is the model of the last assignment. Clones share their state.
#[derive(Clone)]
pub struct ModelStore {
    path: PathBuf,
    blobs: BlobCache,
    work: WorkStore,
    host: Host,
    known: Arc<Mutex<Known>>,
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

impl ModelStore {
    /// Reads the record of the newest model. An unreadable record is treated as missing, because the next assignment
    /// brings a new one.
    pub(crate) fn open(
        path: PathBuf,
        blobs: BlobCache,
        work: WorkStore,
        host: Host,
    ) -> Result<Self, StorageError> {
        let bytes = read_if_present(&path)?.unwrap_or_default();
        let record = serde_json::from_slice::<Record>(&bytes).ok();
        let record = record.filter(|record| record.version == RECORD_VERSION);
        let known = Arc::new(Mutex::new(Known { record, loaded: None }));
        Ok(Self { path, blobs, work, host, known })
    }

    /// Returns the newest model. Returns `None` if no assignment has brought one, or if it was evicted from the cache.
    ///
    /// # Errors
    /// [`StorageError`] if the cache cannot be read.
    pub fn newest(&self) -> Result<Option<Arc<NewestModel>>, StorageError> {
        let mut known = self.lock();
        if let (Some(record), None) = (&known.record, &known.loaded) {
            known.loaded = self.load(record)?.map(Arc::new);
        }
        Ok(known.loaded.clone())
    }

    /// Records an assignment's model as the newest one. If the record cannot be written, logs a warning; the model is
    /// then unknown after a restart.
    pub(crate) fn note(&self, assignment: &Assignment, inputs: &Inputs) {
        let record = Record {
            version: RECORD_VERSION,
            task_id: assignment.task_id,
            base_version: assignment.base_version,
            plan: assignment.plan,
            model: assignment.model,
            weights: assignment.weights,
            weights_parts: assignment.weights_parts.clone(),
        };
        let mut known = self.lock();
        if known.record.as_ref() == Some(&record) {
            return;
        }
        let json = serde_json::to_vec(&record).expect("a record has string keys only");
        if let Err(error) = write_private(&self.path, &json) {
            tracing::warn!(%error, "could not record which model is the newest");
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
        *known = Known { record: Some(record), loaded };
    }

    /// Reads the newest model again when it is next asked for, because its personal tensors have changed.
    pub(crate) fn reload(&self) {
        self.lock().loaded = None;
    }

    /// Forgets the newest model.
    pub(crate) fn clear(&self) {
        *self.lock() = Known::default();
    }

    fn load(&self, record: &Record) -> Result<Option<NewestModel>, StorageError> {
        let now = self.host.now();
        let read =
            |artifact| self.blobs.read(artifact, now).map_err(|error| StorageError::at(&self.path, error));
        let (Some(plan), Some(onnx)) = (read(record.plan)?, read(record.model)?) else { return Ok(None) };
        let Ok(model) = Model::from_onnx(&onnx, &ImportLimits::default()) else { return Ok(None) };
        let fitted = parse_plan(&plan).and_then(|plan| {
            let model = with_output(&plan, &model)?;
            Ok((travelling(&plan, &model)?, model))
        });
        let Ok((travelling, model)) = fitted else { return Ok(None) };
        // If a blob is missing, there is no model.
        let read = |artifact: Artifact| {
            let missing =
                || WorkError::new(AbortReason::FetchFailed, "a blob of the model is no longer in the cache");
            read(artifact).ok().flatten().ok_or_else(missing)
        };
        let Ok(values) = read_weights(record.weights, &record.weights_parts, &travelling, read) else {
            return Ok(None);
        };
        let own = self.work.own_tensors().load(record.task_id)?;
        let Ok(weights) = predicting_weights(&travelling, values, own.as_deref()) else { return Ok(None) };
        Ok(Some(NewestModel { task_id: record.task_id, version: record.base_version, model, weights }))
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for ModelStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelStore").field("path", &self.path).finish_non_exhaustive()
    }
}
