use std::collections::BTreeMap;

use ed25519_dalek::SigningKey;
use folkmoot_protocol::{
    AssignmentId, Protection,
    secure::{Identity, Member, Roster, SecureMessage, SecureProgress, Threat},
    signing::{encode_public_key, sign_text},
};
use folkmoot_secure_aggregation::Transcript;

use super::*;
use crate::samples::{self, secure_terms};

const KEY: DeviceKey = DeviceKey([5; 32]);

/// The setting of client `number`, from 1.
fn setting(number: u8, threat: Threat) -> Setting {
    let plan = Plan { protection: Protection::SecureAggregation(secure_terms(threat)), ..samples::plan() };
    let assignment_id = AssignmentId::from_random_bytes([number; 16]);
    let assignment = Assignment { assignment_id, is_masked: true, ..samples::assignment() };
    secure_setting(&assignment, &plan, &Budget::default()).unwrap()
}

fn identity(number: u8, text: &str) -> Identity {
    let key = SigningKey::from_bytes(&[number; 32]);
    Identity { public_key: encode_public_key(&key), signature: sign_text(&key, text) }
}

/// The clients of a round, each with the journal that its host has stored.
struct Clients {
    threat: Threat,
    stored: BTreeMap<u8, Journal>,
}

impl Clients {
    fn begin(&self, number: u8, step: ExchangeStep) -> (Exchange, ExchangeOrder) {
        let stored = self.stored.get(&number).cloned();
        Exchange::begin(step, setting(number, self.threat), KEY, stored, [number; 32]).unwrap()
    }

    /// Follows orders until the client asks or the step ends, as a host does. Returns the messages.
    fn follow(
        &mut self,
        number: u8,
        exchange: &mut Exchange,
        mut order: ExchangeOrder,
    ) -> (Vec<SecureMessage>, ExchangeNext) {
        let mut sent = Vec::new();
        loop {
            if order.stores {
                self.stored.insert(number, exchange.journal().clone());
            }
            sent.extend(order.sends);
            order = match order.next {
                ExchangeNext::Sign(text) => exchange.signed(identity(number, &text)).unwrap(),
                next => return (sent, next),
            };
        }
    }

    /// Takes a step whose answer is `answer`, and returns the messages.
    fn step(
        &mut self,
        number: u8,
        step: ExchangeStep,
        answer: &mut dyn FnMut(SecureAnswered) -> SecureProgress,
    ) -> Vec<SecureMessage> {
        let (mut exchange, mut order) = self.begin(number, step);
        let mut messages = Vec::new();
        loop {
            let (sent, next) = self.follow(number, &mut exchange, order);
            messages.extend(sent);
            order = match next {
                ExchangeNext::Ask(after) => exchange.answered(answer(after)).unwrap(),
                ExchangeNext::End(exchanged) => {
                    assert_eq!(exchanged, Exchanged::Completed);
                    return messages;
                }
                ExchangeNext::Sign(_) => unreachable!("`follow` signs"),
            };
        }
    }

    /// Sends keys, and returns the roster.
    fn roster(&mut self) -> Roster {
        let members = [1, 2, 3].map(|number| {
            let (mut exchange, order) = self.begin(number, ExchangeStep::Keys);
            let (sent, next) = self.follow(number, &mut exchange, order);
            assert_eq!(next, ExchangeNext::Ask(SecureAnswered::Keys));
            let [SecureMessage::Keys { advertisement }] = &sent[..] else { panic!("{sent:?}") };
            Member {
                assignment_id: setting(number, self.threat).assignment_id,
                advertisement: advertisement.clone(),
            }
        });
        Roster { members: members.to_vec() }
    }
}

fn only(progress: SecureProgress) -> impl FnMut(SecureAnswered) -> SecureProgress {
    move |_| progress.clone()
}

/// Takes all clients through a round, up to the survivors.
fn until_upload(threat: Threat) -> Clients {
    let mut clients = Clients { threat, stored: BTreeMap::new() };
    let roster = clients.roster();
    let mut transcript =
        Transcript::new(setting(1, threat).context, &secure_terms(threat), roster.clone()).unwrap();
    for number in [1, 2, 3] {
        let again = clients.step(
            number,
            ExchangeStep::Keys,
            &mut only(SecureProgress::Roster { roster: roster.clone() }),
        );
        let [SecureMessage::Keys { advertisement }] = &again[..] else { panic!("{again:?}") };
        let before = &roster.members[usize::from(number) - 1].advertisement;
        assert_eq!(advertisement, before, "a client that restarts sends the same keys");
    }
    for number in [1, 2, 3] {
        let (mut exchange, order) = clients.begin(number, ExchangeStep::Shares);
        let (sent, next) = clients.follow(number, &mut exchange, order);
        assert_eq!(next, ExchangeNext::Ask(SecureAnswered::Shares));
        let [SecureMessage::Shares { shares }] = &sent[..] else { panic!("{sent:?}") };
        transcript.add_shares(u32::from(number) - 1, shares.clone()).unwrap();
    }
    for number in [1, 2, 3] {
        let shares = transcript.inbox(u32::from(number) - 1);
        clients.step(number, ExchangeStep::Shares, &mut only(SecureProgress::Shares { shares }));
        assert!(clients.stored[&number].masking(&setting(number, threat), &KEY.0).is_ok());
    }
    clients
}

fn survivors(agreements: Vec<(u32, String)>) -> SecureProgress {
    SecureProgress::Survivors { survivors: Survivors { members: vec![0, 1, 2], agreements } }
}

