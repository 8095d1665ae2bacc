//! Compares whole training runs with those of an independent framework. `tests/engine/trajectories` has its results and
//! scripts.

use std::path::{Path, PathBuf};

use folkmoot_engine::{Examples, ImportLimits, Labels, Model, TrainError, Trainer, TrainingPlan};
use serde::Deserialize;

/// The largest relative difference of a loss. Measured on x86-64: 2.4e-6; other SIMD widths round differently.
const LOSS_TOLERANCE: f64 = 5e-5;
/// The largest difference of a tensor's sum, norm or element, relative to the tensor's norm. Measured: 8e-6.
const WEIGHT_TOLERANCE: f64 = 1e-4;
/// Covers weights that decay towards 0, and the limited digits of the files.
const ABSOLUTE_TOLERANCE: f64 = 1e-7;

/// A training run of another framework, as the README of `tests/engine/trajectories` describes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trajectory {
    pub model: String,
    pub plan: TrainingPlan,
    batch_size: usize,
    feature_shape: Vec<usize>,
    label_kind: LabelKind,
    /// The difference between the framework's own training runs in single and double precision.
    pub float64_deviation: f64,
    batches: Vec<Batch>,
    losses: Vec<f64>,
    pub weights: Vec<TrainedTensor>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum LabelKind {
    Classes,
    Targets,
}

#[derive(Deserialize)]
struct Batch {
    features: Vec<f32>,
    labels: Vec<f64>,
}

/// A tensor after the training, or by how much the training moved it.
#[derive(Deserialize)]
pub struct TrainedTensor {
    pub name: String,
    /// The number of elements, if the file states it.
    #[serde(default)]
    pub elements: usize,
    pub sum: f64,
    pub norm: f64,
    pub first: Vec<f64>,
}

impl Trajectory {
    /// Returns the examples of all batches, one after another.
    fn examples(&self) -> Examples {
        let labels: Vec<f64> = self.batches.iter().flat_map(|batch| batch.labels.iter().copied()).collect();
        let features = self.batches.iter().flat_map(|batch| batch.features.iter().copied()).collect();
        let per_example = labels.len() / (self.batches.len() * self.batch_size);
        let classes = || labels.iter().map(|class| *class as u32).collect();
        let labels = match self.label_kind {
            LabelKind::Classes if per_example == 1 => Labels::Classes(classes()),
            LabelKind::Classes => Labels::Sequences(classes(), per_example),
            LabelKind::Targets => {
                Labels::Targets(labels.iter().map(|target| *target as f32).collect(), per_example)
            }
        };
        Examples::new(features, self.feature_shape.clone(), labels).expect("the lengths fit")
    }

    /// Returns a trainer with this trajectory's plan and examples.
    pub fn trainer(&self, model: &Model) -> Result<Trainer, TrainError> {
        let (batch_size, output) = (self.batch_size as u32, Some(model.output_name().to_owned()));
        let plan = TrainingPlan { batch_size, output, ..self.plan.clone() };
        Trainer::new(model, &model.initial_weights(), plan, &self.examples(), 0)
    }

    /// Trains, and returns the largest difference of a loss, relative to this loss or to `smallest`, whichever is
    /// larger.
    pub fn follow_losses(&self, trainer: &mut Trainer, smallest: f64) -> Result<f64, TrainError> {
        let mut largest = 0f64;
        for (step, expected) in self.losses.iter().enumerate() {
            let first = step % self.batches.len() * self.batch_size;
            let rows: Vec<usize> = (first..first + self.batch_size).collect();
            let found = trainer.step_on(&rows)?.loss;
            let beyond = ((found - expected).abs() - ABSOLUTE_TOLERANCE).max(0.0);
            largest = largest.max(beyond / expected.abs().max(smallest));
        }
        Ok(largest)
    }

    pub fn largest_loss(&self) -> f64 {
        self.losses.iter().copied().fold(0.0, f64::max)
    }

