//! A client in the middle of an assignment.

use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use folkmoot_engine::{
    Examples, ImportLimits, Labels, Model, Progress, Trainer, Travelling, onnx::build::mlp,
};
use folkmoot_protocol::{
    BlobDigest, LocalOptimizer, Loss, Plan, Timestamp, TrainingPlan, Work,
    messages::{Artifact, Assignment},
};
use folkmoot_training::{FinishedWork, StoredTraining, SystemChance};
use folkmoot_work::{Care, Consent, samples};

use crate::{
    Budget, Device, DeviceCare, Devices, Host, ModelStore,
    care::TimeFiles,
    storage::{BlobCache, WorkStore},
    training::{LocalWork, WorkNews, work},
};

/// A model with two features and two classes, and a client that has all inputs of its assignment. Its clock advances by
/// a second at each reading.
pub(super) struct Scene {
    pub local: LocalWork,
    pub model: Model,
    pub plan: Plan,
    directory: tempfile::TempDir,
}

impl Scene {
    /// A training on 10 examples with batches of 2, so 5 steps per epoch, and this time limit.
    pub fn new(epochs: u32, time_limit_seconds: Option<f32>) -> Self {
        Self::of(10, |plan| {
            plan.training.epochs = epochs;
            plan.training.time_limit_seconds = time_limit_seconds;
        })
    }

    /// An evaluation on this many examples.
    pub fn of_evaluation(example_count: usize) -> Self {
        Self::of(example_count, |plan| plan.work = Work::Evaluation)
    }

    /// A plan after this change, on this many examples.
    pub fn of(example_count: usize, change: impl FnOnce(&mut Plan)) -> Self {
        Self::of_model(mlp(&[2, 2], 1), example_count, change)
    }

    /// Like [`Scene::of`], with another model of two features and two classes.
    pub fn of_model(onnx: Vec<u8>, example_count: usize, change: impl FnOnce(&mut Plan)) -> Self {
        let model = Model::from_onnx(&onnx, &ImportLimits::default()).unwrap();
        let mut plan = whole_plan(&onnx);
        change(&mut plan);
        let directory = tempfile::tempdir().unwrap();
        let blobs = BlobCache::open(&directory.path().join("blobs"), 1 << 20).unwrap();
        let travelling = Travelling::of(&model, &plan.training).unwrap();
        plan.schema = travelling.schema();
        let weights = travelling.starting(&model.initial_weights(), 1).unwrap();
        let weights: Vec<u8> = weights.into_iter().flat_map(f32::to_le_bytes).collect();
        let document = serde_json::to_vec(&plan).unwrap();
        let [document, onnx, weights] = [document, onnx, weights].map(|bytes| put(&blobs, &bytes));
        let now = AtomicU64::new(1_000_000);
        let host = Host::new(move || Timestamp(now.fetch_add(1000, Ordering::Relaxed)), [5; 32]);
        let work = WorkStore::open(&directory.path().join("work")).unwrap();
        let local = LocalWork {
            assignment: Assignment { plan: document, model: onnx, weights, ..samples::assignment() },
            examples: Arc::new(examples(example_count)),
            consent: Consent::default(),
            care: DeviceCare::new(Care::default(), TimeFiles::nowhere(), host.clone()),
            models: models_in(directory.path(), &blobs, &work, &host),
            blobs,
            trainer: None,
            work,
            devices: Devices::new(Device::Cpu, host.clone()),
            budget: Budget::default(),
            host,
            stop: Arc::new(AtomicBool::new(false)),
            asked: Arc::new(AtomicBool::new(false)),
        };
        Self { local, model, plan, directory }
    }

    /// Trains, and returns the work with the last reported progress.
    pub fn train(&self) -> (FinishedWork, Progress) {
        let last = Mutex::new(None);
        let work = work(&self.local, |news| {
            if let WorkNews::Progress(progress) = news {
                *last.lock().unwrap() = Some(progress);
            }
        });
        let progress = last.lock().unwrap().expect("progress is told at least once");
        (work.unwrap().expect("nobody stopped it"), progress)
    }

    /// Adds a control variate to the assignment.
    pub fn share_control_variate(&mut self, values: &[f32]) {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.local.assignment.control_variate = Some(put(&self.local.blobs, &bytes));
    }

    /// The store of models, as opened by a new process.
    pub fn reopened_models(&self) -> ModelStore {
        let LocalWork { blobs, work, host, .. } = &self.local;
        models_in(self.directory.path(), blobs, work, host)
    }

    /// Stores a checkpoint after this many steps and this much time.
    pub fn leave_checkpoint(&self, steps: u64, trained: Duration) {
        let (start, plan) =
            (self.model.initial_weights(), self.local.budget.lower(self.plan.clone()).training);
        let examples = self.local.examples.examples(None).unwrap();
        let mut trainer = Trainer::new(&self.model, &start, plan, &examples, 3).unwrap();
        trainer.set_secret_chance(Box::new(SystemChance::new().unwrap()));
        trainer.advance(steps).unwrap();
        let checkpoint = trainer.checkpoint();
        let bytes = StoredTraining { trained, personal: None, checkpoint: &checkpoint }.encode();
        self.local.work.save_checkpoint(self.local.assignment.assignment_id, &bytes).unwrap();
    }
}

fn whole_plan(onnx: &[u8]) -> Plan {
    Plan {
        model: BlobDigest::of(onnx),
        training: TrainingPlan {
            batch_size: 2,
            ..TrainingPlan::new(Loss::SoftmaxCrossEntropy, LocalOptimizer::sgd(0.01))
        },
        ..samples::plan()
    }
}

pub(super) fn examples(count: usize) -> Examples {
    let features = (0..2 * count).map(|number| (number % 7) as f32 / 7.0).collect();
    let labels = Labels::Classes((0..count).map(|number| (number % 2) as u32).collect());
    Examples::new(features, vec![2], labels).unwrap()
}

fn put(blobs: &BlobCache, bytes: &[u8]) -> Artifact {
    let artifact = Artifact { digest: BlobDigest::of(bytes), bytes: bytes.len() as u64 };
    let mut partial = blobs.begin(artifact).unwrap();
    partial.append(bytes).unwrap();
    assert!(partial.finish().unwrap());
    artifact
}

fn models_in(directory: &Path, blobs: &BlobCache, work: &WorkStore, host: &Host) -> ModelStore {
    let paths = ["newest_model.json", "rolled_out_model.json"].map(|name| directory.join(name));
    ModelStore::open(paths, blobs.clone(), work.clone(), host.clone()).unwrap()
}
