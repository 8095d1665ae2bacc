//! The steps of a round with secure aggregation, each with its deadline: keys, shares, masked updates, opened shares. The keys
//! take the place of the reports, because the clients that advertise keys in time make up the cohort of the sum.

use super::{AbandonReason, Effect, Phase, Round, Rules, secure_step::SecureStep};
use crate::scheduling::{CommitDecision, ReportCounts};
use folkmoot_protocol::Timestamp;

impl Round {
    /// The clients that have advertised keys are enough by the rules of the scheduling policy for updates.
    pub(super) fn advertise(
        self,
        counts: ReportCounts,
        rules: Rules<'_>,
        now: Timestamp,
    ) -> (Round, Vec<Effect>) {
        let Phase::AdvertisingKeys { since, cohort } = self.phase else { return (self, vec![]) };
        match rules.policy.commit(&self.facts(since, None, now, counts)) {
            CommitDecision::Wait | CommitDecision::Ask => (self, vec![]),
            CommitDecision::Abandon(reason) => self.abandon(reason, now),
            CommitDecision::Commit => {
                let phase = Phase::SharingKeys { since: now, cohort };
                (Round { phase, ..self }, vec![Effect::CloseStep(SecureStep::Keys)])
            }
        }
    }

    /// From here on, every client that is missing costs masks that must be removed. So the round waits for all, until the
    /// step's deadline.
    pub(super) fn share(
        self,
        counts: ReportCounts,
        rules: Rules<'_>,
        now: Timestamp,
    ) -> (Round, Vec<Effect>) {
        let Phase::SharingKeys { since, cohort } = self.phase else { return (self, vec![]) };
        match after_step(since, counts, rules, now) {
            None => (self, vec![]),
            Some(false) => self.abandon(AbandonReason::TooFewReports, now),
            Some(true) => {
                let phase = Phase::Reporting { since: now, cohort, asked: None };
                (Round { phase, ..self }, vec![Effect::CloseStep(SecureStep::Shares)])
            }
        }
    }

    pub(super) fn receive_masked(
        self,
        counts: ReportCounts,
        rules: Rules<'_>,
        now: Timestamp,
    ) -> (Round, Vec<Effect>) {
        let Phase::Reporting { since, cohort, .. } = self.phase else { return (self, vec![]) };
        match after_step(since, counts, rules, now) {
            None => (self, vec![]),
            Some(false) => self.abandon(AbandonReason::TooFewReports, now),
            Some(true) => {
                let phase = Phase::Unmasking { since: now, cohort, accepted: counts.accepted };
                (Round { phase, ..self }, vec![Effect::ExpireOutstanding, Effect::Aggregate])
            }
        }
    }

    pub(super) fn unmask(self, is_enough: bool, rules: Rules<'_>, now: Timestamp) -> (Round, Vec<Effect>) {
        let Phase::Unmasking { since, cohort, accepted } = self.phase else { return (self, vec![]) };
        if is_enough {
            let phase = Phase::Aggregating { since: now, cohort, accepted };
            (Round { phase, ..self }, vec![Effect::Unmasked])
        } else if is_late(since, rules, now) {
            self.abandon(AbandonReason::TooFewReports, now)
        } else {
            (self, vec![])
        }
    }
}

/// Returns whether a step that has ended was completed by enough clients; `None` while it is open.
fn after_step(since: Timestamp, counts: ReportCounts, rules: Rules<'_>, now: Timestamp) -> Option<bool> {
    let fewest = rules.policy.updates().0;
    let is_enough = counts.accepted >= fewest;
    let is_possible = counts.accepted + counts.outstanding >= fewest;
    let is_over = counts.outstanding == 0 || is_late(since, rules, now) || !is_possible;
    is_over.then_some(is_enough)
}

