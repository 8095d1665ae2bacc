//! What really happened, written down where it happened: by the clients that sent, at the draw, and from the weights that
//! were released. Neither the ledger nor a plan is asked.

use std::collections::{BTreeMap, BTreeSet};

use folkmoot_protocol::{AssignmentId, RoundId, TaskId};

use super::measure::Energy;

/// An update that a client sent, or of which a part arrived.
#[derive(Clone, Debug)]
pub struct Sent {
    pub task: TaskId,
    pub round: RoundId,
    /// Whom the population's promises protect: a client or a user, by number.
    pub unit: usize,
    /// The L2 norm of what arrived before any noise of the client's.
    pub norm: f64,
    /// What arrived.
    pub values: Vec<f32>,
    /// Whether the coordinator said that it counts.
    pub is_accepted: bool,
}

/// A sampled round's draw.
#[derive(Clone, Debug)]
pub struct Draw {
    /// Who waited, and had to be in it by a coin.
    pub waiting: BTreeSet<usize>,
    /// Who was given an assignment.
    pub drawn: BTreeSet<usize>,
}

/// All of a world.
#[derive(Clone, Debug, Default)]
pub struct Record {
    pub sent: BTreeMap<AssignmentId, Sent>,
    pub draws: BTreeMap<RoundId, Draw>,
    /// Rounds that an operator ended before their time.
    pub stopped: BTreeSet<RoundId>,
    /// Rounds that were closed for a client that was in time.
    pub cut_off: BTreeSet<RoundId>,
    /// The noise that clients of a local task added, over the clipping norm.
    pub local_noise: BTreeMap<TaskId, Energy>,
    /// How far a unit moves whatever it is drawn for, in clipping norms.
    pub lengths: BTreeMap<usize, f64>,
}

impl Record {
    /// Lists the updates of a round that count.
    pub fn accepted(&self, round: RoundId) -> impl Iterator<Item = &Sent> {
        self.sent.values().filter(move |sent| sent.round == round && sent.is_accepted)
    }
}
