//! Secure aggregation on the clients' side: a real journal for each assignment, which the client stores before each message.
//! Requests may be lost, repeated and reordered, and the client may crash or vanish between any two of them.

use std::sync::Arc;

use ed25519_dalek::SigningKey;
use folkmoot_protocol::{
    AssignmentId,
    messages::{AbortReason, Assignment},
    secure::{Identity, SecureAnswered, SecureMessage, SecureProgress, StepKey, Survivors},
    signing::{encode_public_key, sign_text},
};
use folkmoot_secure_aggregation::{Context, Journal, JournalError, Masking, Policy, Setting};
use folkmoot_session::{Answer, ExchangeStep, Exchanged, RequestId};
use rand::RngExt;

use super::{
    SimTask, World,
    hosts::SimClient,
    network::{Request, Secured},
};
use crate::{
    invariants::Holds,
    scenario::{Cheat, Nature, Sabotage},
};

/// The seconds for which a client lets the coordinator hold a request.
const WAIT_SECONDS: u32 = 30;
/// The rates, in thousandths, at which a vanishing client vanishes at a step. Few of them reach the later steps.
const VANISHING: [(&str, u64); 4] = [
    ("clients lost before their keys", 100),
    ("clients lost after their keys", 250),
    ("clients lost after their shares", 400),
    ("clients lost after their upload", 500),
];

/// A step of secure aggregation that a client takes.
pub struct Exchange {
    /// The id of the session's request.
    pub request_id: RequestId,
    assignment: Assignment,
    step: ExchangeStep,
    /// The number of the request that the client waits for. Responses to earlier requests are ignored.
    number: u64,
    /// The answer to ask for next; `None` after the last message.
    next: Option<SecureAnswered>,
}

/// Returns the enrolment key of a client.
pub fn signing_key(index: usize) -> SigningKey {
    SigningKey::from_bytes(&[index as u8 + 1; 32])
}

fn identity(index: usize, text: &str) -> Identity {
    let key = signing_key(index);
    Identity { public_key: encode_public_key(&key), signature: sign_text(&key, text) }
}

impl SimClient {
    fn device_key(&self) -> [u8; 32] {
        [self.index as u8; 32]
    }

    fn journal(&self, id: AssignmentId) -> Result<Journal, JournalError> {
        let stored = self.journals.get(&id).ok_or(JournalError::Missing)?;
        Ok(serde_json::from_str(stored).expect("a stored journal can be read"))
    }

    fn store(&mut self, id: AssignmentId, journal: &Journal) {
        self.journals.insert(id, serde_json::to_string(journal).expect("a journal is JSON"));
    }
}

fn setting(task: &SimTask, assignment: &Assignment) -> Setting {
    let context = Context::of(assignment);
    let terms = *task.plan.protection.secure().expect("only tasks with masks exchange messages");
    Setting { context, terms, assignment_id: assignment.assignment_id, policy: Policy::default() }
}

impl World {
    fn setting(&self, assignment: &Assignment) -> Setting {
        let task = self.tasks.iter().find(|task| task.id == assignment.task_id);
        setting(task.expect("assignments are of the world's tasks"), assignment)
    }

    /// Returns the masks of a client that has received its shares.
    pub(super) fn masking(&self, client: &SimClient, task: &SimTask, assignment: &Assignment) -> Masking {
        let journal = client.journal(assignment.assignment_id);
        let masking = journal.and_then(|one| one.masking(&setting(task, assignment), &client.device_key()));
        masking.expect("an update is prepared after the shares were received")
    }

    /// Begins a step.
    pub(super) fn exchange(
        &mut self,
        index: usize,
        request_id: RequestId,
        assignment: Assignment,
        step: ExchangeStep,
    ) -> Holds {
        let place = match step {
            ExchangeStep::Keys => 0,
            ExchangeStep::Shares => 1,
            ExchangeStep::Opening => 3,
        };
        if self.vanishes(index, place) {
            return Ok(());
        }
        let (setting, id) = (self.setting(&assignment), assignment.assignment_id);
        let client = &mut self.clients[index];
        let (key, next) = (client.device_key(), None);
        client.exchange = Some(Exchange { request_id, assignment, step, number: 0, next });
        let message = match step {
            ExchangeStep::Keys => {
                if !client.journals.contains_key(&id) {
                    let journal = Journal::new(client.chance.0.random(), &key, id);
                    client.store(id, &journal);
                }
                let journal = client.journal(id);
                let draft = journal.and_then(|one| one.keys(&setting, &key));
                draft.map(|draft| draft.sign_with(|text| identity(index, text)))
            }
            ExchangeStep::Shares => client.journal(id).and_then(|one| one.shares(&setting, &key)),
            ExchangeStep::Opening => {
                self.ask_progress(index, SecureAnswered::Update);
                return Ok(());
            }
        };
        let next = if step == ExchangeStep::Keys { SecureAnswered::Keys } else { SecureAnswered::Shares };
        match message {
            Ok(message) => self.send_secure(index, message, Some(next)),
            Err(error) => self.end_exchange(index, Err(error)),
        }
        Ok(())
    }

