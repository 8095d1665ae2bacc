use std::time::Duration;

use folkmoot_engine::{self as engine, Examples, Metrics, TrainingOutcome};
use folkmoot_protocol::{
    BlobDigest, DriftCorrection, Work,
    messages::{AbortReason, Artifact, Assignment},
};
#[cfg(feature = "secure-aggregation")]
use folkmoot_training::make_masked;
use folkmoot_training::{
    Budget, Chunk, ClusterChoice, Evaluation, FinishedWork, Inputs, Made, Step, Training, WorkError,
    allows_own_loop, make, parse_plan,
};
use serde::Serialize;
use wasm_bindgen::{JsError, prelude::wasm_bindgen};

use crate::{
    ExampleSet,
    error::{thrown, work_failed},
    stopwatch::elapsed,
};

/// The work of an assignment, a training or an evaluation, in steps.
#[wasm_bindgen]
pub struct AssignedWork {
    assignment: Assignment,
    pub(crate) inputs: Inputs,
    /// The number of examples that the client holds.
    pub(crate) held: usize,
    pub(crate) kind: Kind,
}

#[allow(clippy::large_enum_variant, reason = "there is one of it")]
pub(crate) enum Kind {
    /// A cluster is chosen, before anything else.
    Choosing(Choosing),
    Training(Training),
    Evaluation(Evaluation),
    /// The page's own loop does the work.
    Own,
    Finished(Option<TrainingOutcome>),
}

/// The choice of a cluster, and the data for the work after it.
pub(crate) struct Choosing {
    choice: ClusterChoice,
    later: Later,
}

/// The needs of a training or an evaluation besides its inputs.
struct Later {
    examples: Examples,
    checkpoint: Option<Vec<u8>>,
    budget: Budget,
    chunk: Chunk,
}

impl Later {
    /// Begins the training or the evaluation.
    fn begin(self, assignment: &Assignment, inputs: &mut Inputs) -> Result<Kind, WorkError> {
        let Self { examples, checkpoint, budget, chunk } = self;
        if inputs.plan.work == Work::Evaluation {
            return Evaluation::begin(inputs, &examples, &budget).map(Kind::Evaluation);
        }
        inputs.choose_width(assignment.assignment_id, &examples)?;
        let mut training = Training::begin(inputs, assignment, &examples, checkpoint.as_deref())?;
        training.set_chunk(chunk);
        training.start(elapsed());
        Ok(Kind::Training(training))
    }
}

const NO_STEPS: &str = "the work has no more steps";

/// The progress of the work.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Progress {
    Training { step: u64, steps_total: u64, loss: f64, is_over: bool, may_end: bool },
    Evaluation { metrics: Metrics, examples_total: usize, is_over: bool },
}

#[wasm_bindgen]
impl AssignedWork {
    /// Starts the work, from the checkpoint if there is a usable one. If the weights come in parts, `weights` contains
    /// them concatenated, and then the control variate. `own` is [`Update::personal`] or [`Update::control`] of the
    /// task's last update. Without `examples`, the page's own loop does the work. `budget` contains the app's limits,
    /// as JSON. A chunk of steps takes at most about `chunk_milliseconds`.
    #[allow(clippy::too_many_arguments, reason = "JavaScript hands over bytes and texts, each by itself")]
    pub fn begin(
        assignment: &str,
        plan: &[u8],
        model: &[u8],
        weights: &[u8],
        own: Option<Vec<u8>>,
        examples: Option<ExampleSet>,
        checkpoint: Option<Vec<u8>>,
        budget: &str,
        chunk_milliseconds: u32,
    ) -> Result<Self, JsError> {
        let assignment: Assignment = serde_json::from_slice(assignment.as_bytes()).map_err(thrown)?;
        let budget: Budget = serde_json::from_slice(budget.as_bytes()).map_err(thrown)?;
        let inputs = load(&assignment, plan, model, weights, own.as_deref(), &budget);
        let mut inputs = inputs.map_err(work_failed)?;
        let examples = examples.as_ref().map(ExampleSet::examples);
        let held = examples.map_or(0, Examples::len);
        let kind = match examples.cloned() {
            None => {
                if inputs.plan.work == Work::Training {
                    allows_own_loop(&inputs.plan).map_err(work_failed)?;
                }
                Kind::Own
            }
            Some(examples) => {
                let choice = ClusterChoice::begin(&inputs, &examples, &budget).map_err(work_failed)?;
                let chunk = Chunk::of(Duration::from_millis(chunk_milliseconds.into()));
                let later = Later { examples, checkpoint, budget, chunk };
                match choice {
                    Some(choice) => Kind::Choosing(Choosing { choice, later }),
                    None => later.begin(&assignment, &mut inputs).map_err(work_failed)?,
                }
            }
        };
        Ok(Self { assignment, inputs, held, kind })
    }

