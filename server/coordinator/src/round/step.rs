use folkmoot_protocol::{AssignmentId, ClientId, Timestamp};
use rand::Rng;

use super::{AbandonReason, Phase, Round, secure_step::SecureStep};
use crate::{
    participation::{StartClocks, Waiting},
    scheduling::{Member, Outstanding, ReportCounts, SchedulingPolicy},
    selection::{SelectionChoice, TokenCounts},
};

/// A fact that a driver brings to a round.
#[derive(Clone, Debug, PartialEq)]
pub enum RoundInput {
    /// The eligible clients that wait.
    Waiting(Gathered),
    /// The current counts of the round's assignments.
    Reports(ReportCounts),
    /// The task must stop, with the current counts. Only for rounds that keep their draws.
    Closed(ReportCounts),
    /// Waiting clients and counts, for a round in which clients start and report continuously.
    Collected(Collected),
    /// The state of the shares that clients open to remove the masks.
    Opened {
        /// True if every mask can be removed.
        is_enough: bool,
    },
    /// The aggregate was computed and released as this version.
    Released {
        /// The released version.
        version: u64,
    },
    /// The evaluation's reports were combined.
    Evaluated,
    /// The task must stop.
    Stop(AbandonReason),
}

/// The input of a round that draws its cohort.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gathered {
    /// The eligible clients that wait.
    pub waiting: Vec<Waiting>,
    /// True if the population is large enough to be a crowd ([`SchedulingPolicy::crowd`]).
    pub is_crowd: bool,
    /// The answer to [`Effect::Prefer`].
    pub preferred: Option<Vec<ClientId>>,
}

/// The input of a collecting round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Collected {
    /// The eligible clients that wait.
    pub waiting: Vec<Waiting>,
    /// The counts of the round's assignments. `outstanding` includes assignments of earlier rounds.
    pub counts: ReportCounts,
    /// The outstanding assignments of all rounds of the task.
    pub outstanding: Vec<Outstanding>,
    /// The clients that take part, if the policy needs them.
    pub members: Vec<Member>,
    /// The L2 norms of the last version changes, newest first.
    pub changes: Vec<f64>,
    /// The enrolment tokens of the clients that train, or whose updates the round has accepted. Empty without a token
    /// bound.
    pub tokens: TokenCounts,
    /// The answer to [`Effect::Prefer`].
    pub preferred: Option<Vec<ClientId>>,
}

/// The rules by which a round decides.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    /// Decides when clients start and versions are committed.
    pub policy: &'a dyn SchedulingPolicy,
    /// Decides which of the waiting clients start.
    pub selection: &'a SelectionChoice,
    /// The largest share of a round's clients from one enrolment token; `None` for no limit.
    pub token_share_max: Option<f64>,
    /// The deadline of each step of secure aggregation, in milliseconds; `None` if updates are not masked.
    pub secure_step_milliseconds: Option<u64>,
}

impl<'a> Rules<'a> {
    /// Returns rules without a token bound and without masks.
    pub fn new(policy: &'a dyn SchedulingPolicy, selection: &'a SelectionChoice) -> Self {
        Self { policy, selection, token_share_max: None, secure_step_milliseconds: None }
    }
}

/// An action for the driver, in the same transaction that stores the round's next phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Ask the task's own selection for its order of preference, and repeat the step with the same facts and this order. The round is
    /// unchanged.
    Prefer {
        /// The clients of which the round draws, each once.
        clients: Vec<ClientId>,
        /// The number of wanted clients.
        count: u64,
    },
    /// Give the clients assignments that end at `deadline`.
    Assign {
        /// The cohort, in draw order.
        clients: Vec<ClientId>,
        /// When their assignments expire.
        deadline: Timestamp,
        /// The changes to the clients' clocks.
        clocks: StartClocks,
    },
    /// Ask the clients that still train to send their partial updates.
    Ask,
    /// Let these assignments expire.
    Drop(Vec<AssignmentId>),
    /// Let the outstanding assignments expire whose clients have not completed the step that ends now.
    CloseStep(SecureStep),
    /// Let all outstanding assignments expire.
    ExpireOutstanding,
    /// Accept no more updates, and combine the accepted ones: at once, or after [`RoundInput::Opened`]. The driver then
    /// answers with [`RoundInput::Released`] or [`RoundInput::Evaluated`].
    Aggregate,
    /// Combine the accepted updates now, because their masks can be removed.
    Unmasked,
}

