use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use folkmoot_session::{Answer, RequestId};
use folkmoot_work::WorkError;
use tokio::task::{AbortHandle, JoinSet};

/// An answer, and the error text if something failed.
pub(super) type Outcome = (Answer, Option<String>);

/// Returns the answer that tells the session that the work failed.
pub(super) fn work_failed(error: WorkError) -> Outcome {
    let WorkError { reason, detail, .. } = error;
    (Answer::WorkFailed { reason, detail }, None)
}

/// The requests in progress. Dropping this cancels them.
#[derive(Default)]
pub(super) struct Tasks {
    set: JoinSet<(RequestId, Outcome)>,
    running: BTreeMap<RequestId, (AbortHandle, Arc<AtomicBool>)>,
}

impl Tasks {
    /// Starts a request. `stop` is set to cancel it, because a training thread cannot be killed from outside.
    pub fn spawn(
        &mut self,
        request_id: RequestId,
        stop: Arc<AtomicBool>,
        request: impl Future<Output = Outcome> + Send + 'static,
    ) {
        let handle = self.set.spawn(async move { (request_id, request.await) });
        self.running.insert(request_id, (handle, stop));
    }

    /// Cancels a request.
    pub fn cancel(&mut self, request_id: RequestId) {
        if let Some((handle, stop)) = self.running.remove(&request_id) {
            stop.store(true, Ordering::Relaxed);
            handle.abort();
        }
    }

    /// Waits for the next answer. Waits forever if no request is in progress.
    pub async fn next(&mut self) -> (RequestId, Outcome) {
        loop {
            match self.set.join_next().await {
                Some(Ok((request_id, outcome))) => {
                    self.running.remove(&request_id);
                    return (request_id, outcome);
                }
                Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                Some(Err(_)) => {}
                None => std::future::pending().await,
            }
        }
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        for (_, stop) in self.running.values() {
            stop.store(true, Ordering::Relaxed);
        }
    }
}