    /// Measures the next batch for the choice of a cluster. Returns `true` if the work can begin, as without clusters.
    #[wasm_bindgen(js_name = chooseCluster)]
    pub fn choose_cluster(&mut self) -> Result<bool, JsError> {
        let Kind::Choosing(choosing) = &mut self.kind else { return Ok(true) };
        let is_chosen = choosing.choice.advance(&mut self.inputs, &elapsed).map_err(work_failed)?;
        if !is_chosen {
            return Ok(false);
        }
        if let Kind::Choosing(Choosing { later, .. }) = std::mem::replace(&mut self.kind, Kind::Own) {
            self.kind = later.begin(&self.assignment, &mut self.inputs).map_err(work_failed)?;
        }
        Ok(true)
    }

    /// Ends a training as soon as it has something to send. An evaluation is not affected.
    #[wasm_bindgen(js_name = endEarly)]
    pub fn end_early(&mut self) {
        if let Kind::Training(training) = &mut self.kind {
            training.end_early();
        }
    }

    /// Runs the next steps and returns the progress, as JSON.
    pub async fn advance(&mut self) -> Result<String, JsError> {
        let progress = match &mut self.kind {
            Kind::Training(training) => {
                let Step { progress, is_over, may_end } =
                    training.advance(&elapsed).await.map_err(work_failed)?;
                let engine::Progress { step, steps_total, loss, .. } = progress;
                Progress::Training { step, steps_total, loss, is_over, may_end }
            }
            Kind::Evaluation(evaluation) => {
                let is_over = evaluation.advance(&elapsed).map_err(work_failed)?;
                let (metrics, examples_total) = (evaluation.metrics(), evaluation.example_count());
                Progress::Evaluation { metrics, examples_total, is_over }
            }
            Kind::Choosing(_) | Kind::Own | Kind::Finished(_) => return Err(JsError::new(NO_STEPS)),
        };
        serde_json::to_string(&progress).map_err(thrown)
    }

    /// Returns a checkpoint to store, or nothing for an evaluation, which is short.
    pub async fn checkpoint(&mut self) -> Option<Vec<u8>> {
        let Kind::Training(training) = &mut self.kind else { return None };
        #[cfg(feature = "gpu")]
        training.trainer().settle_async().await;
        Some(training.checkpoint(elapsed()))
    }

    /// Ends the work with its result so far.
    pub async fn finish(&mut self) -> Result<(), JsError> {
        let outcome = match std::mem::replace(&mut self.kind, Kind::Finished(None)) {
            #[cfg(feature = "gpu")]
            Kind::Training(mut training) => {
                training.trainer().settle_async().await;
                training.finish()
            }
            #[cfg(not(feature = "gpu"))]
            Kind::Training(training) => training.finish(),
            Kind::Evaluation(evaluation) => evaluation.finish().map_err(work_failed)?,
            Kind::Choosing(_) | Kind::Own | Kind::Finished(_) => return Err(JsError::new(NO_STEPS)),
        };
        self.kind = Kind::Finished(Some(outcome));
        Ok(())
    }

    /// Builds the update of finished work. `memory` is the compression residual of the task's earlier updates.
    pub fn update(&mut self, memory: Option<Vec<u8>>) -> Result<Update, JsError> {
        let finished = self.finished()?;
        let made = make(&finished, memory.as_deref()).map_err(work_failed)?;
        Ok(Update::new(made, finished))
    }
}

impl AssignedWork {
    /// Takes the result of finished work.
    fn finished(&mut self) -> Result<FinishedWork, JsError> {
        let Kind::Finished(outcome) = &mut self.kind else {
            return Err(JsError::new("the work is not finished yet"));
        };
        let outcome = outcome.take().ok_or_else(|| JsError::new("the update was already built"))?;
        Ok(self.inputs.finished(self.assignment.clone(), outcome, self.held as u64))
    }
}

#[cfg(feature = "secure-aggregation")]
#[wasm_bindgen]
impl AssignedWork {
    /// Builds the masked update of finished work, with the journal of its assignment. `budget` contains the app's limits, as
    /// JSON, and `device_key` the 32 secret bytes under which the journal was stored.
    #[wasm_bindgen(js_name = maskedUpdate)]
    pub fn masked_update(
        &mut self,
        journal: Option<String>,
        budget: &str,
        device_key: &[u8],
    ) -> Result<Update, JsError> {
        let budget: Budget = serde_json::from_slice(budget.as_bytes()).map_err(thrown)?;
        let device_key = crate::exchange::device_key_of(device_key)?;
        let journal = journal.and_then(|journal| serde_json::from_slice(journal.as_bytes()).ok());
        let finished = self.finished()?;
        let made = make_masked(&finished, journal.as_ref(), &budget, &device_key);
        Ok(Update::new(made.map_err(work_failed)?, finished))
    }
}

