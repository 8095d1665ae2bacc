//! The sums that clients of a task can send when they evaluate a version.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use folkmoot_engine::{ImportLimits, Model};
use folkmoot_objects::BlobStore;
use folkmoot_protocol::{TaskId, update::sums::SumShape};
use folkmoot_storage::TaskRecord;
use tokio::sync::OnceCell;

use crate::refusal::Refusal;

/// The maximum number of tasks in the cache. A cache that reaches it is emptied.
const TASKS_MAX: usize = 1024;

/// A cache of the shapes of sums, which follow from each task's model and loss.
#[derive(Default)]
pub struct SumShapes(Mutex<HashMap<TaskId, Shapes>>);

/// The shapes of a task. Uploads that arrive while the model is being read wait for it, so it is read once.
type Shapes = Arc<OnceCell<Arc<[SumShape]>>>;

impl SumShapes {
    /// Returns the shapes of a task's sums. Reads the task's model on the first call.
    ///
    /// # Errors
    /// Fails if the model is missing or cannot be read. The next call tries again.
    pub async fn of(&self, blobs: &BlobStore, task: &TaskRecord) -> Result<Arc<[SumShape]>, Refusal> {
        let shapes = self.entry(task.id);
        let found = shapes.get_or_try_init(|| async {
            let (onnx, plan) = (blobs.get(task.model).await?, task.description.plan.clone());
            let read = tokio::task::spawn_blocking(move || -> Result<_, Refusal> {
                let limits = ImportLimits { model_bytes_max: onnx.len(), ..ImportLimits::default() };
                let model = Model::from_onnx(&onnx, &limits).map_err(|error| Refusal::internal(&error))?;
                let model = model.for_plan(&plan).map_err(|error| Refusal::internal(&error))?;
                Ok(folkmoot_engine::sum_shapes(model.output_shape(), plan.loss))
            });
            Ok(read.await.map_err(|error| Refusal::internal(&error))??.into())
        });
        found.await.cloned()
    }

    fn entry(&self, task: TaskId) -> Shapes {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if tasks.len() >= TASKS_MAX && !tasks.contains_key(&task) {
            tasks.clear();
        }
        tasks.entry(task).or_default().clone()
    }
}