    /// Continues a step with the coordinator's response.
    pub(super) fn secured(&mut self, index: usize, incarnation: u32, number: u64, answer: Secured) -> Holds {
        let client = &self.clients[index];
        let awaited = client.exchange.as_ref().filter(|exchange| exchange.number == number);
        let Some(exchange) = awaited.filter(|_| client.incarnation == incarnation) else { return Ok(()) };
        let next = exchange.next;
        match answer {
            Err(failure) => {
                let request_id = exchange.request_id;
                self.clients[index].exchange = None;
                self.answer_here(index, request_id, 1, Answer::Exchanged(Err(failure)));
                Ok(())
            }
            Ok(None) => {
                match next {
                    Some(after) => self.ask_progress(index, after),
                    None => self.end_exchange(index, Ok(Exchanged::Completed)),
                }
                Ok(())
            }
            Ok(Some(progress)) => self.advance_exchange(index, &progress),
        }
    }

    fn advance_exchange(&mut self, index: usize, progress: &SecureProgress) -> Holds {
        let client = &self.clients[index];
        let Some(Exchange { step, assignment, next, .. }) = &client.exchange else { return Ok(()) };
        let (step, assignment, after) = (*step, assignment.clone(), *next);
        let (id, round) = (assignment.assignment_id, assignment.round_id);
        let (setting, key) = (self.setting(&assignment), client.device_key());
        let journal = client.journal(id);
        let taken = match (step, progress) {
            (_, SecureProgress::Wait) => return self.end(index, Ok(Exchanged::Waiting)),
            (ExchangeStep::Keys, SecureProgress::Roster { roster }) => {
                self.ledger.secured.roster(round, roster)?;
                journal.and_then(|mut journal| {
                    journal.take_roster(&setting, &key, roster.clone())?;
                    Ok((journal, None))
                })
            }
            (ExchangeStep::Shares, SecureProgress::Shares { shares }) => journal.and_then(|mut journal| {
                journal.take_shares(&setting, &key, shares.clone())?;
                Ok((journal, None))
            }),
            (ExchangeStep::Opening, SecureProgress::Done) => {
                return self.end(index, Ok(Exchanged::Completed));
            }
            (ExchangeStep::Opening, SecureProgress::Survivors { survivors }) => {
                if after == Some(SecureAnswered::Agreement) && survivors.agreements.is_empty() {
                    return self.end(index, Ok(Exchanged::Waiting));
                }
                self.ledger.secured.survivors(round, survivors)?;
                self.answer_before(index, &assignment, survivors)?;
                journal.and_then(|mut journal| {
                    let draft = journal.take_survivors(&setting, &key, survivors)?;
                    let message = draft.sign_with(|text| identity(index, text));

                    let next = message.answered();
                    Ok((journal, Some((message, next, survivors))))
                })
            }
            (_, other) => {
                self.note(format_args!("client {index} cannot go on with {}", progress_name(other)));
                let answer = Answer::WorkFailed {
                    reason: AbortReason::DeadlinePassed,
                    detail: "the round has closed without this client".into(),
                };
                let request_id = self.clients[index].exchange.take().map(|exchange| exchange.request_id);
                request_id.into_iter().for_each(|id| self.answer_here(index, id, 1, answer.clone()));
                return Ok(());
            }
        };
        match taken {
            Err(error) => self.end(index, Err(error)),
            Ok((journal, message)) => {
                self.clients[index].store(id, &journal);
                if self.chance.happens(self.faults.client_kills * 4) {
                    self.coverage.count("client crashes between a journal and its message");
                    self.kill_client(index);
                    return Ok(());
                }
                let Some((message, next, survivors)) = message else {
                    return self.end(index, Ok(Exchanged::Completed));
                };
                self.ledger.secured.answer(id, &survivors.members, &message)?;
                if next.is_some() {
                    self.coverage.count("agreements signed");
                }
                self.send_secure(index, message, next);
                Ok(())
            }
        }
    }

