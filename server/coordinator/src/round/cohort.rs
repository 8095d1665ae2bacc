//! Rounds that draw one cohort and wait for its updates.

use folkmoot_protocol::Timestamp;
use rand::Rng;

use super::{AbandonReason, Effect, Gathered, Phase, Round, Rules};
use crate::{
    participation::StartClocks,
    scheduling::{CommitDecision, Facts, ReportCounts, StartDecision},
    selection::Draw,
};

impl Round {
    pub(super) fn select(
        self,
        since: Timestamp,
        gathered: &Gathered,
        rules: Rules<'_>,
        now: Timestamp,
        rng: &mut impl Rng,
    ) -> (Round, Vec<Effect>) {
        let Gathered { waiting, is_crowd } = gathered;
        let facts = Facts { is_crowd: *is_crowd, ..self.facts(since, now, ReportCounts::default()) };
        let cohort = match rules.policy.start(&facts, waiting.len() as u64) {
            StartDecision::Wait => return (self, vec![]),
            StartDecision::Abandon(reason) => return self.abandon(reason, now),
            StartDecision::Draw { cohort } => cohort,
        };
        let draw = Draw { waiting, count: cohort as usize, round_number: self.number, now };
        let clients = rules.selection.draw(&draw, rng);
        // A selection that chooses the cohort's size itself may come out with too few.
        if (clients.len() as u64) < rules.policy.updates().0 {
            return self.abandon(AbandonReason::TooFewClients, now);
        }
        let deadline = now.plus_milliseconds(rules.policy.assignment_milliseconds());
        let phase = Phase::Reporting { since: now, cohort: clients.len() as u64 };
        (Round { phase, ..self }, vec![Effect::Assign { clients, deadline, clocks: StartClocks::default() }])
    }

    pub(super) fn report(
        self,
        since: Timestamp,
        cohort: u64,
        counts: ReportCounts,
        rules: Rules<'_>,
        now: Timestamp,
    ) -> (Round, Vec<Effect>) {
        match rules.policy.commit(&self.facts(since, now, counts)) {
            CommitDecision::Wait => (self, vec![]),
            CommitDecision::Abandon(reason) => self.abandon(reason, now),
            CommitDecision::Commit => {
                let phase = Phase::Aggregating { since: now, cohort, accepted: counts.accepted };
                (Round { phase, ..self }, vec![Effect::ExpireOutstanding, Effect::Aggregate])
            }
        }
    }

    fn facts(&self, since: Timestamp, now: Timestamp, counts: ReportCounts) -> Facts<'static> {
        Facts {
            now,
            since,
            version: self.base_version,
            is_crowd: false,
            counts,
            outstanding: &[],
            members: &[],
            changes: &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::{RoundId, TaskId};
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::{
        super::{InvalidTransitionError, Purpose, RoundInput},
        *,
    };
    use crate::{
        scheduling::{Synchronous, samples},
        selection::SelectionChoice,
    };

    fn round() -> Round {
        Round {
            id: RoundId::from_random_bytes([1; 16]),
            task_id: TaskId::from_random_bytes([2; 16]),
            number: 1,
            purpose: Purpose::Training,
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
            over_selection_factor: Some(1.5),
            minimum_cohort: Some(1),
            selection_deadline_seconds: 10,
            reporting_deadline_seconds: 20,
        };
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let rules = Rules { policy: &policy, selection: &SelectionChoice::default() };
        round.step(input, rules, Timestamp(now), &mut rng)
    }

    fn clients(count: u8) -> RoundInput {
        let waiting = (0..count).map(samples::waiting).collect();
        RoundInput::Waiting(Gathered { waiting, is_crowd: true })
    }

    #[test]
    fn a_round_goes_from_selection_to_commit() {
        let (waiting, effects) = step(round(), clients(2), 5_000).unwrap();
        assert_eq!((waiting.phase.name(), effects), ("selecting", vec![]));
        let (reporting, effects) = step(waiting, clients(9), 6_000).unwrap();
        let [Effect::Assign { clients: drawn, deadline, .. }] = effects.as_slice() else {
            panic!("{effects:?}")
        };
        assert_eq!((drawn.len(), *deadline), (3, Timestamp(26_000)));
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
        let refused = step(committed, clients(0), 9_000).unwrap_err();
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
