//! The signals of a coordinator as text.

use std::collections::BTreeSet;

use folkmoot_crowd::Demand;
use folkmoot_protocol::{ClientId, RoundId};
use folkmoot_rounds::signals::Signal;
use serde::{Deserialize, Serialize};

/// The maximum number of ids in a message, so that it stays below the database's limit of 8,000 bytes.
const IDS_MAX: usize = 150;
/// The length of the longest demand, in ids.
const DEMAND_IDS: usize = 10;

/// The signals of one coordinator, gathered into one message.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Message {
    /// The run of the coordinator that sent the message.
    pub(crate) from: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) fact: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) opened: bool,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) assigned: BTreeSet<ClientId>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) asked: BTreeSet<ClientId>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) ended: BTreeSet<RoundId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) demands: Vec<Demand>,
    /// The sender has given up its tasks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) left: bool,
}

/// Gathers signals into as few messages as possible.
pub(crate) fn messages(from: &str, signals: Vec<Signal>) -> Vec<Message> {
    let new = || Message { from: from.to_owned(), ..Message::default() };
    let mut messages = vec![new()];
    let mut ids = 0;
    let mut add_large = |size: usize, put: &mut dyn FnMut(&mut Message)| {
        ids += size;
        if ids > IDS_MAX {
            messages.push(new());
            ids = size;
        }
        put(messages.last_mut().expect("there is one"));
    };
    for signal in signals {
        let mut add = |put: &mut dyn FnMut(&mut Message)| add_large(1, put);
        match signal {
            Signal::Demand(demand) => {
                add_large(DEMAND_IDS, &mut |message| message.demands.push(demand.clone()));
            }
            Signal::Fact => add(&mut |message| message.fact = true),
            Signal::Opened => add(&mut |message| message.opened = true),
            Signal::Ended(round) => add(&mut |message| message.ended.extend([round])),
            Signal::Assigned(clients) => {
                clients.into_iter().for_each(|id| add(&mut |message| message.assigned.extend([id])));
            }
            Signal::Asked(clients) => {
                clients.into_iter().for_each(|id| add(&mut |message| message.asked.extend([id])));
            }
        }
    }
    messages
}

impl Message {
    pub(crate) fn text(&self) -> String {
        serde_json::to_string(self).expect("a message is plain data")
    }

    pub(crate) fn signals(self) -> Vec<Signal> {
        let Self { from: _, fact, opened, assigned, asked, ended, demands, left: _ } = self;
        let mut signals: Vec<Signal> = ended.into_iter().map(Signal::Ended).collect();
        signals.extend(demands.into_iter().map(Signal::Demand));
        if !assigned.is_empty() {
            signals.push(Signal::Assigned(assigned.into_iter().collect()));
        }
        if !asked.is_empty() {
            signals.push(Signal::Asked(asked.into_iter().collect()));
        }
        signals.extend(opened.then_some(Signal::Opened));
        signals.extend(fact.then_some(Signal::Fact));
        signals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Processes of two versions share a database while one version replaces the other.
    #[test]
    fn a_message_of_an_earlier_version_is_understood() {
        let earlier: Message = serde_json::from_str(r#"{"from":"run","fact":true}"#).unwrap();
        assert_eq!(earlier, Message { from: "run".into(), fact: true, ..Message::default() });
        assert_eq!(
            earlier.text(),
            r#"{"from":"run","fact":true}"#,
            "and understands the same message of this one"
        );
        let left = Message { from: "run".into(), left: true, ..Message::default() };
        assert_eq!(serde_json::from_str::<Message>(&left.text()).unwrap(), left);
    }

    #[test]
    fn messages_are_few_and_short() {
        let client = |number: u16| {
            let [high, low] = number.to_be_bytes();
            let mut bytes = [7; 16];
            (bytes[0], bytes[1]) = (high, low);
            ClientId::from_random_bytes(bytes)
        };
        let clients: Vec<ClientId> = (0..1_000).map(client).collect();
        let mut signals = vec![Signal::Fact; 100];
        signals.push(Signal::Assigned(clients.clone()));
        signals.push(Signal::Ended(RoundId::from_random_bytes([3; 16])));
        let messages = messages("run", signals);
        assert_eq!(messages.len(), 8);
        let mut assigned = BTreeSet::new();
        let mut facts = 0;
        for message in messages {
            let text = serde_json::to_string(&message).unwrap();
            assert!(text.len() < 8_000, "{}", text.len());
            let read: Message = serde_json::from_str(&text).unwrap();
            assert_eq!(read, message);
            for signal in read.signals() {
                match signal {
                    Signal::Assigned(clients) => assigned.extend(clients),
                    Signal::Fact => facts += 1,
                    Signal::Ended(round) => assert_eq!(round, RoundId::from_random_bytes([3; 16])),
                    other => panic!("nobody sent {other:?}"),
                }
            }
        }
        assert_eq!(assigned, clients.into_iter().collect());
        assert_eq!(facts, 1);
    }
}
