//! Rounds of a flow, in which clients start and report continuously.

use folkmoot_protocol::{AssignmentId, Timestamp, saturating::to_length};
use rand::Rng;

use super::{
    Collected, Effect, Phase, Round, Rules,
    cohort::{PREFERRED_OF_MAX, snapshot},
};
use crate::{
    participation::StartClocks,
    scheduling::{CommitDecision, Facts, Outstanding, SchedulingPolicy, StartDecision},
    selection::{Draw, TokenBound, most_of_one_token},
};

impl Round {
    /// Advances the round by one step: drops late assignments, or else commits, or else starts clients.
    pub(super) fn collect(
        self,
        since: Timestamp,
        collected: Collected,
        rules: Rules<'_>,
        now: Timestamp,
        rng: &mut impl Rng,
    ) -> (Round, Vec<Effect>) {
        let Collected { mut waiting, counts, outstanding, members, changes, tokens, preferred } = collected;
        let facts = Facts {
            now,
            since,
            asked: None,
            version: self.base_version,
            is_crowd: false,
            counts,
            outstanding: &outstanding,
            members: &members,
            changes: &changes,
        };
        let dropped = dropped(&facts, rules, now);
        if !dropped.is_empty() {
            return (self, vec![Effect::Drop(dropped)]);
        }
        match rules.policy.commit(&facts) {
            // A flow never asks its clients to send early. The update of a client that is still training belongs to a
            // later round.
            CommitDecision::Wait | CommitDecision::Ask => {}
            CommitDecision::Abandon(reason) => return self.abandon(reason, now),
            CommitDecision::Commit => {
                let accepted = counts.accepted;
                let phase = Phase::Aggregating { since: now, cohort: accepted, accepted };
                return (Round { phase, ..self }, vec![Effect::Aggregate]);
            }
        }
        waiting.retain(|client| rules.policy.may_start(&facts, client));
        let bound = rules.token_share_max.map_or(TokenBound::None, |share| {
            let most = most_of_one_token(share, clients_of_a_flow(rules.policy));
            TokenBound::OfRound { most, present: &tokens }
        });
        let drawable = bound.drawable(&waiting, waiting.len());
        let count = match rules.policy.start(&facts, drawable as u64) {
            StartDecision::Wait => return (self, vec![]),
            StartDecision::Abandon(reason) => return self.abandon(reason, now),
            StartDecision::Draw { cohort } => to_length(cohort),
        };
        if preferred.is_none() && rules.selection.component().is_some() {
            let asked = snapshot(&waiting, PREFERRED_OF_MAX, rng);
            return (self, vec![Effect::prefer(&asked, count as u64)]);
        }
        let preferred = preferred.as_deref();
        let draw = Draw { waiting: &waiting, count, round_number: self.number, now, preferred };
        let clients = bound.draw(rules.selection, &draw, rng);
        if clients.is_empty() {
            return (self, vec![]);
        }
        let deadline = now.plus_milliseconds(rules.policy.assignment_milliseconds());
        let granted = clients.iter().filter_map(|id| Some((*id, rules.policy.grant(&facts, *id)?)));
        let clocks =
            StartClocks { first: rules.policy.first_clock(&facts), granted_until: granted.collect() };
        (self, vec![Effect::Assign { clients, deadline, clocks }])
    }
}

/// Lists the assignments that have expired or that the policy drops.
fn dropped(facts: &Facts<'_>, rules: Rules<'_>, now: Timestamp) -> Vec<AssignmentId> {
    let is_dropped = |one: &&Outstanding| one.deadline <= now || rules.policy.drops(facts, one);
    facts.outstanding.iter().filter(is_dropped).map(|one| one.assignment_id).collect()
}

/// Returns the number of clients that a share refers to in a flow: the maximum number of updates of a commit, but at
/// most the concurrency. If each update makes a commit, it is the concurrency.
fn clients_of_a_flow(policy: &dyn SchedulingPolicy) -> u64 {
    match policy.updates().1 {
        1 => policy.concurrency(),
        most => most.min(policy.concurrency()),
    }
}
