//! Heartbeats, and the signals between coordinators.

use std::{sync::Arc, time::Duration};

use folkmoot_rounds::{coordinator::Coordinator, signals::Signal};
use folkmoot_storage::StorageError;
use tokio::sync::{
    Notify,
    mpsc::{UnboundedReceiver, unbounded_channel},
    oneshot,
};

use crate::{
    message::{Message, messages},
    table::{ProcessRecord, ProcessTable},
};

/// The interval between two heartbeats.
const BEAT: Duration = Duration::from_secs(1);
/// The time for which signals are gathered into one message.
const GATHER: Duration = Duration::from_millis(5);
/// The delay before the next attempt to listen, after the database did not respond.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);

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
pub async fn run(
    coordinator: Arc<Coordinator>,
    table: ProcessTable,
    own: ProcessRecord,
    given_up: oneshot::Receiver<()>,
    closing: impl Future<Output = ()> + Send,
) {
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
}

/// Removes this coordinator from the table, and wakes the others.
async fn leave(table: &ProcessTable, own: &ProcessRecord) -> Result<(), StorageError> {
    table.leave(&own.id).await?;
    let message = Message { from: own.start_id.clone(), left: true, ..Message::default() };
    table.send(&message.text()).await
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

async fn send(table: &ProcessTable, own: &ProcessRecord, mut signals: UnboundedReceiver<Signal>) {
    while let Some(first) = signals.recv().await {
        tokio::time::sleep(GATHER).await;
        let mut gathered = vec![first];
        while let Ok(more) = signals.try_recv() {
            gathered.push(more);
        }
        for message in messages(&own.start_id, gathered) {
            if let Err(error) = table.send(&message.text()).await {
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
