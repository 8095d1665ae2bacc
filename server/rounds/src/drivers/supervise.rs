//! Supervises the drivers: restarts drivers after a panic, with exponential back-off, and reports that they are down.

use std::{
    any::Any,
    collections::HashMap,
    panic::AssertUnwindSafe,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use folkmoot_protocol::{TaskId, Timestamp};
use futures::FutureExt;

/// The delay before the first restart; it doubles with each further panic.
const BACK_OFF: Duration = Duration::from_millis(250);
/// The maximum delay before a restart.
const BACK_OFF_MAX: Duration = Duration::from_secs(60);

/// The health of the drivers, for `/readyz`.
#[derive(Default)]
pub struct DriverHealth {
    is_down: AtomicBool,
    failing: Mutex<HashMap<TaskId, Failing>>,
}

/// A task whose step panicked.
struct Failing {
    panics: u32,
    /// The time until which the task is skipped.
    until: Timestamp,
}

impl DriverHealth {
    /// Returns whether the drivers have panicked and have not completed a pass over all tasks since then.
    pub fn is_down(&self) -> bool {
        self.is_down.load(Ordering::Acquire)
    }

    /// Returns the number of tasks that are skipped because their last step panicked.
    pub fn failing_tasks(&self) -> usize {
        self.failing().len()
    }

    /// Records that the drivers have completed a pass over all tasks.
    pub(super) fn turned(&self) {
        self.is_down.store(false, Ordering::Release);
    }

    /// Returns whether a task is skipped for now.
    pub(super) fn is_left_alone(&self, task: TaskId, now: Timestamp) -> bool {
        self.failing().get(&task).is_some_and(|failing| now < failing.until)
    }

    /// Removes the tasks for which `is_driven` returns `false`.
    pub(super) fn retain(&self, is_driven: impl Fn(&TaskId) -> bool) {
        self.failing().retain(|task, _| is_driven(task));
    }

    /// Runs a step of a task. Returns `None` if the step panics. The task is then skipped until its back-off is over,
    /// and other tasks continue.
    pub(super) async fn guard<T>(
        &self,
        task: TaskId,
        now: Timestamp,
        step: impl Future<Output = T>,
    ) -> Option<T> {
        match AssertUnwindSafe(step).catch_unwind().await {
            Ok(made) => {
                self.failing().remove(&task);
                Some(made)
            }
            Err(panic) => {
                self.panicked(task, now, &text_of(&*panic));
                None
            }
        }
    }

    fn panicked(&self, task: TaskId, now: Timestamp, panic: &str) {
        let mut all = self.failing();
        let failing = all.entry(task).or_insert(Failing { panics: 0, until: now });
        failing.panics = failing.panics.saturating_add(1);
        let wait = back_off(failing.panics);
        failing.until = now.plus_milliseconds(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        drop(all);
        metrics::counter!("folkmoot_driver_panics_total").increment(1);
        tracing::error!(panic, %task, "a driver step panicked; it is tried again in {wait:?}, and other tasks continue");
    }

    fn failing(&self) -> MutexGuard<'_, HashMap<TaskId, Failing>> {
        self.failing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs the drivers until they return. Drivers that panic are restarted after a `pause`, until `shutdown` resolves.
pub async fn supervise<F, P>(
    health: &DriverHealth,
    drivers: impl Fn() -> F,
    pause: impl Fn(Duration) -> P,
    shutdown: impl Future<Output = ()>,
) where
    F: Future<Output = ()> + Send + 'static,
    P: Future<Output = ()>,
{
    tokio::pin!(shutdown);
    let mut panics = 0u32;
    loop {
        let Err(error) = tokio::spawn(drivers()).await else { return };
        // A cancelled task means that the process is shutting down.
        let Ok(panic) = error.try_into_panic() else { return };
        // If the drivers completed a pass since their last start, the earlier fault is over, so the count starts again
        // at 1.
        panics = if health.is_down.swap(true, Ordering::AcqRel) { panics.saturating_add(1) } else { 1 };
        let wait = back_off(panics);
        metrics::counter!("folkmoot_driver_restarts_total").increment(1);
        tracing::error!(panic = text_of(&*panic), "the drivers panicked; they restart in {wait:?}");
        tokio::select! {
            biased;
            () = &mut shutdown => return,
            () = pause(wait) => {}
        }
    }
}

fn back_off(panics: u32) -> Duration {
    let doubled = 1u32.checked_shl(panics.saturating_sub(1)).unwrap_or(u32::MAX);
    BACK_OFF.saturating_mul(doubled).min(BACK_OFF_MAX)
}

/// Returns the message of a panic.
fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no words".to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, atomic::AtomicU32};

    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);

    #[tokio::test]
    async fn drivers_that_panic_are_started_again_ever_more_seldom() {
        let health = Arc::new(DriverHealth::default());
        let starts = Arc::new(AtomicU32::new(0));
        let (counted, known) = (starts.clone(), health.clone());
        let drivers = move || {
            let (start, health) = (counted.fetch_add(1, Ordering::Relaxed), known.clone());
            async move {
                assert_eq!(health.is_down(), start > 0, "until they have looked at all tasks");
                match start {
                    // The third run completes a pass before it panics, so the back-off starts again at its minimum.
                    0 | 1 => panic!("on purpose"),
                    2 => {
                        health.turned();
                        panic!("on purpose, after a turn")
                    }
                    _ => health.turned(),
                }
            }
        };
        let pauses = Mutex::new(Vec::new());
        let pause = |wait: Duration| {
            pauses.lock().unwrap().push(wait.as_millis());
            async {}
        };
        supervise(&health, drivers, pause, std::future::pending()).await;
        assert_eq!(*pauses.lock().unwrap(), [250, 500, 250]);
        assert_eq!((starts.load(Ordering::Relaxed), health.is_down()), (4, false));
    }

    #[tokio::test]
    async fn a_shutdown_does_not_wait_for_a_restart() {
        let health = DriverHealth::default();
        let for_ever = |_| std::future::pending();
        supervise(&health, || async { panic!("on purpose") }, for_ever, async {}).await;
        assert!(health.is_down());
    }

    #[tokio::test]
    async fn a_task_whose_step_panics_is_left_alone_and_the_others_go_on() {
        let health = DriverHealth::default();
        let [task, other] = [1, 2].map(|byte| TaskId::from_random_bytes([byte; 16]));
        let steps = AtomicU32::new(0);
        let panicking = || async {
            steps.fetch_add(1, Ordering::Relaxed);
            panic!("on purpose")
        };
        assert_eq!(health.guard::<()>(task, NOW, panicking()).await, None);
        assert_eq!(health.guard(other, NOW, async { 7 }).await, Some(7));
        assert_eq!(health.failing_tasks(), 1);
        assert!(health.is_left_alone(task, NOW.plus_milliseconds(249)) && !health.is_left_alone(other, NOW));
        let later = NOW.plus_milliseconds(250);
        assert!(!health.is_left_alone(task, later));
        assert_eq!(health.guard::<()>(task, later, panicking()).await, None);
        assert!(health.is_left_alone(task, later.plus_milliseconds(499)), "it waits twice as long");
        assert_eq!(health.guard(task, later.plus_milliseconds(500), async { 8 }).await, Some(8));
        assert_eq!((health.failing_tasks(), steps.into_inner()), (0, 2));
    }

    #[test]
    fn a_restart_waits_a_minute_at_most() {
        assert_eq!(back_off(1), BACK_OFF);
        assert_eq!(back_off(40), BACK_OFF_MAX);
        assert_eq!(back_off(u32::MAX), BACK_OFF_MAX);
    }
}
