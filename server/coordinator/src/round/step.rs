use folkmoot_protocol::{ClientId, Timestamp};
use rand::Rng;

use super::{AbandonReason, Phase, Round};
use crate::{
    scheduling::{CommitDecision, ReportCounts, SchedulingPolicy, StartDecision},
    task::SelectionChoice,
};

/// A fact that a driver brings to a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoundInput {
    /// These eligible clients wait.
    Waiting(Vec<ClientId>),
    /// The assignments have come to this.
    Reports(ReportCounts),
    /// The aggregate is made, and the new model is this version.
    Released {
        /// The version.
        version: u64,
    },
    /// The task may not go on.
    Stop(AbandonReason),
}

/// What a driver is to do, in the same transaction that stores the round's next phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Give these clients an assignment that ends at `deadline`.
    Assign {
        /// The cohort, in the order of the draw.
        clients: Vec<ClientId>,
        /// When their assignments expire.
        deadline: Timestamp,
    },
    /// Let the assignments that are still outstanding expire.
    ExpireOutstanding,
    /// Combine the accepted updates; the answer is [`RoundInput::Released`].
    Aggregate,
}

/// An input that a round's phase has no use for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a round that is {phase} cannot take {input}")]
pub struct InvalidTransitionError {
    phase: &'static str,
    input: &'static str,
}

impl Round {
    /// Takes a fact and returns the round's next state, with what is to be done. Where nothing is to be done
    /// yet the round comes back as it was.
    ///
    /// # Errors
    /// [`InvalidTransitionError`] if the phase has no use for the input.
    pub fn step(
        self,
        input: RoundInput,
        policy: &dyn SchedulingPolicy,
        selection: SelectionChoice,
        now: Timestamp,
        rng: &mut impl Rng,
    ) -> Result<(Round, Vec<Effect>), InvalidTransitionError> {
        match (self.phase.clone(), input) {
            (Phase::Selecting { since }, RoundInput::Waiting(waiting)) => {
                let elapsed = now.milliseconds_since(since);
                match policy.start(waiting.len() as u64, elapsed) {
                    StartDecision::Wait => Ok((self, vec![])),
                    StartDecision::Abandon(reason) => Ok(self.abandon(reason, now)),
                    StartDecision::Draw { cohort } => {
                        let clients = selection.draw(waiting, cohort as usize, rng);
                        let deadline = now.plus_milliseconds(policy.assignment_milliseconds());
                        let phase = Phase::Reporting { since: now, cohort: clients.len() as u64 };
                        Ok((Round { phase, ..self }, vec![Effect::Assign { clients, deadline }]))
                    }
                }
            }
            (Phase::Reporting { since, cohort }, RoundInput::Reports(counts)) => {
                match policy.commit(counts, now.milliseconds_since(since)) {
                    CommitDecision::Wait => Ok((self, vec![])),
                    CommitDecision::Abandon(reason) => Ok(self.abandon(reason, now)),
                    CommitDecision::Commit => {
                        let phase = Phase::Aggregating { since: now, cohort, accepted: counts.accepted };
                        Ok((Round { phase, ..self }, vec![Effect::ExpireOutstanding, Effect::Aggregate]))
                    }
                }
            }
            (Phase::Aggregating { cohort, accepted, .. }, RoundInput::Released { version }) => {
                let phase = Phase::Committed { at: now, cohort, accepted, version };
                Ok((Round { phase, ..self }, vec![]))
            }
            (Phase::Selecting { .. } | Phase::Reporting { .. }, RoundInput::Stop(reason)) => {
                Ok(self.abandon(reason, now))
            }
            // What was accepted is not thrown away: a round that aggregates runs to its end.
            (Phase::Aggregating { .. }, RoundInput::Stop(_)) => Ok((self, vec![])),
            (phase, input) => Err(InvalidTransitionError { phase: phase.name(), input: input.name() }),
        }
    }

    fn abandon(self, reason: AbandonReason, now: Timestamp) -> (Round, Vec<Effect>) {
        (Round { phase: Phase::Abandoned { at: now, reason }, ..self }, vec![Effect::ExpireOutstanding])
    }
}

impl RoundInput {
    fn name(&self) -> &'static str {
        match self {
            RoundInput::Waiting(_) => "waiting clients",
            RoundInput::Reports(_) => "reports",
            RoundInput::Released { .. } => "a release",
            RoundInput::Stop(_) => "a stop",
        }
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::{RoundId, TaskId};
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::scheduling::Synchronous;

    fn round() -> Round {
        Round {
            id: RoundId::from_random_bytes([1; 16]),
            task_id: TaskId::from_random_bytes([2; 16]),
            number: 1,
            base_version: 0,
            phase: Phase::Selecting { since: Timestamp(0) },
        }
    }

    fn step(
        round: Round,
        input: RoundInput,
        now: u64,
    ) -> Result<(Round, Vec<Effect>), InvalidTransitionError> {
        let policy = Synchronous {
            report_goal: 2,
            over_selection_factor: 1.5,
            minimum_cohort: Some(1),
            selection_deadline_seconds: 10,
            reporting_deadline_seconds: 20,
        };
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        round.step(input, &policy, SelectionChoice::Uniform, Timestamp(now), &mut rng)
    }

    fn clients(count: u8) -> Vec<ClientId> {
        (0..count).map(|i| ClientId::from_random_bytes([i; 16])).collect()
    }

    #[test]
    fn a_round_goes_from_selection_to_commit() {
        let (waiting, effects) = step(round(), RoundInput::Waiting(clients(2)), 5_000).unwrap();
        assert_eq!((waiting.phase.name(), effects), ("selecting", vec![]));
        let (reporting, effects) = step(waiting, RoundInput::Waiting(clients(9)), 6_000).unwrap();
        let [Effect::Assign { clients, deadline }] = effects.as_slice() else { panic!("{effects:?}") };
        assert_eq!((clients.len(), *deadline), (3, Timestamp(26_000)));
        let counts = ReportCounts { accepted: 2, outstanding: 1, dropped: 0 };
        let (aggregating, effects) = step(reporting, RoundInput::Reports(counts), 7_000).unwrap();
        assert_eq!(effects, [Effect::ExpireOutstanding, Effect::Aggregate]);
        let (stopped, _) =
            step(aggregating.clone(), RoundInput::Stop(AbandonReason::TaskPaused), 7_500).unwrap();
        assert_eq!(stopped, aggregating);
        let (committed, _) = step(aggregating, RoundInput::Released { version: 1 }, 8_000).unwrap();
        assert_eq!(
            committed.phase,
            Phase::Committed { at: Timestamp(8_000), cohort: 3, accepted: 2, version: 1 }
        );
        let refused = step(committed, RoundInput::Waiting(vec![]), 9_000).unwrap_err();
        assert_eq!(refused.to_string(), "a round that is committed cannot take waiting clients");
    }

    #[test]
    fn a_clock_that_goes_backwards_neither_panics_nor_ends_a_round() {
        let mut late = round();
        late.phase = Phase::Reporting { since: Timestamp(1_000_000), cohort: 3 };
        let counts = ReportCounts { accepted: 1, outstanding: 2, dropped: 0 };
        let (same, effects) = step(late.clone(), RoundInput::Reports(counts), 0).unwrap();
        assert_eq!((same, effects), (late, vec![]));
    }
}
