use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use folkmoot_protocol::{AssignmentId, RoundId, messages::Assignment};
use folkmoot_tests::{task::TestTask, update::TestUpdate};
use tokio::sync::broadcast;

/// What a client does, for whoever waits for the moment to kill.
#[derive(Clone, Copy, Debug)]
pub enum Progress {
    /// So much of an update was written to the socket, of so much.
    Sent {
        /// Bytes.
        sent: usize,
        /// Of the whole update.
        total: usize,
    },
    /// An update was acknowledged, as the given one of its round.
    Acknowledged {
        /// From 1.
        count: u64,
    },
}

/// What all clients together remember: every update's bytes, and which were acknowledged.
pub struct Ledger {
    /// The task.
    pub task: TestTask,
    progress: broadcast::Sender<Progress>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    sent: BTreeMap<AssignmentId, Bytes>,
    acknowledged: BTreeMap<AssignmentId, RoundId>,
    in_flight: BTreeMap<AssignmentId, usize>,
}

impl Ledger {
    pub fn new(task: TestTask) -> Self {
        Self { task, progress: broadcast::Sender::new(4096), state: Mutex::default() }
    }

    /// Returns the bytes of an assignment's update, the same ones always.
    pub fn update(&self, assignment: &Assignment) -> Bytes {
        let make = || Bytes::from(TestUpdate::of(&self.task, assignment).bytes());
        self.lock().sent.entry(assignment.assignment_id).or_insert_with(make).clone()
    }

    pub fn acknowledge(&self, assignment: &Assignment) {
        let mut state = self.lock();
        state.acknowledged.insert(assignment.assignment_id, assignment.round_id);
        let of_round = state.acknowledged.values().filter(|&&round| round == assignment.round_id);
        let count = of_round.count() as u64;
        drop(state);
        // Nobody may be listening.
        let _ = self.progress.send(Progress::Acknowledged { count });
    }

    /// Remembers how far an upload is, until [`Ledger::landed`].
    pub fn sending(&self, assignment: AssignmentId, sent: usize, total: usize) {
        self.lock().in_flight.insert(assignment, sent);
        let _ = self.progress.send(Progress::Sent { sent, total });
    }

    /// Forgets an upload that is no longer under way.
    pub fn landed(&self, assignment: AssignmentId) {
        self.lock().in_flight.remove(&assignment);
    }

    pub fn in_flight(&self) -> usize {
        self.lock().in_flight.len()
    }

    pub fn listen(&self) -> broadcast::Receiver<Progress> {
        self.progress.subscribe()
    }

    pub fn sent(&self) -> BTreeMap<AssignmentId, Bytes> {
        self.lock().sent.clone()
    }

    pub fn acknowledged(&self) -> BTreeMap<AssignmentId, RoundId> {
        self.lock().acknowledged.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
