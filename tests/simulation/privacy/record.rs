//! Records the actual events where they happen: at the clients that send, at the draw, and in the released weights.
//! Uses neither the ledger nor a plan.

use std::collections::{BTreeMap, BTreeSet};

use folkmoot_protocol::{AssignmentId, RoundId, TaskId};

use super::measure::Energy;

/// A client's update that has arrived, completely or in part.
#[derive(Clone, Debug)]
pub struct Sent {
    pub task: TaskId,
    pub round: RoundId,
    /// The number of the protected unit, which is a client or a user.
    pub unit: usize,
    /// The L2 norm of the received values, before any noise that the client added.
    pub norm: f64,
    /// The received values.
    pub values: Vec<f32>,
    /// True if the coordinator acknowledged the update as accepted.
    pub is_accepted: bool,
}

/// The draw of a sampled round.
#[derive(Clone, Debug)]
pub struct Draw {
    /// The units that waited. Each of them must have had a coin.
    pub waiting: BTreeSet<usize>,
    /// The units that got an assignment.
    pub drawn: BTreeSet<usize>,
}

/// The complete record of a world.
#[derive(Clone, Debug, Default)]
pub struct Record {
    pub sent: BTreeMap<AssignmentId, Sent>,
    pub draws: BTreeMap<RoundId, Draw>,
    /// Rounds that an operator ended early.
    pub stopped: BTreeSet<RoundId>,
    /// Rounds that rejected a client's update although it was in time.
    pub cut_off: BTreeSet<RoundId>,
    /// For each local task, the noise that its clients added, relative to the clipping norm.
    pub local_noise: BTreeMap<TaskId, Energy>,
    /// The distance by which each unit shifts the sum of every round for which it is drawn, in clipping norms.
    pub lengths: BTreeMap<usize, f64>,
}

impl Record {
    /// Returns the accepted updates of a round.
    pub fn accepted(&self, round: RoundId) -> impl Iterator<Item = &Sent> {
        self.sent.values().filter(move |sent| sent.round == round && sent.is_accepted)
    }
}
