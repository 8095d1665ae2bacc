use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use folkmoot_protocol::{AssignmentId, RoundId, messages::Assignment};
use folkmoot_tests::{task::TestTask, update::TestUpdate, verify::EndedRound};
use tokio::sync::watch;

/// The records that all clients share: the bytes of every update, the uploads in progress, and the acknowledged
/// updates.
pub struct Ledger {
    pub task: TestTask,
    state: Mutex<State>,
    /// The number of changes of `state`.
    changes: watch::Sender<u64>,
    /// The first round whose uploads are held half-way; `None` if no uploads are held.
    held_from: watch::Sender<Option<u64>>,
}

#[derive(Default)]
struct State {
    sent: BTreeMap<AssignmentId, Bytes>,
    /// Acknowledged updates, each with the id and number of its round.
    acknowledged: BTreeMap<AssignmentId, (RoundId, u64)>,
    /// Uploads in progress, each with the number of its round.
    in_flight: BTreeMap<AssignmentId, u64>,
}

impl Ledger {
    pub fn new(task: TestTask) -> Self {
        let (changes, held_from) = (watch::Sender::new(0), watch::Sender::new(None));
        Self { task, state: Mutex::default(), changes, held_from }
    }

    /// Returns the bytes of an assignment's update. Every call returns the same bytes.
    pub fn update(&self, assignment: &Assignment) -> Bytes {
        let make = || Bytes::from(TestUpdate::of(&self.task, assignment).bytes());
        self.lock().sent.entry(assignment.assignment_id).or_insert_with(make).clone()
    }

    pub fn acknowledge(&self, assignment: &Assignment) {
        let of = (assignment.round_id, assignment.round_number);
        self.lock().acknowledged.insert(assignment.assignment_id, of);
        self.changed();
    }

    /// Records that an upload is in progress, until [`Ledger::landed`] is called. Waits while the uploads of its round
    /// are held.
    pub async fn sending(&self, assignment: &Assignment) {
        self.lock().in_flight.insert(assignment.assignment_id, assignment.round_number);
        self.changed();
        let is_free = |held: &Option<u64>| held.is_none_or(|round| assignment.round_number < round);
        let mut held_from = self.held_from.subscribe();
        held_from.wait_for(is_free).await.expect("this ledger holds the sender");
    }

    /// Records that an upload is no longer in progress.
    pub fn landed(&self, assignment: AssignmentId) {
        self.lock().in_flight.remove(&assignment);
    }

    /// Holds the uploads of this round and of later rounds half-way. With `None`, releases all uploads.
    pub fn hold_from(&self, round: Option<u64>) {
        self.held_from.send_replace(round);
    }

    /// Returns `true` if the upload of this assignment must stop half-way.
    pub fn holds(&self, assignment: &Assignment) -> bool {
        self.held_from.borrow().is_some_and(|round| assignment.round_number >= round)
    }

    /// Waits until an upload of this round is in progress.
    pub async fn upload_in(&self, round: u64) {
        self.wait_until(|state| state.in_flight.values().any(|&number| number == round)).await;
    }

    /// Waits until `count` updates of this round have been acknowledged.
    pub async fn acknowledged_in(&self, round: u64, count: u64) {
        let of_round =
            |state: &State| state.acknowledged.values().filter(|(_, number)| *number == round).count();
        self.wait_until(|state| of_round(state) as u64 >= count).await;
    }

    /// Waits until the ledger has changed `times` times.
    pub async fn progress(&self, times: u64) {
        let mut changes = self.changes.subscribe();
        let begun = *changes.borrow();
        changes.wait_for(|count| *count >= begun + times).await.expect("this ledger holds the sender");
    }

    pub fn sent(&self) -> BTreeMap<AssignmentId, Bytes> {
        self.lock().sent.clone()
    }

    pub fn acknowledged(&self) -> BTreeMap<AssignmentId, RoundId> {
        self.lock().acknowledged.iter().map(|(assignment, (round, _))| (*assignment, *round)).collect()
    }

    /// Asserts that every acknowledged update counts in its round, unless the round was abandoned.
    pub fn assert_none_is_lost(&self, rounds: &[EndedRound]) {
        let by_id: BTreeMap<_, _> = rounds.iter().map(|round| (round.id, round)).collect();
        for (assignment, round) in self.acknowledged() {
            let ended = by_id.get(&round).expect("a round that acknowledged has ended");
            let counts = ended.abandoned.is_some() || ended.accepted.contains(&assignment);
            assert!(counts, "round {} acknowledged {assignment} and lost it", ended.number);
        }
    }

    async fn wait_until(&self, holds: impl Fn(&State) -> bool) {
        let mut changes = self.changes.subscribe();
        while !holds(&self.lock()) {
            changes.changed().await.expect("this ledger holds the sender");
        }
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
