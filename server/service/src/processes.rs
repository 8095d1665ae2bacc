//! The coordinators that share a database: heartbeats, and the signals between them.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use folkmoot_crowd::Demand;
use folkmoot_edge::ServeError;
use folkmoot_protocol::{ClientId, RoundId};
use folkmoot_rounds::{coordinator::Coordinator, signals::Signal};
use folkmoot_storage::{ProcessRecord, ProcessTable, StorageError};
use serde::{Deserialize, Serialize};
use tokio::sync::{
    Notify,
    mpsc::{UnboundedReceiver, unbounded_channel},
    oneshot,
};

/// The interval between two heartbeats.
const BEAT: Duration = Duration::from_secs(1);
/// The time for which signals are gathered into one message.
const GATHER: Duration = Duration::from_millis(5);
/// The delay before the next attempt to listen, after the database did not respond.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);
/// The maximum number of ids in a message, so that it stays below the database's limit of 8,000 bytes.
const IDS_MAX: usize = 150;
/// The length of the longest demand, in ids.
const DEMAND_IDS: usize = 10;

/// The signals of one coordinator, gathered into one message.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    /// The run of the coordinator that sent the message.
    from: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    fact: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    opened: bool,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    assigned: BTreeSet<ClientId>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    asked: BTreeSet<ClientId>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    ended: BTreeSet<RoundId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    demands: Vec<Demand>,
    /// The sender has given up its tasks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    left: bool,
}

/// Registers this coordinator among those that share its database. Does nothing, and returns the other one, if a living
/// coordinator has another place of blobs: the two could not read each other's models.
///
/// # Errors
/// Fails if the database fails.
pub async fn join(table: &ProcessTable, own: &ProcessRecord) -> Result<Option<ProcessRecord>, StorageError> {
    let others = table.living().await?;
    let stranger = others.into_iter().find(|other| other.id != own.id && other.place != own.place);
    if stranger.is_none() {
        table.beat(own).await?;
    }
    Ok(stranger)
}

/// Sends heartbeats until the drivers have `given_up` their tasks, then lets the others take over at once. Sends and
/// receives signals until the coordinator is `closing`.
///
/// # Errors
/// Never; it has the same type as the coordinator's other background tasks.
pub async fn run(
    coordinator: Arc<Coordinator>,
    table: ProcessTable,
    own: ProcessRecord,
    given_up: oneshot::Receiver<()>,
    closing: impl Future<Output = ()> + Send,
) -> Result<(), ServeError> {
    let (outbox, signals) = unbounded_channel();
    coordinator.processes.connect(outbox);
    let changed = Notify::new();
    let membership = async {
        tokio::select! {
            () = beat(&coordinator, &table, &own, &changed) => {}
            _ = given_up => {}
        }
        if let Err(error) = leave(&table, &own).await {
            tracing::warn!(%error, "the other coordinators could not be notified that this one stops; they will notice");
        }
        closing.await;
    };
    tokio::select! {
        () = send(&table, &own, signals) => {}
        () = listen(&coordinator, &table, &own, &changed) => {}
        () = membership => {}
    }
    Ok(())
}

/// Removes this coordinator from the table, and wakes the others.
async fn leave(table: &ProcessTable, own: &ProcessRecord) -> Result<(), StorageError> {
    table.leave(&own.id).await?;
    let message = Message { from: own.start_id.clone(), left: true, ..Message::default() };
    table.send(&text_of(&message)).await
}

/// Sends a heartbeat every second, and at once when another coordinator has left.
async fn beat(coordinator: &Arc<Coordinator>, table: &ProcessTable, own: &ProcessRecord, changed: &Notify) {
    let mut has_changed = false;
    loop {
        match table.beat(own).await {
            Ok(living) => {
                coordinator.processes.set_living(living.into_iter().map(|other| other.id).collect());
                if std::mem::take(&mut has_changed) {
                    // The drivers look for tasks that are now theirs.
                    coordinator.receive(&Signal::Fact);
                }
            }
            Err(error) => {
                // This process does not know which others live, so the leases decide who drives a task.
                coordinator.processes.set_living(Vec::new());
                tracing::warn!(%error, "no heartbeat could be sent; the other coordinators take over the tasks of this one");
            }
        }
        tokio::select! {
            () = tokio::time::sleep(BEAT) => {}
            () = changed.notified() => has_changed = true,
        }
    }
}

fn text_of(message: &Message) -> String {
    serde_json::to_string(message).expect("a message is plain data")
}

async fn send(table: &ProcessTable, own: &ProcessRecord, mut signals: UnboundedReceiver<Signal>) {
    while let Some(first) = signals.recv().await {
        tokio::time::sleep(GATHER).await;
        let mut gathered = vec![first];
        while let Ok(more) = signals.try_recv() {
            gathered.push(more);
        }
        for message in messages(&own.start_id, gathered) {
            if let Err(error) = table.send(&text_of(&message)).await {
                tracing::warn!(%error, "the other coordinators were not woken; they will look at the database by themselves");
            }
        }
    }
}

async fn listen(coordinator: &Arc<Coordinator>, table: &ProcessTable, own: &ProcessRecord, changed: &Notify) {
    loop {
        if let Err(error) = receive(coordinator, table, own, changed).await {
            tracing::warn!(%error, "the signals of the other coordinators cannot be received; trying again");
        }
        tokio::time::sleep(LISTEN_AGAIN).await;
    }
}

async fn receive(
    coordinator: &Arc<Coordinator>,
    table: &ProcessTable,
    own: &ProcessRecord,
    changed: &Notify,
) -> Result<(), StorageError> {
    let mut listener = table.listen().await?;
    // Signals may have been missed while nobody listened.
    coordinator.receive(&Signal::Fact);
    loop {
        match listener.next().await? {
            None => coordinator.receive(&Signal::Fact),
            Some(text) => match serde_json::from_str::<Message>(&text) {
                Ok(message) if message.from == own.start_id => {}
                Ok(message) => {
                    if message.left {
                        changed.notify_one();
                    }
                    let (shared, signals) = (coordinator.clone(), message.signals());
                    // The end of a round removes files.
                    drop(tokio::task::spawn_blocking(move || {
                        signals.iter().for_each(|signal| shared.receive(signal));
                    }));
                }
                // A coordinator of another version may know other signals.
                Err(error) => {
                    tracing::debug!(%error, "a message of another coordinator was not understood");
                    coordinator.receive(&Signal::Fact);
                }
            },
        }
    }
}

/// Gathers signals into as few messages as possible.
fn messages(from: &str, signals: Vec<Signal>) -> Vec<Message> {
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
    fn signals(self) -> Vec<Signal> {
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
            text_of(&earlier),
            r#"{"from":"run","fact":true}"#,
            "and understands the same message of this one"
        );
        let left = Message { from: "run".into(), left: true, ..Message::default() };
        assert_eq!(serde_json::from_str::<Message>(&text_of(&left)).unwrap(), left);
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
