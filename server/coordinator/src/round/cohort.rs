//! Rounds that draw one cohort and wait for its updates.

use std::borrow::Cow;

use folkmoot_protocol::{Timestamp, saturating::to_length};
use rand::Rng;

use super::{AbandonReason, Effect, Gathered, Phase, Round, Rules, secure_step::STEPS_AFTER_TRAINING};
use crate::{
    participation::{StartClocks, Waiting},
    scheduling::{CommitDecision, Facts, ReportCounts, StartDecision},
    selection::{Draw, TokenBound},
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
        let Gathered { waiting, is_crowd, preferred } = gathered;
        let facts = Facts { is_crowd: *is_crowd, ..self.facts(since, None, now, ReportCounts::default()) };
        let bound = rules.token_share_max.map_or(TokenBound::None, |share| TokenBound::OfDraw { share });
        let cohort = match start(rules, &facts, &bound, waiting) {
            StartDecision::Wait => return (self, vec![]),
            StartDecision::Abandon(reason) => return self.abandon(reason, now),
            StartDecision::Draw { cohort } => cohort,
        };
        let waiting = match rules.policy.keeps_draws() {
            true => snapshot(waiting, cohort, rng),
            false => Cow::Borrowed(waiting.as_slice()),
        };
        let preferred = preferred.as_deref();
        if preferred.is_none() && rules.selection.component().is_some() {
            return (self, vec![Effect::prefer(&snapshot(&waiting, PREFERRED_OF_MAX, rng), cohort)]);
        }
        let count = to_length(cohort);
        let draw = Draw { waiting: &waiting, count, round_number: self.number, now, preferred };
        let clients = bound.draw(rules.selection, &draw, rng);
        // A selection that determines its own cohort size may draw too few. Under a policy that keeps its draws,
        // no size is too small.
        if (clients.len() as u64) < rules.policy.updates().0 {
            // Until the deadline, the task's own selection may wait for other clients.
            let is_late = rules.policy.start(&facts, 0) != StartDecision::Wait;
            if preferred.is_some() && !is_late {
                return (self, vec![]);
            }
            return self.abandon(AbandonReason::TooFewClients, now);
        }
        let (since, cohort) = (now, clients.len() as u64);
        let mut deadline = now.plus_milliseconds(rules.policy.assignment_milliseconds());
        let phase = match rules.secure_step_milliseconds {
            Some(step) => {
                deadline = deadline.plus_milliseconds(step.saturating_mul(STEPS_AFTER_TRAINING));
                Phase::AdvertisingKeys { since, cohort }
            }
            None => Phase::Reporting { since, cohort, asked: None },
        };
        (Round { phase, ..self }, vec![Effect::Assign { clients, deadline, clocks: StartClocks::default() }])
    }

    pub(super) fn report(
        self,
        counts: ReportCounts,
        rules: Rules<'_>,
        now: Timestamp,
    ) -> (Round, Vec<Effect>) {
        let Phase::Reporting { since, cohort, asked } = self.phase else { return (self, vec![]) };
        match rules.policy.commit(&self.facts(since, asked, now, counts)) {
            CommitDecision::Wait => (self, vec![]),
            // The round asks its clients only once, even if the policy returns `Ask` again.
            CommitDecision::Ask if asked.is_some() => (self, vec![]),
            CommitDecision::Ask => {
                let phase = Phase::Reporting { since, cohort, asked: Some(now) };
                (Round { phase, ..self }, vec![Effect::Ask])
            }
            CommitDecision::Abandon(reason) => self.abandon(reason, now),
            CommitDecision::Commit => self.close(cohort, counts, now),
        }
    }

    /// Stops accepting updates and aggregates the accepted ones.
    pub(super) fn close(self, cohort: u64, counts: ReportCounts, now: Timestamp) -> (Round, Vec<Effect>) {
        let phase = Phase::Aggregating { since: now, cohort, accepted: counts.accepted };
        (Round { phase, ..self }, vec![Effect::ExpireOutstanding, Effect::Aggregate])
    }

    pub(super) fn facts(
        &self,
        since: Timestamp,
        asked: Option<Timestamp>,
        now: Timestamp,
        counts: ReportCounts,
    ) -> Facts<'static> {
        Facts {
            now,
            since,
            asked,
            version: self.base_version,
            is_crowd: false,
            counts,
            outstanding: &[],
            members: &[],
            changes: &[],
        }
    }
}

/// Asks the policy for the number of clients that start. Clients beyond the token bound do not count as waiting.
fn start(rules: Rules<'_>, facts: &Facts<'_>, bound: &TokenBound<'_>, waiting: &[Waiting]) -> StartDecision {
    match rules.policy.start(facts, waiting.len() as u64) {
        StartDecision::Draw { cohort } => {
            let drawable = bound.drawable(waiting, to_length(cohort)) as u64;
            if drawable < cohort {
                rules.policy.start(facts, drawable)
            } else {
                StartDecision::Draw { cohort }
            }
        }
        decision => decision,
    }
}