    /// With this sabotage, a client answers for fewer survivors first, and forgets it.
    fn answer_before(&mut self, index: usize, assignment: &Assignment, survivors: &Survivors) -> Holds {
        let (id, client) = (assignment.assignment_id, &self.clients[index]);
        let Ok(mut journal) = client.journal(id) else { return Ok(()) };
        if self.sabotage != Some(Sabotage::AJournalForgets) || !survivors.agreements.is_empty() {
            return Ok(());
        }
        let fewer = Survivors { members: survivors.members[1..].to_vec(), agreements: Vec::new() };
        let (setting, key) = (self.setting(assignment), client.device_key());
        match journal.take_survivors(&setting, &key, &fewer) {
            Ok(draft) => {
                let message = draft.sign_with(|text| identity(index, text));
                self.ledger.secured.answer(id, &fewer.members, &message)
            }
            Err(_) => Ok(()),
        }
    }

    fn end(&mut self, index: usize, result: Result<Exchanged, JournalError>) -> Holds {
        self.end_exchange(index, result);
        Ok(())
    }

    fn end_exchange(&mut self, index: usize, result: Result<Exchanged, JournalError>) {
        let Some(exchange) = self.clients[index].exchange.take() else { return };
        let answer = match result {
            Ok(exchanged) => Answer::Exchanged(Ok(exchanged)),
            Err(error) => {
                self.note(format_args!("client {index} refuses: {error}"));
                Answer::WorkFailed { reason: AbortReason::TrainingFailed, detail: error.to_string() }
            }
        };
        self.answer_here(index, exchange.request_id, 1, answer);
    }

    fn ask_progress(&mut self, index: usize, after: SecureAnswered) {
        let Some(exchange) = &mut self.clients[index].exchange else { return };
        exchange.next = Some(after);
        let assignment_id = exchange.assignment.assignment_id;
        self.request_secure(index, Request::Progress { assignment_id, after, wait_seconds: WAIT_SECONDS });
    }

    /// Sends a message. A cheating client falsifies it.
    fn send_secure(&mut self, index: usize, mut message: SecureMessage, next: Option<SecureAnswered>) {
        if let Nature::Cheating(cheat) = self.clients[index].nature {
            self.falsify(cheat, &mut message);
        }
        let Some(exchange) = &mut self.clients[index].exchange else { return };
        exchange.next = next;
        let assignment_id = exchange.assignment.assignment_id;
        self.request_secure(index, Request::Secure { assignment_id, message: Arc::new(message) });
    }

    fn request_secure(&mut self, index: usize, request: Request) {
        let client = &mut self.clients[index];
        client.last_number += 1;
        let number = client.last_number;
        if let Some(exchange) = &mut client.exchange {
            exchange.number = number;
        }
        self.send(index, RequestId(number), request);
    }

    fn falsify(&mut self, cheat: Cheat, message: &mut SecureMessage) {
        match (cheat, message) {
            (Cheat::WeakKey, SecureMessage::Keys { advertisement }) => {
                advertisement.mask_key = StepKey([0; 32]);
            }
            (Cheat::OtherKeys, SecureMessage::Keys { advertisement }) if self.chance.happens(500) => {
                advertisement.self_mask.0[0] ^= 1;
            }
            (Cheat::MissingShare, SecureMessage::Shares { shares }) => drop(shares.pop()),
            (Cheat::UnreadableShares, SecureMessage::Shares { shares }) => {
                shares.iter_mut().for_each(|share| share.sealed.0[7] ^= 1);
            }
            (Cheat::WrongCommitments, SecureMessage::Shares { shares }) => {
                shares.iter_mut().for_each(|share| share.self_mask.0[7] ^= 1);
            }
            (Cheat::WrongOpening, SecureMessage::Opening { opening }) => {
                opening.self_masks.iter_mut().for_each(|(_, share)| share.0[7] ^= 1);
            }
            _ => {}
        }
    }

    /// Lets a vanishing client vanish before the step at this place, sometimes. Returns whether it has.
    pub(super) fn vanishes(&mut self, index: usize, place: usize) -> bool {
        let (kind, rate) = VANISHING[place];
        let vanishes = self.clients[index].nature == Nature::Vanishing && self.chance.happens(rate);
        if vanishes {
            self.coverage.count(kind);
            self.lose_client(index);
        }
        vanishes
    }
}

fn progress_name(progress: &SecureProgress) -> &'static str {
    match progress {
        SecureProgress::Wait => "wait",
        SecureProgress::Done => "done",
        SecureProgress::Roster { .. } => "a roster",
        SecureProgress::Shares { .. } => "shares",
        SecureProgress::Survivors { .. } => "survivors",
    }
}