#[test]
fn a_curious_coordinator_gets_openings_at_once() {
    let mut clients = until_upload(Threat::HonestButCurious);
    let sent = clients.step(1, ExchangeStep::Opening, &mut only(survivors(Vec::new())));
    let [SecureMessage::Opening { opening }] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!((opening.self_masks.len(), opening.mask_keys.len()), (2, 0));
    // Other survivors after a restart: the answer was stored before it was sent.
    let (mut exchange, _) = clients.begin(1, ExchangeStep::Opening);
    let fewer = Survivors { members: vec![0, 1], agreements: Vec::new() };
    let error = exchange.answered(SecureProgress::Survivors { survivors: fewer }).unwrap_err();
    assert!(error.detail.contains("answered_before"), "{}", error.detail);
}

#[test]
fn a_coordinator_that_may_be_malicious_gets_signatures_first() {
    let mut clients = until_upload(Threat::Malicious);
    let mut agreements = Vec::new();
    for number in [1, 2, 3] {
        let (mut exchange, order) = clients.begin(number, ExchangeStep::Opening);
        assert_eq!(order.next, ExchangeNext::Ask(SecureAnswered::Update));
        let order = exchange.answered(survivors(Vec::new())).unwrap();
        assert!(order.stores && order.sends.is_none(), "the journal is stored before the client signs");
        let (sent, next) = clients.follow(number, &mut exchange, order);
        let [SecureMessage::Agreement { signature }] = &sent[..] else { panic!("{sent:?}") };
        agreements.push((u32::from(number) - 1, signature.clone()));
        assert_eq!(next, ExchangeNext::Ask(SecureAnswered::Agreement));
        let order = exchange.answered(survivors(Vec::new())).unwrap();
        assert_eq!(order, ExchangeOrder::end(false, Exchanged::Waiting), "nobody else has signed yet");
    }
    let mut answer = |after| match after {
        SecureAnswered::Update => survivors(Vec::new()),
        _ => survivors(agreements.clone()),
    };
    let sent = clients.step(2, ExchangeStep::Opening, &mut answer);
    assert!(matches!(sent[..], [SecureMessage::Agreement { .. }, SecureMessage::Opening { .. }]), "{sent:?}");
}

#[test]
fn a_journal_is_stored_before_its_keys_are_sent() {
    for (threat, is_sent) in [(Threat::HonestButCurious, true), (Threat::Malicious, false)] {
        let clients = Clients { threat, stored: BTreeMap::new() };
        let (_, order) = clients.begin(1, ExchangeStep::Keys);
        assert!(order.stores && order.sends.is_some() == is_sent, "{order:?}");
    }
}

#[test]
fn an_answer_that_does_not_complete_the_step_waits_or_ends_the_work() {
    let clients = Clients { threat: Threat::HonestButCurious, stored: BTreeMap::new() };
    let (mut exchange, _) = clients.begin(1, ExchangeStep::Keys);
    let order = exchange.answered(SecureProgress::Wait).unwrap();
    assert_eq!(order, ExchangeOrder::end(false, Exchanged::Waiting));
    for progress in [SecureProgress::Done, survivors(Vec::new())] {
        let (mut exchange, _) = clients.begin(1, ExchangeStep::Keys);
        assert_eq!(exchange.answered(progress).unwrap_err().reason, AbortReason::DeadlinePassed);
    }
    let mut clients = until_upload(Threat::HonestButCurious);
    assert!(clients.step(3, ExchangeStep::Opening, &mut only(SecureProgress::Done)).is_empty());
}

#[test]
fn a_step_without_its_journal_fails() {
    for step in [ExchangeStep::Shares, ExchangeStep::Opening] {
        let begun = Exchange::begin(step, setting(1, Threat::Malicious), KEY, None, [1; 32]);
        assert_eq!(begun.err().unwrap().reason, AbortReason::StateLost);
    }
}

#[test]
fn a_step_continues_only_as_its_order_says() {
    let clients = Clients { threat: Threat::Malicious, stored: BTreeMap::new() };
    let (mut exchange, order) = clients.begin(1, ExchangeStep::Keys);
    assert!(matches!(order.next, ExchangeNext::Sign(_)));
    assert!(exchange.answered(SecureProgress::Wait).unwrap_err().detail.contains("out of order"));
    assert!(exchange.signed(identity(1, "")).unwrap_err().detail.contains("out of order"));
}

#[test]
fn an_app_can_demand_a_larger_cohort() {
    let mut clients = Clients { threat: Threat::HonestButCurious, stored: BTreeMap::new() };
    let roster = clients.roster();
    let plan =
        Plan { protection: Protection::SecureAggregation(secure_terms(clients.threat)), ..samples::plan() };
    let assignment_id = setting(1, clients.threat).assignment_id;
    let assignment = Assignment { assignment_id, is_masked: true, ..samples::assignment() };
    let budget = Budget { cohort_min: 4, ..Budget::default() };
    let setting = secure_setting(&assignment, &plan, &budget).unwrap();
    let stored = clients.stored.get(&1).cloned();
    let (mut exchange, _) = Exchange::begin(ExchangeStep::Keys, setting, KEY, stored, [1; 32]).unwrap();
    let error = exchange.answered(SecureProgress::Roster { roster }).unwrap_err();
    assert!(error.detail.contains("cohort_too_small"), "{}", error.detail);
}

#[test]
fn a_plan_without_terms_has_no_setting() {
    let error = secure_setting(&samples::assignment(), &samples::plan(), &Budget::default()).err().unwrap();
    assert_eq!(error.reason, AbortReason::PlanUnsupported);
}