    /// Trains, and returns the largest relative differences of losses and weights.
    fn follow(&self, model: &Model, mut trainer: Trainer) -> (f64, f64) {
        let loss = self.follow_losses(&mut trainer, 0.0).expect("this training does not diverge");
        (loss, self.weight_difference(model, trainer.weights()))
    }

    fn weight_difference(&self, model: &Model, mut weights: &[f32]) -> f64 {
        let mut largest = 0f64;
        for spec in model.parameters() {
            let (own, others) = weights.split_at(spec.element_count());
            weights = others;
            let expected = self.weights.iter().find(|tensor| tensor.name == spec.name);
            let expected = expected.expect("the trajectory has every tensor");
            let exact = || own.iter().copied().map(f64::from);
            let norm = exact().map(|weight| weight * weight).sum::<f64>().sqrt();
            let mut pairs = vec![(norm, expected.norm), (exact().sum(), expected.sum)];
            pairs.extend(exact().zip(expected.first.iter().copied()));
            for (found, wanted) in pairs {
                let beyond = ((found - wanted).abs() - ABSOLUTE_TOLERANCE).max(0.0);
                largest = largest.max(beyond / expected.norm.max(ABSOLUTE_TOLERANCE));
            }
        }
        largest
    }
}

/// Returns the root of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the name of each trajectory, the trajectory, and its model.
fn trajectories() -> Vec<(String, Trajectory, Model)> {
    let folder = repository().join("tests/engine/trajectories");
    let files = std::fs::read_dir(&folder).expect("the trajectories are in the repository");
    let mut paths: Vec<PathBuf> = files.map(|file| file.expect("the folder can be read").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    assert!(paths.len() >= 11, "{} trajectories are not all", paths.len());
    let read = |path: PathBuf| {
        let name = path.file_stem().expect("a file has a name").to_string_lossy().into_owned();
        let json = std::fs::read(path).expect("the file can be read");
        let trajectory: Trajectory =
            serde_json::from_slice(&json).unwrap_or_else(|error| panic!("{name}: {error}"));
        let onnx = repository().join(format!("examples/models/{}.onnx", trajectory.model));
        let onnx = std::fs::read(onnx).expect("every trajectory has its model");
        let model = Model::from_onnx(&onnx, &ImportLimits::default())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        (name, trajectory, model)
    };
    paths.into_iter().map(read).collect()
}

/// Follows every trajectory with a plan that the device computes, and fails if a difference exceeds its tolerance.
fn follow_all(device: &str, computes: fn(&TrainingPlan) -> bool, prepare: impl Fn(&mut Trainer)) {
    let mut faults = Vec::new();
    for (name, trajectory, model) in trajectories() {
        if !computes(&trajectory.plan) {
            continue;
        }
        let mut trainer = trajectory.trainer(&model).expect("plan and examples fit");
        prepare(&mut trainer);
        let (loss, weight) = trajectory.follow(&model, trainer);
        // Where rounding alone changes the framework's own result, ours may differ as much.
        let slack = 2.0 * trajectory.float64_deviation;
        println!(
            "{device}, {name}: losses within {loss:.1e}, weights within {weight:.1e}, slack {slack:.1e}"
        );
        if !(loss <= LOSS_TOLERANCE + slack && weight <= WEIGHT_TOLERANCE + slack) {
            faults.push(format!("{name}: losses differ by {loss:.1e}, weights by {weight:.1e}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn fifty_steps_follow_the_reference() {
    follow_all("cpu", |_| true, |_| {});
}

/// Uses the same tolerances as the CPU.
#[cfg(feature = "gpu")]
#[test]
fn fifty_steps_on_the_gpu_follow_the_reference() {
    let Some(gpu) = crate::adapter::gpu() else { return };
    let computes =
        |plan: &TrainingPlan| plan.sharpness_aware.is_none() && !plan.optimizer.needs_whole_tensors();
    let name = &gpu.report().name;
    follow_all(name, computes, |trainer| trainer.use_gpu(&gpu).expect("the device runs these plans"));
}
