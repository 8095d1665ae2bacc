use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use folkmoot_protocol::{RoundId, Timestamp};

use crate::{CommitteeSumError, RingSums};

/// The time after which a committee that did not answer is asked again, in milliseconds.
const AGAIN_MILLISECONDS: u64 = 5_000;

/// The rounds whose masks a committee sums. The sum can take long, so a background task asks for it, and the driver
/// checks whether it has arrived. After a restart, the committee is asked again; it answers the same.
#[derive(Default)]
pub struct CommitteeRounds {
    rounds: Arc<Mutex<BTreeMap<RoundId, Progress>>>,
}

/// The knowledge of a round.
#[derive(Clone, Debug)]
pub enum Progress {
    /// The committee is being asked.
    Asking,
    /// The masks.
    Found(Arc<RingSums>),
    /// The committee did not answer. The time is when the driver first noticed this.
    Failed(CommitteeSumError, Option<Timestamp>),
}

impl CommitteeRounds {
    /// Returns the state of a round. If there is none, asks the committee with `ask`, and calls `tell` when `ask` has
    /// ended. If the committee did not answer, asks again some time later, unless this was the last attempt.
    pub fn of(
        &self,
        round: RoundId,
        now: Timestamp,
        is_last: bool,
        ask: impl Future<Output = Result<RingSums, CommitteeSumError>> + Send + 'static,
        tell: impl FnOnce() + Send + 'static,
    ) -> Progress {
        let mut rounds = self.rounds.lock().unwrap_or_else(PoisonError::into_inner);
        match rounds.get_mut(&round) {
            Some(Progress::Failed(error, Some(at)))
                if error.may_pass() && !is_last && now.milliseconds_since(*at) >= AGAIN_MILLISECONDS => {}
            Some(known) => {
                if let Progress::Failed(_, at) = known {
                    at.get_or_insert(now);
                }
                return known.clone();
            }
            None => {}
        }
        rounds.insert(round, Progress::Asking);
        let shared = self.rounds.clone();
        tokio::spawn(async move {
            let known = match tokio::spawn(ask).await {
                Ok(Ok(sums)) => Progress::Found(Arc::new(sums)),
                Ok(Err(error)) => Progress::Failed(error, None),
                Err(error) => Progress::Failed(CommitteeSumError::Inputs(error.to_string()), None),
            };
            // The round may have ended in the meantime.
            if let Some(progress) = shared.lock().unwrap_or_else(PoisonError::into_inner).get_mut(&round) {
                *progress = known;
            }
            tell();
        });
        Progress::Asking
    }

    /// Returns the masks of a round, if they are known.
    pub fn found(&self, round: RoundId) -> Option<Arc<RingSums>> {
        match self.rounds.lock().unwrap_or_else(PoisonError::into_inner).get(&round) {
            Some(Progress::Found(sums)) => Some(sums.clone()),
            _ => None,
        }
    }

    /// Forgets a round that has ended.
    pub fn forget(&self, round: RoundId) {
        self.rounds.lock().unwrap_or_else(PoisonError::into_inner).remove(&round);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND: [u8; 16] = [1; 16];

    fn missing() -> CommitteeSumError {
        CommitteeSumError::Missing(Vec::new())
    }

    /// Polls until the question has an answer. The committee answers at once, but a slow one could take any time.
    async fn look(
        rounds: &CommitteeRounds,
        seconds: u64,
        is_last: bool,
        answer: Result<RingSums, CommitteeSumError>,
    ) -> Progress {
        let (round, now) = (RoundId::from_random_bytes(ROUND), Timestamp(0).plus_seconds(seconds));
        let (tell, told) = tokio::sync::oneshot::channel();
        match rounds.of(round, now, is_last, async move { answer }, || {
            let _ = tell.send(());
        }) {
            Progress::Asking => {
                told.await.expect("it is told when the question has ended");
                rounds.of(round, now, is_last, async { Err(missing()) }, || {})
            }
            known => known,
        }
    }

    #[tokio::test]
    async fn a_committee_is_asked_again_some_seconds_after_it_failed_and_not_after_the_last_attempt() {
        let rounds = CommitteeRounds::default();
        let sums = || Ok(RingSums { values: vec![1], extras: [0; 5] });
        let failed_at = |progress| match progress {
            Progress::Failed(error, at) => (error, at.map(|at| at.0 / 1000)),
            other => panic!("{other:?}"),
        };
        // The question may have begun long before. The recorded time is that at which the driver notices its end.
        assert_eq!(failed_at(look(&rounds, 100, false, Err(missing())).await), (missing(), Some(100)));
        assert_eq!(failed_at(look(&rounds, 104, false, sums()).await), (missing(), Some(100)));
        assert_eq!(
            failed_at(look(&rounds, 3_700, true, sums()).await),
            (missing(), Some(100)),
            "it was the last"
        );
        assert!(matches!(look(&rounds, 105, false, sums()).await, Progress::Found(_)));
        let round = RoundId::from_random_bytes(ROUND);
        assert!(rounds.found(round).is_some());
        rounds.forget(round);
        assert!(rounds.found(round).is_none());
        let final_error = CommitteeSumError::Accused(Vec::new());
        assert_eq!(
            failed_at(look(&rounds, 0, false, Err(final_error.clone())).await),
            (final_error.clone(), Some(0))
        );
        assert_eq!(failed_at(look(&rounds, 900, false, sums()).await), (final_error, Some(0)));
    }
}