#[cfg(feature = "gpu")]
#[wasm_bindgen]
impl AssignedWork {
    /// Measures whether steps are faster on the device.
    #[wasm_bindgen(js_name = prefersDevice)]
    pub async fn prefers_device(&mut self, device: &crate::Device) -> Result<bool, JsError> {
        let Kind::Training(training) = &mut self.kind else { return Ok(false) };
        let compared = training.trainer().compare_async(device.gpu(), &elapsed).await;
        compared.map(|comparison| comparison.prefers_gpu()).map_err(thrown)
    }

    /// Moves the training to the device.
    #[wasm_bindgen(js_name = useDevice)]
    pub fn use_device(&mut self, device: &crate::Device) -> Result<(), JsError> {
        let Kind::Training(training) = &mut self.kind else { return Ok(()) };
        training.trainer().use_gpu(device.gpu()).map_err(thrown)?;
        training.start(elapsed());
        Ok(())
    }

    /// Returns why the training moved back from the device to the CPU, if it did.
    #[wasm_bindgen(js_name = deviceFault)]
    pub fn device_fault(&mut self) -> Option<String> {
        let Kind::Training(training) = &mut self.kind else { return None };
        training.trainer().gpu_fault().map(ToString::to_string)
    }
}

/// An update that must be stored before it is sent.
#[wasm_bindgen]
pub struct Update {
    digest: String,
    bytes: Vec<u8>,
    memory: Option<Vec<u8>>,
    personal: Option<Vec<u8>>,
    control: Option<Vec<u8>>,
}

#[wasm_bindgen]
impl Update {
    /// The digest of the update's bytes.
    #[wasm_bindgen(getter)]
    pub fn digest(&self) -> String {
        self.digest.clone()
    }

    /// The bytes to send.
    #[wasm_bindgen(getter)]
    pub fn bytes(&self) -> Vec<u8> {
        self.bytes.clone()
    }

    /// The compression residual. It becomes the task's memory when the update is accepted.
    #[wasm_bindgen(getter)]
    pub fn memory(&self) -> Option<Vec<u8>> {
        self.memory.clone()
    }

    /// The client's own tensors after the training. They become the task's when the update was sent.
    #[wasm_bindgen(getter)]
    pub fn personal(&self) -> Option<Vec<u8>> {
        self.personal.clone()
    }

    /// The client's own tensors after the training, with a control variate. They become the task's when the update is
    /// accepted.
    #[wasm_bindgen(getter)]
    pub fn control(&self) -> Option<Vec<u8>> {
        self.control.clone()
    }
}

impl Update {
    fn new(made: Made, finished: FinishedWork) -> Self {
        let drift = finished.plan.drift_correction;
        let (personal, control) = match drift.is_some_and(DriftCorrection::keeps_control_variate) {
            true => (None, finished.own),
            false => (finished.own, None),
        };
        Self { digest: made.digest.to_string(), bytes: made.bytes, memory: made.memory, personal, control }
    }
}

/// Verifies and parses the blobs.
fn load(
    assignment: &Assignment,
    plan: &[u8],
    model: &[u8],
    weights: &[u8],
    own: Option<&[u8]>,
    budget: &Budget,
) -> Result<Inputs, WorkError> {
    let verified = |artifact: Artifact, bytes: &[u8]| match BlobDigest::of(bytes) == artifact.digest {
        true => Ok(bytes.to_vec()),
        false => {
            let detail = format!("blob {} is damaged", artifact.digest);
            Err(WorkError::new(AbortReason::FetchFailed, detail))
        }
    };
    let parsed = parse_plan(&verified(assignment.plan, plan)?)?;
    let read = |artifact: Artifact| {
        if artifact == assignment.model {
            return verified(artifact, model);
        }
        let before = assignment.weights_to_fetch().take_while(|part| *part != artifact);
        let start = before.map(|part| part.bytes as usize).sum::<usize>();
        let bytes = weights.get(start..).and_then(|rest| rest.get(..artifact.bytes as usize));
        verified(artifact, bytes.unwrap_or_default())
    };
    Inputs::of(assignment, parsed, own, budget, read)
}