fn is_late(since: Timestamp, rules: Rules<'_>, now: Timestamp) -> bool {
    rules.secure_step_milliseconds.is_some_and(|step| now.milliseconds_since(since) >= step)
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::{RoundId, TaskId};
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::{
        super::{Purpose, RoundInput},
        *,
    };
    use crate::{scheduling::Synchronous, selection::SelectionChoice};

    const POLICY: Synchronous = Synchronous {
        report_goal: 10,
        over_selection_factor: Some(1.3),
        minimum_cohort: Some(6),
        selection_deadline_seconds: 60,
        reporting_deadline_seconds: 600,
    };

    fn stepped(phase: Phase, input: RoundInput, seconds: u64) -> (Phase, Vec<Effect>) {
        let round = Round {
            id: RoundId::from_random_bytes([1; 16]),
            task_id: TaskId::from_random_bytes([2; 16]),
            number: 1,
            purpose: Purpose::Training,
            base_version: 0,
            phase,
        };
        let rules = Rules {
            secure_step_milliseconds: Some(30_000),
            ..Rules::new(&POLICY, &SelectionChoice::Uniform)
        };
        let now = Timestamp(0).plus_seconds(seconds);
        let (round, effects) =
            round.step(input, rules, now, &mut ChaCha8Rng::seed_from_u64(1)).expect("a valid transition");
        (round.phase, effects)
    }

    fn counts(accepted: u64, outstanding: u64) -> RoundInput {
        RoundInput::Reports(ReportCounts { accepted, outstanding, dropped: 13 - accepted - outstanding })
    }

    const SINCE: Timestamp = Timestamp(0);
    const KEYS: Phase = Phase::AdvertisingKeys { since: SINCE, cohort: 13 };
    const SHARES: Phase = Phase::SharingKeys { since: SINCE, cohort: 13 };
    const UPLOADS: Phase = Phase::Reporting { since: SINCE, cohort: 13, asked: None };
    const OPENING: Phase = Phase::Unmasking { since: SINCE, cohort: 13, accepted: 8 };

    fn given_up(seconds: u64) -> Phase {
        Phase::Abandoned { at: SINCE.plus_seconds(seconds), reason: AbandonReason::TooFewReports }
    }

    #[test]
    fn keys_close_at_the_goal_and_later_steps_wait_for_everybody() {
        assert_eq!(stepped(KEYS, counts(9, 4), 599), (KEYS, vec![]));
        let close = |step| vec![Effect::CloseStep(step)];
        let sharing = |seconds| Phase::SharingKeys { since: SINCE.plus_seconds(seconds), cohort: 13 };
        assert_eq!(stepped(KEYS, counts(10, 3), 5), (sharing(5), close(SecureStep::Keys)));
        assert_eq!(stepped(KEYS, counts(6, 7), 600), (sharing(600), close(SecureStep::Keys)));
        assert_eq!(stepped(SHARES, counts(9, 1), 29), (SHARES, vec![]));
        let reporting =
            |seconds| Phase::Reporting { since: SINCE.plus_seconds(seconds), cohort: 13, asked: None };
        assert_eq!(stepped(SHARES, counts(10, 0), 5), (reporting(5), close(SecureStep::Shares)));
        assert_eq!(stepped(SHARES, counts(6, 4), 30), (reporting(30), close(SecureStep::Shares)));
        assert_eq!(stepped(UPLOADS, counts(9, 1), 29), (UPLOADS, vec![]));
        let unmasking = Phase::Unmasking { since: SINCE.plus_seconds(30), cohort: 13, accepted: 7 };
        let combine = vec![Effect::ExpireOutstanding, Effect::Aggregate];
        assert_eq!(stepped(UPLOADS, counts(7, 3), 30), (unmasking, combine));
        let opened = |is_enough| RoundInput::Opened { is_enough };
        assert_eq!(stepped(OPENING, opened(false), 29), (OPENING, vec![]));
        let aggregating = Phase::Aggregating { since: SINCE.plus_seconds(3), cohort: 13, accepted: 8 };
        assert_eq!(stepped(OPENING, opened(true), 3), (aggregating, vec![Effect::Unmasked]));
    }

    #[test]
    fn a_step_with_too_few_clients_abandons_the_round() {
        for (phase, input, seconds) in [
            (KEYS, counts(5, 8), 600),
            (SHARES, counts(5, 5), 30),
            (SHARES, counts(3, 2), 0),
            (UPLOADS, counts(5, 5), 30),
            (OPENING, RoundInput::Opened { is_enough: false }, 30),
        ] {
            let (next, effects) = stepped(phase, input, seconds);
            assert_eq!((next, effects), (given_up(seconds), vec![Effect::ExpireOutstanding]));
        }
    }
}
