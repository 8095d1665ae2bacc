//! Secure aggregation on the coordinator's side, and the facts about it that must stay true.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use folkmoot_coordinator::round::Round;
use folkmoot_protocol::{
    AssignmentId, RoundId,
    secure::{Opening, Roster, SecureMessage, SecureProgress, Survivors},
};
use folkmoot_rounds::{coordinator::Coordinator, device};
use folkmoot_storage::{ModelVersionRepository, ParticipationRepository};

use super::{
    Event, World,
    network::{Message, Reply, Request},
    requests::HeldPoll,
};
use crate::{
    invariants::{Holds, holds},
    oracle::RememberedUpdate,
    scenario::Nature,
};

/// The messages of secure aggregation that clients have seen and sent.
#[derive(Default)]
pub struct Secured {
    /// The roster of each round.
    pub rosters: BTreeMap<RoundId, Roster>,
    survivors: BTreeMap<RoundId, Vec<u32>>,
    answers: BTreeMap<AssignmentId, Vec<u32>>,
    openings: BTreeMap<AssignmentId, Opening>,
    committed: BTreeSet<RoundId>,
}

impl Secured {
    /// Checks that all clients of a round see the same roster, also after a crash of the coordinator.
    pub fn roster(&mut self, round: RoundId, roster: &Roster) -> Holds {
        let seen = self.rosters.entry(round).or_insert_with(|| roster.clone());
        holds("all_members_see_one_roster", seen == roster, || format!("{seen:?}, then {roster:?}"))
    }

    /// Checks that all clients of a round see the same survivors, also after a crash of the coordinator.
    pub fn survivors(&mut self, round: RoundId, survivors: &Survivors) -> Holds {
        let members = &survivors.members;
        let seen = self.survivors.entry(round).or_insert_with(|| members.clone());
        holds("all_members_see_the_same_survivors", seen == members, || format!("{seen:?}, then {members:?}"))
    }

    /// Checks that a client answers for one set of survivors only, and opens the same shares each time.
    pub fn answer(&mut self, id: AssignmentId, members: &[u32], message: &SecureMessage) -> Holds {
        let before = self.answers.entry(id).or_insert_with(|| members.to_vec());
        holds("a_journal_answers_once", before == members, || format!("{before:?}, then {members:?}"))?;
        let SecureMessage::Opening { opening } = message else { return Ok(()) };
        let before = self.openings.entry(id).or_insert_with(|| opening.clone());
        holds("a_journal_answers_once", before == opening, || format!("{id} opens other shares than before"))
    }
}

impl World {
    /// Handles a request of secure aggregation.
    pub(super) async fn secure(&mut self, coordinator: &Arc<Coordinator>, message: &Message) -> Holds {
        let failures = self.server.store.failures();
        let (record, now) = (self.clients[message.client].record.clone(), self.server_now());
        match &message.request {
            Request::Secure { assignment_id, message: sent } => {
                match device::secure_message(coordinator, &record, *assignment_id, sent, now).await {
                    Ok(()) if self.chance.happens(self.faults.crash_points) => {
                        self.coverage.count("crashes between a secure message and its answer");
                        self.fail(message);
                        self.crash("between a secure message and its answer")
                    }
                    Ok(()) => {
                        self.respond(message, Reply::Secured(Ok(None)));
                        Ok(())
                    }
                    Err(refusal) => self.refuse(message, &refusal, failures),
                }
            }
            Request::Progress { wait_seconds, .. } => {
                let poll = self.server.next_number();
                let waiter = coordinator.listeners.add(record.id);
                self.server.polls.insert(poll, HeldPoll { message: message.clone(), waiter });
                self.after(u64::from(*wait_seconds) * 1000, Event::WaitEnds { poll });
                self.progress(poll, false).await
            }
            _ => unreachable!("other requests are answered elsewhere"),
        }
    }

    /// Checks a released sum: it has enough updates, all of them were masked, and its metrics are the sums over its
    /// members.
    pub(super) async fn check_masked(
        &mut self,
        task: usize,
        round: &Round,
        version: u64,
        sent: &[RememberedUpdate],
    ) -> Holds {
        let terms = *self.tasks[task].plan.protection.secure().expect("the task masks its updates");
        let roster = self.ledger.secured.rosters.get(&round.id);
        let members = roster.map_or(0, |roster| roster.members.len() as u64);
        let lost = (members as f64 * terms.dropout_share).ceil() as u64;
        let (found, least) = (sent.len() as u64, terms.cohort_min.max(members.saturating_sub(lost)));
        holds("a_sum_has_enough_updates", found >= least, || format!("{found} of {members}, not {least}"))?;
        let are_masked = sent.iter().all(|update| update.is_masked);
        holds("every_update_of_a_masked_task_is_masked", are_masked, || format!("round {}", round.number))?;
        let examples = sent.iter().map(|update| update.example_count).sum::<u64>();
        let record = self.storage.model_version(self.tasks[task].id, version).await?;
        let shown = record.map(|record| record.metrics.example_count);
        holds("the_metrics_of_a_sum_are_its_members", shown == Some(examples), || {
            format!("{shown:?} examples instead of {examples}")
        })?;
        if self.ledger.secured.committed.insert(round.id) {
            self.coverage.count("masked rounds committed");
            if found < members {
                self.coverage.count("masked rounds committed without some of their members");
            }
        }
        Ok(())
    }

    /// Checks that only clients that break the protocol are suspended.
    pub(super) async fn check_blame(&mut self) -> Holds {
        for task in 0..self.tasks.len() {
            for (id, history) in self.storage.participations(self.tasks[task].id).await? {
                if history.guilty.is_none() {
                    continue;
                }
                self.coverage.count("members found guilty");
                let client = self.clients.iter().find(|client| client.record.id == id);
                let nature = client.map(|client| client.nature);
                let is_cheat = matches!(nature, Some(Nature::Cheating(_)));
                holds("only_cheats_are_found_guilty", is_cheat, || format!("{id} is {nature:?}"))?;
            }
        }
        Ok(())
    }

    /// Answers a held request for progress, if there is any or its wait is over.
    pub(super) async fn progress(&mut self, poll: u64, is_over: bool) -> Holds {
        let Some(coordinator) = self.server.coordinator.clone() else { return Ok(()) };
        let Some(HeldPoll { message, waiter }) = self.server.polls.remove(&poll) else { return Ok(()) };
        let Request::Progress { assignment_id, after, .. } = message.request else { return Ok(()) };
        let record = self.clients[message.client].record.clone();
        coordinator.listeners.forget(record.id, &waiter);
        // Register before checking, as the handler does.
        let waiter = coordinator.listeners.add(record.id);
        let (now, failures) = (self.server_now(), self.server.store.failures());
        let answered = device::secure_progress(&coordinator, &record, assignment_id, after, now).await;
        if matches!(answered, Ok(SecureProgress::Wait)) && !is_over {
            self.server.polls.insert(poll, HeldPoll { message, waiter });
            return Ok(());
        }
        coordinator.listeners.forget(record.id, &waiter);
        match answered {
            Ok(progress) => {
                self.respond(&message, Reply::Secured(Ok(Some(Arc::new(progress)))));
                Ok(())
            }
            Err(refusal) => self.refuse(&message, &refusal, failures),
        }
    }
}
