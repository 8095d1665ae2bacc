//! The time limit of a training.

use std::time::Duration;

use folkmoot_protocol::TrainingPlan;

/// The time limit of a training. The caller reads all times from one stopwatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeLimit {
    /// `None` if the plan sets no limit.
    limit: Option<Duration>,
    /// The time trained before the training was resumed.
    before: Duration,
    /// The time at which the training was started or resumed.
    begun: Duration,
}

impl TimeLimit {
    /// Starts to count at `begun`, for a training that has already trained for `before`.
    pub fn new(plan: &TrainingPlan, before: Duration, begun: Duration) -> Self {
        // If a duration cannot hold the limit, it would never be reached.
        let limit = plan.time_limit_seconds.and_then(|limit| Duration::try_from_secs_f32(limit).ok());
        Self { limit, before, begun }
    }

    /// Returns a copy that counts from this moment on.
    pub fn begun_at(self, begun: Duration) -> Self {
        Self { begun, ..self }
    }

    /// Returns a copy whose time is up.
    pub fn reached(self) -> Self {
        Self { limit: Some(Duration::ZERO), ..self }
    }

    /// Returns the time trained so far.
    pub fn spent(self, now: Duration) -> Duration {
        self.before.saturating_add(now.saturating_sub(self.begun))
    }

    /// Returns whether the time is up.
    pub fn is_over(self, now: Duration) -> bool {
        self.limit.is_some_and(|limit| self.spent(now) >= limit)
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::{LocalOptimizer, Loss};

    use super::*;

    const BEGUN: Duration = Duration::from_secs(1000);

    fn limit(seconds: Option<f32>, before: Duration) -> TimeLimit {
        let plan = TrainingPlan::new(Loss::Hinge, LocalOptimizer::sgd(0.5));
        TimeLimit::new(&TrainingPlan { time_limit_seconds: seconds, ..plan }, before, BEGUN)
    }

    #[test]
    fn the_time_is_over_when_the_limit_is_reached() {
        let limit = limit(Some(2.5), Duration::ZERO);
        assert!(!limit.is_over(BEGUN + Duration::from_millis(2499)));
        assert!(limit.is_over(BEGUN + Duration::from_millis(2500)));
        assert!(limit.reached().is_over(BEGUN));
        assert!(!limit.is_over(Duration::ZERO), "a stopwatch that went back has measured nothing");
    }

    #[test]
    fn the_time_before_a_restart_counts() {
        let limit = limit(Some(2.5), Duration::from_secs(2));
        assert!(!limit.is_over(BEGUN));
        assert!(limit.is_over(BEGUN + Duration::from_millis(500)));
        assert_eq!(limit.spent(BEGUN + Duration::from_secs(1)), Duration::from_secs(3));
    }

    #[test]
    fn without_a_limit_or_with_an_endless_one_time_is_never_over() {
        for seconds in [None, Some(f32::MAX)] {
            assert!(!limit(seconds, Duration::MAX).is_over(Duration::from_secs(1 << 40)), "{seconds:?}");
        }
    }
}
