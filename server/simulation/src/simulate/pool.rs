//! Trainings on threads. A thread begins a training when a virtual client starts to train. The loop waits for the
//! result when the client's virtual training time is over.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread::JoinHandle,
};

use folkmoot_protocol::messages::AbortReason;

use super::{
    Crowd,
    bench::Bench,
    collusion::Collusion,
    kept::Kept,
    training::{Trained, Training},
};

/// A slot for the result of a training.
#[derive(Default)]
pub struct Slot {
    result: Mutex<Option<Trained>>,
    is_there: Condvar,
}

impl Slot {
    /// Waits for the result and takes it.
    pub fn take(&self) -> Trained {
        let mut result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(trained) = result.take() {
                return trained;
            }
            result = self.is_there.wait(result).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn put(&self, trained: Trained) {
        *self.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(trained);
        self.is_there.notify_all();
    }
}

/// The threads that train.
pub struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    crowd: Arc<Crowd>,
    collusion: Option<Collusion>,
    kept: Option<Kept>,
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

/// The trainings that no thread has begun.
#[derive(Default)]
struct Waiting {
    trainings: VecDeque<(Training, Arc<Slot>)>,
    is_over: bool,
}

impl Pool {
    /// Starts `threads` threads, at least one. With `kept`, updates that were saved there are read instead of trained.
    pub fn start(
        crowd: Arc<Crowd>,
        collusion: Option<Collusion>,
        threads: usize,
        kept: Option<Kept>,
    ) -> Self {
        let (waiting, changed) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { crowd, collusion, kept, waiting, changed });
        let thread = |_| {
            let shared = shared.clone();
            std::thread::spawn(move || shared.run())
        };
        let threads = (0..threads.max(1)).map(thread).collect();
        Self { shared, threads }
    }

    /// Queues a training. Its result appears in the returned slot.
    pub fn begin(&self, training: Training) -> Arc<Slot> {
        let slot = Arc::new(Slot::default());
        self.shared.lock().trainings.push_back((training, slot.clone()));
        self.shared.changed.notify_one();
        slot
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut bench = Bench::default();
        loop {
            let mut waiting = self.lock();
            let (training, slot) = loop {
                if waiting.is_over {
                    return;
                }
                match waiting.trainings.pop_front() {
                    Some(next) => break next,
                    None => {
                        waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
                    }
                }
            };
            drop(waiting);
            // Only the update is saved, so a training that leaves more to the client is always repeated.
            let kept = self.kept.as_ref().filter(|_| !training.leaves_something());
            if let Some(update) = kept.and_then(|kept| kept.find(&training)) {
                slot.put(Ok(update));
                continue;
            }
            let work = std::panic::AssertUnwindSafe(|| {
                let trained = bench.work(&self.crowd, self.collusion.as_ref(), &training);
                if let (Some(kept), Ok(update)) = (kept, &trained) {
                    kept.keep(&training, update);
                }
                trained
            });
            let panicked = || Err((AbortReason::TrainingFailed, "the training panicked".to_owned()));
            slot.put(std::panic::catch_unwind(work).unwrap_or_else(|_| panicked()));
        }
    }
}
