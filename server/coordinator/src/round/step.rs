use folkmoot_protocol::{AssignmentId, ClientId, Timestamp};
use rand::Rng;

use super::{AbandonReason, Phase, Round};
use crate::{
    participation::{StartClocks, Waiting},
    scheduling::{Member, Outstanding, ReportCounts, SchedulingPolicy},
    selection::{SelectionChoice, TokenCounts},
};

/// A fact that a driver brings to a round.
#[derive(Clone, Debug, PartialEq)]
pub enum RoundInput {
    /// These eligible clients wait.
    Waiting(Gathered),
    /// The assignments have come to this.
    Reports(ReportCounts),
    /// The task may not go on, and the assignments of a round that keeps its draw have come to this.
    Closed(ReportCounts),
    /// Both, for a round in which clients start and report all the time.
    Collected(Collected),
    /// The aggregate is made, and the new model is this version.
    Released {
        /// The version.
        version: u64,
    },
    /// The evaluation's reports are combined.
    Evaluated,
    /// The task may not go on.
    Stop(AbandonReason),
}

/// What a round decides by that draws its cohort.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gathered {
    /// The eligible clients that wait.
    pub waiting: Vec<Waiting>,
    /// Says whether the population is what the policy calls a crowd.
    pub is_crowd: bool,
}

/// What a collecting round decides by.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Collected {
    /// The eligible clients that wait.
    pub waiting: Vec<Waiting>,
    /// What the round's assignments have come to; `outstanding` counts those of earlier rounds, too.
    pub counts: ReportCounts,
    /// The assignments under way, of any round of the task.
    pub outstanding: Vec<Outstanding>,
    /// The clients that take part, if the policy asks for them.
    pub members: Vec<Member>,
    /// How far the last versions moved the model, in L2: the newest first.
    pub changes: Vec<f64>,
    /// By which tokens those came that train, or whose updates count in the round; empty unless there is a bound on them.
    pub tokens: TokenCounts,
}

/// By what a round decides.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    /// When clients start and versions are committed.
    pub policy: &'a dyn SchedulingPolicy,
    /// Which of those that may start do.
    pub selection: &'a SelectionChoice,
    /// Which share of a round's clients may come by one enrolment token; none if all may.
    pub token_share_max: Option<f64>,
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
        /// What it sets in their clocks.
        clocks: StartClocks,
    },
    /// Ask the clients that are still at work for what they have.
    Ask,
    /// Let these assignments expire.
    Drop(Vec<AssignmentId>),
    /// Let all assignments expire that are still outstanding.
    ExpireOutstanding,
    /// Combine the accepted updates; the answer is [`RoundInput::Released`] or [`RoundInput::Evaluated`].
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
    /// yet the round comes back as it was, without effects.
    ///
    /// # Errors
    /// [`InvalidTransitionError`] if the phase has no use for the input.
    pub fn step(
        self,
        input: RoundInput,
        rules: Rules<'_>,
        now: Timestamp,
        rng: &mut impl Rng,
    ) -> Result<(Round, Vec<Effect>), InvalidTransitionError> {
        match (self.phase.clone(), input) {
            (Phase::Selecting { since }, RoundInput::Waiting(gathered)) => {
                Ok(self.select(since, &gathered, rules, now, rng))
            }
            (Phase::Reporting { .. }, RoundInput::Reports(counts)) => Ok(self.report(counts, rules, now)),
            // A draw that was made is not made anew: what has arrived is combined.
            (Phase::Reporting { cohort, .. }, RoundInput::Closed(counts)) if rules.policy.keeps_draws() => {
                Ok(self.close(cohort, counts, now))
            }
            (Phase::Reporting { .. }, RoundInput::Stop(_)) if rules.policy.keeps_draws() => {
                Ok((self, vec![]))
            }
            (Phase::Collecting { since }, RoundInput::Collected(collected)) => {
                Ok(self.collect(since, collected, rules, now, rng))
            }
            (Phase::Aggregating { cohort, accepted, .. }, RoundInput::Released { version }) => {
                let phase = Phase::Committed { at: now, cohort, accepted, version };
                Ok((Round { phase, ..self }, vec![]))
            }
            (Phase::Aggregating { cohort, accepted, .. }, RoundInput::Evaluated) => {
                let phase = Phase::Evaluated { at: now, cohort, accepted };
                Ok((Round { phase, ..self }, vec![]))
            }
            // A version that may not be released, or can never be made, is thrown away.
            (Phase::Aggregating { .. }, RoundInput::Stop(reason)) if reason.ends_an_aggregation() => {
                Ok(self.abandon(reason, now))
            }
            // What was accepted is not thrown away else: a round that aggregates runs to its end.
            (Phase::Aggregating { .. }, RoundInput::Stop(_)) => Ok((self, vec![])),
            (phase, RoundInput::Stop(reason)) if !phase.is_final() => Ok(self.abandon(reason, now)),
            (phase, input) => Err(InvalidTransitionError { phase: phase.name(), input: input.name() }),
        }
    }

    pub(super) fn abandon(self, reason: AbandonReason, now: Timestamp) -> (Round, Vec<Effect>) {
        (Round { phase: Phase::Abandoned { at: now, reason }, ..self }, vec![Effect::ExpireOutstanding])
    }
}

impl RoundInput {
    fn name(&self) -> &'static str {
        match self {
            RoundInput::Waiting(_) => "waiting clients",
            RoundInput::Reports(_) => "reports",
            RoundInput::Closed(_) => "a close",
            RoundInput::Collected(_) => "starts and reports",
            RoundInput::Released { .. } => "a release",
            RoundInput::Evaluated => "an evaluation",
            RoundInput::Stop(_) => "a stop",
        }
    }
}