/// The maximum number of waiting clients that the task's own selection gets. Of more, it gets a random part.
pub(super) const PREFERRED_OF_MAX: u64 = 10_000;

/// Returns `most` of the waiting clients, in order, starting at a random position. The others are not part of the
/// draw.
pub(super) fn snapshot<'w>(waiting: &'w [Waiting], most: u64, rng: &mut impl Rng) -> Cow<'w, [Waiting]> {
    let (count, most) = (waiting.len() as u64, to_length(most));
    if waiting.len() <= most {
        return Cow::Borrowed(waiting);
    }
    let first = to_length(rng.next_u64() % count);
    let (before, from) = waiting.split_at(first);
    Cow::Owned(from.iter().chain(before).take(most).cloned().collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::{
        super::{Collected, InvalidTransitionError, RoundInput},
        *,
    };
    use crate::{
        round::samples::round,
        scheduling::{AggressiveSynchronous, Sampled, SchedulingChoice, Synchronous, samples},
        selection::{Poisson, SelectionChoice},
    };

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
        let rules = Rules::new(&policy, &SelectionChoice::Uniform);
        round.step(input, rules, Timestamp(now), &mut rng)
    }

    fn clients(count: u8) -> RoundInput {
        let waiting = (0..count).map(samples::waiting).collect();
        RoundInput::Waiting(Gathered { waiting, is_crowd: true, preferred: None })
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
        for reason in [AbandonReason::PrivacyBudget, AbandonReason::CommitFailed] {
            let (abandoned, effects) = step(aggregating.clone(), RoundInput::Stop(reason), 7_600).unwrap();
            assert_eq!(abandoned.phase, Phase::Abandoned { at: Timestamp(7_600), reason });
            assert_eq!(effects, [Effect::ExpireOutstanding]);
        }
        let (committed, _) = step(aggregating, RoundInput::Released { version: 1 }, 8_000).unwrap();
        assert_eq!(
            committed.phase,
            Phase::Committed { at: Timestamp(8_000), cohort: 3, accepted: 2, version: 1 }
        );
        let refused = step(committed, clients(0), 9_000).unwrap_err();
        assert_eq!(refused.to_string(), "a round that is committed does not accept waiting clients");
    }

    /// An enrolment token with many clients gets at most half of a round. Clients beyond that limit do not count as
    /// waiting.
    #[test]
    fn a_round_and_a_flow_keep_to_the_share_of_a_token() {
        let waiting: Vec<Waiting> = (0..20)
            .map(|number| Waiting { token: Some(format!("{}", number / 18)), ..samples::waiting(number) })
            .collect();
        let policy = Synchronous {
            report_goal: 8,
            over_selection_factor: Some(1.0),
            minimum_cohort: Some(2),
            selection_deadline_seconds: 10,
            reporting_deadline_seconds: 20,
        };
        let selection = SelectionChoice::default();
        let rules = Rules { token_share_max: Some(0.5), ..Rules::new(&policy, &selection) };
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let gathered =
            || RoundInput::Waiting(Gathered { waiting: waiting.clone(), is_crowd: true, preferred: None });
        let (same, _) = round().step(gathered(), rules, Timestamp(5_000), &mut rng).unwrap();
        assert_eq!(same.phase.name(), "selecting", "four can be drawn, and eight are wanted");
        let (_, effects) = same.step(gathered(), rules, Timestamp(10_000), &mut rng).unwrap();
        let [Effect::Assign { clients, .. }] = effects.as_slice() else { panic!("{effects:?}") };
        assert_eq!(clients.len(), 4);
        assert!([18, 19].map(samples::client).iter().all(|other| clients.contains(other)), "both others");

        let buffered = r#"{ "kind": "buffered", "buffer_goal": 8, "concurrency": 20 }"#;
        let flow: SchedulingChoice = serde_json::from_str(buffered).unwrap();
        let rules = Rules { policy: flow.policy(), ..rules };
        let tokens = [(Some("0".into()), 1)].into();
        let collected = RoundInput::Collected(Collected { waiting, tokens, ..Collected::default() });
        let collecting = Round { phase: Phase::Collecting { since: Timestamp(0) }, ..round() };
        let (_, effects) = collecting.step(collected, rules, Timestamp(1), &mut rng).unwrap();
        let [Effect::Assign { clients, .. }] = effects.as_slice() else { panic!("{effects:?}") };
        assert_eq!(clients.len(), 5, "three of the token with one in the round, and both others");
        assert!([18, 19].map(samples::client).iter().all(|other| clients.contains(other)));
    }

    #[test]
    fn a_sample_is_kept_whatever_came_of_it() {
        let policy = Sampled(Synchronous {
            report_goal: 4,
            over_selection_factor: Some(1.0),
            minimum_cohort: None,
            selection_deadline_seconds: 10,
            reporting_deadline_seconds: 20,
        });
        let selection = SelectionChoice::Poisson(Poisson { sampling_rate: 0.05 });
        let rules = Rules::new(&policy, &selection);
        let mut sizes = BTreeSet::new();
        for seed in 0..100 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut step =
                |round: Round, input, now| round.step(input, rules, Timestamp(now), &mut rng).unwrap();
            let (reporting, effects) = step(round(), clients(20), 10_000);
            let Phase::Reporting { cohort, .. } = reporting.phase else { panic!("{reporting:?}") };
            let [Effect::Assign { clients: drawn, .. }] = effects.as_slice() else { panic!("{effects:?}") };
            assert_eq!(drawn.len() as u64, cohort);
            sizes.insert(cohort);
            // Neither a stop nor the goal ends the round early.
            let (same, _) = step(reporting.clone(), RoundInput::Stop(AbandonReason::TaskPaused), 11_000);
            assert_eq!(same, reporting);
            let counts = ReportCounts { accepted: cohort, outstanding: 0, dropped: 0 };
            assert_eq!(step(reporting.clone(), RoundInput::Reports(counts), 29_999).0, reporting);
            let counts = ReportCounts { accepted: 0, outstanding: cohort, dropped: 0 };
            for input in [RoundInput::Reports(counts), RoundInput::Closed(counts)] {
                let (closed, effects) = step(reporting.clone(), input, 30_000);
                assert_eq!(
                    closed.phase,
                    Phase::Aggregating { since: Timestamp(30_000), cohort, accepted: 0 }
                );
                assert_eq!(effects, [Effect::ExpireOutstanding, Effect::Aggregate]);
            }
        }
        assert!(sizes.contains(&0) && sizes.contains(&1) && sizes.iter().any(|size| *size > 2), "{sizes:?}");
    }

    #[test]
    fn only_a_round_that_keeps_its_draw_is_closed_before_its_time() {
        let mut reporting = round();
        reporting.phase = Phase::Reporting { since: Timestamp(0), cohort: 3, asked: None };
        let refused = step(reporting, RoundInput::Closed(ReportCounts::default()), 1).unwrap_err();
        assert_eq!(refused.to_string(), "a round that is reporting does not accept a request to close");
    }

    #[test]
    fn stragglers_are_asked_once_and_the_round_remembers_when() {
        let policy = AggressiveSynchronous {
            cohort: 4,
            ask_at: None,
            grace_seconds: 5,
            minimum_cohort: Some(1),
            selection_deadline_seconds: 10,
            reporting_deadline_seconds: 20,
        };
        let rules = Rules::new(&policy, &SelectionChoice::Uniform);
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut step = |round: Round, input, now| round.step(input, rules, Timestamp(now), &mut rng).unwrap();
        let reports = |accepted, outstanding| {
            RoundInput::Reports(ReportCounts { accepted, outstanding, dropped: 4 - accepted - outstanding })
        };
        let (reporting, _) = step(round(), clients(4), 1_000);
        let (same, effects) = step(reporting.clone(), reports(1, 3), 2_000);
        assert_eq!((&same, effects), (&reporting, vec![]));
        let (asked, effects) = step(reporting.clone(), reports(2, 2), 3_000);
        assert_eq!(effects, [Effect::Ask]);
        let phase = Phase::Reporting { since: Timestamp(1_000), cohort: 4, asked: Some(Timestamp(3_000)) };
        assert_eq!(asked.phase, phase);
        let stored = serde_json::to_string(&asked).unwrap();
        assert_eq!(serde_json::from_str::<Round>(&stored).unwrap(), asked);
        assert!(
            !serde_json::to_string(&reporting).unwrap().contains("asked"),
            "compatible with older records"
        );
        for (input, now) in [(reports(2, 2), 3_000), (reports(3, 1), 7_999)] {
            assert_eq!(step(asked.clone(), input, now), (asked.clone(), vec![]), "asked once");
        }
        for (input, now, accepted) in [(reports(4, 0), 3_001, 4), (reports(2, 2), 8_000, 2)] {
            let (closed, effects) = step(asked.clone(), input, now);
            assert_eq!(closed.phase, Phase::Aggregating { since: Timestamp(now), cohort: 4, accepted });
            assert_eq!(effects, [Effect::ExpireOutstanding, Effect::Aggregate]);
        }
    }

    #[test]
    fn a_snapshot_has_no_more_than_it_may_and_everybody_has_a_place() {
        let waiting: Vec<Waiting> = (0..10).map(samples::waiting).collect();
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        assert_eq!(*snapshot(&waiting, 10, &mut rng), waiting);
        let mut seen = BTreeSet::new();
        for _ in 0..100 {
            let of = snapshot(&waiting, 4, &mut rng);
            assert_eq!(of.len(), 4);
            seen.extend(of.iter().map(|client| client.candidate.client_id));
        }
        assert_eq!(seen.len(), 10);
    }

    #[test]
    fn a_clock_that_goes_backwards_neither_panics_nor_ends_a_round() {
        let mut late = round();
        late.phase = Phase::Reporting { since: Timestamp(1_000_000), cohort: 3, asked: None };
        let counts = ReportCounts { accepted: 1, outstanding: 2, dropped: 0 };
        let (same, effects) = step(late.clone(), RoundInput::Reports(counts), 0).unwrap();
        assert_eq!((same, effects), (late, vec![]));
    }
}
