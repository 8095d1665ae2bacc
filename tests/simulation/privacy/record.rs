//! A record of the actual events, noted at their source: by the clients that send, at the draw, and from released
//! weights. It uses neither the ledger nor a plan.

use std::collections::{BTreeMap, BTreeSet};

use folkmoot_protocol::{AssignmentId, RoundId, TaskId};

use super::measure::Energy;

/// An update of a client that has arrived completely or in part.
#[derive(Clone, Debug)]
pub struct Sent {
    pub task: TaskId,
    pub round: RoundId,
    /// The protected unit, a client or a user, by number.
    pub unit: usize,
    /// The L2 norm of the received part, before any noise added by the client.
    pub norm: f64,
    /// The received values.
    pub values: Vec<f32>,
    /// Set if the coordinator acknowledged the update as accepted.
    pub is_accepted: bool,
}

/// The draw of a sampled round.
#[derive(Clone, Debug)]
pub struct Draw {
    /// The units that waited and must each have had a coin.
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
    /// Rounds that rejected an update of a client that was in time.
    pub cut_off: BTreeSet<RoundId>,
    /// The noise that clients of a local task added, relative to the clipping norm.
    pub local_noise: BTreeMap<TaskId, Energy>,
    /// The distance that each unit moves every round for which it is drawn, in clipping norms.
    pub lengths: BTreeMap<usize, f64>,
}

impl Record {
    /// Returns the accepted updates of a round.
    pub fn accepted(&self, round: RoundId) -> impl Iterator<Item = &Sent> {
        self.sent.values().filter(move |sent| sent.round == round && sent.is_accepted)
    }
}
