use std::sync::Arc;

use folkmoot_client::Transport;
use folkmoot_protocol::messages::{AbortReason, AbortRequest, Assignment};
use tokio::{sync::Semaphore, time::Instant};

use super::{
    args::Settings,
    chance::Chance,
    record::{Kind, Recorder},
    slow_body::Manner,
    update::{Schemas, download, upload},
};

/// The parts of a load test that its devices share.
pub(crate) struct Shared {
    /// The extent of the test.
    pub settings: Settings,
    /// The latencies and failures.
    pub recorder: Arc<Recorder>,
    /// Limits the requests at the same time, besides the waits.
    pub permits: Arc<Semaphore>,
    /// Limits the updates at the same time, which are in memory.
    updates: Semaphore,
    schemas: Schemas,
    values: Option<Vec<f32>>,
}

impl Shared {
    /// Creates the parts for these settings.
    pub fn new(settings: &Settings, recorder: Arc<Recorder>) -> Self {
        let in_flight = settings.in_flight as usize;
        Self {
            settings: settings.clone(),
            recorder,
            permits: Arc::new(Semaphore::new(in_flight)),
            updates: Semaphore::new(in_flight),
            schemas: Schemas::default(),
            values: settings.parameters.map(|parameters| vec![0.0; parameters as usize]),
        }
    }

    /// Answers an assignment: uploads zeros if the test uploads and the size fits. Otherwise gives the assignment up, so
    /// that the round does not wait for it.
    pub async fn take_part(&self, device: &Transport, assignment: &Assignment, chance: &mut Chance) {
        let began = Instant::now();
        let fits = |values: &&Vec<f32>| values.len() as u64 * 4 == assignment.weights.bytes;
        let Some(values) = self.values.as_ref().filter(fits) else {
            let (reason, detail) = (AbortReason::Declined, "a load test does not train".to_owned());
            let abort = AbortRequest { reason, detail };
            let _ =
                self.recorder.time(Kind::Abort, began, device.abort(assignment.assignment_id, &abort)).await;
            return;
        };
        let _turn = self.updates.acquire().await;
        let began = Instant::now();
        let fetched = async {
            download(device, assignment, values.len()).await?;
            self.schemas.digest(device, assignment.plan).await
        };
        let Ok(schema) = self.recorder.time(Kind::Download, began, fetched).await else { return };
        let length = values.len() as u64 * 4;
        let manner = Manner {
            bytes_per_second: chance.happens(self.settings.slow).then_some(self.settings.slow_bytes.into()),
            breaks_at: chance.happens(self.settings.drop).then(|| chance.bytes_below(length)),
        };
        if manner.breaks_at.is_some() {
            self.recorder.dropped(Kind::Upload);
        }
        let sent = upload(device, assignment, values, schema, manner);
        let _ = self.recorder.time(Kind::Upload, Instant::now(), sent).await;
    }
}
