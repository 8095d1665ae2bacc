//! Long polls that wait until an event concerns their client.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use folkmoot_protocol::ClientId;
use tokio::sync::Notify;

/// The waiting polls by client. A client has one poll at a time: a newer poll replaces an older one.
#[derive(Default)]
pub struct Waiters(Mutex<HashMap<ClientId, Arc<Notify>>>);

impl Waiters {
    /// Registers a poll of `client`, and returns the handle that wakes it.
    pub fn add(&self, client: ClientId) -> Arc<Notify> {
        let waiter = Arc::new(Notify::new());
        self.lock().insert(client, waiter.clone());
        waiter
    }

    /// Removes a poll. Returns whether it was still registered, that is, neither woken nor replaced.
    pub fn forget(&self, client: ClientId, waiter: &Arc<Notify>) -> bool {
        let mut waiters = self.lock();
        let is_current = waiters.get(&client).is_some_and(|current| Arc::ptr_eq(current, waiter));
        if is_current {
            waiters.remove(&client);
        }
        is_current
    }

    /// Wakes and removes the polls of these clients.
    pub fn wake(&self, clients: impl IntoIterator<Item = ClientId>) {
        let mut waiters = self.lock();
        for client in clients {
            if let Some(waiter) = waiters.remove(&client) {
                waiter.notify_one();
            }
        }
    }

    /// Returns the number of waiting polls.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Returns whether no poll waits.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ClientId, Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