impl RoundInput {
    /// Returns the clients that wait. Other facts than those about a draw have none.
    pub fn waiting(&self) -> &[Waiting] {
        match self {
            Self::Waiting(gathered) => &gathered.waiting,
            Self::Collected(collected) => &collected.waiting,
            _ => &[],
        }
    }

    /// Adds the answer to [`Effect::Prefer`] to facts about a draw.
    #[must_use]
    pub fn with_preferred(self, preferred: Vec<ClientId>) -> Self {
        let preferred = Some(preferred);
        match self {
            Self::Waiting(gathered) => Self::Waiting(Gathered { preferred, ..gathered }),
            Self::Collected(collected) => Self::Collected(Collected { preferred, ..collected }),
            other => other,
        }
    }
}

impl Effect {
    /// Returns the number of clients that the round wants from the task's own selection.
    pub fn wanted(&self) -> u64 {
        match self {
            Self::Prefer { count, .. } => *count,
            _ => 0,
        }
    }

    /// Returns the number of clients that get assignments.
    pub fn assigned(&self) -> u64 {
        match self {
            Self::Assign { clients, .. } => clients.len() as u64,
            _ => 0,
        }
    }

    /// Asks for an order of preference of these clients.
    pub(super) fn prefer(waiting: &[Waiting], count: u64) -> Self {
        let clients = waiting.iter().map(|client| client.candidate.client_id).collect();
        Self::Prefer { clients, count }
    }
}

/// An input that is not valid in the round's phase.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a round that is {phase} does not accept {input}")]
pub struct InvalidTransitionError {
    phase: &'static str,
    input: &'static str,
}

impl Round {
    /// Applies a fact and returns the round's next state with the resulting effects. If nothing is due, the round
    /// is returned unchanged, without effects.
    ///
    /// # Errors
    /// [`InvalidTransitionError`] if the input is not valid in the current phase.
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
            (Phase::AdvertisingKeys { .. }, RoundInput::Reports(counts)) => {
                Ok(self.advertise(counts, rules, now))
            }
            (Phase::SharingKeys { .. }, RoundInput::Reports(counts)) => Ok(self.share(counts, rules, now)),
            (Phase::Reporting { .. }, RoundInput::Reports(counts))
                if rules.secure_step_milliseconds.is_some() =>
            {
                Ok(self.receive_masked(counts, rules, now))
            }
            (Phase::Reporting { .. }, RoundInput::Reports(counts)) => Ok(self.report(counts, rules, now)),
            (Phase::Unmasking { .. }, RoundInput::Opened { is_enough }) => {
                Ok(self.unmask(is_enough, rules, now))
            }
            // The draw is not repeated: the round combines the updates that have arrived.
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
            // A version that must not be released, or cannot be made, is discarded.
            (Phase::Aggregating { .. } | Phase::Unmasking { .. }, RoundInput::Stop(reason))
                if reason.ends_an_aggregation() =>
            {
                Ok(self.abandon(reason, now))
            }
            // Otherwise accepted updates are kept: a round that aggregates runs to its end.
            (Phase::Aggregating { .. } | Phase::Unmasking { .. }, RoundInput::Stop(_)) => Ok((self, vec![])),
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
            RoundInput::Closed(_) => "a request to close",
            RoundInput::Collected(_) => "starts and reports",
            RoundInput::Opened { .. } => "opened shares",
            RoundInput::Released { .. } => "a release",
            RoundInput::Evaluated => "an evaluation",
            RoundInput::Stop(_) => "a request to stop",
        }
    }
}
