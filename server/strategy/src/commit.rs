//! The facts about a commit or a draw that a component gets.

use std::collections::BTreeSet;

/// The commit of a component that combines updates.
#[derive(Clone, Debug, PartialEq)]
pub struct AggregationCommit {
    /// The number of the version that is computed, from 1.
    pub version: u64,
    /// The number of the model's parameters.
    pub parameters: u64,
    /// The seed for random choices.
    pub seed: u64,
    /// The updates, without their values.
    pub updates: Vec<UpdateFacts>,
}

/// An update, without its values and its client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UpdateFacts {
    /// The weight that the plan allows the client.
    pub weight: u64,
    /// The factor for the staleness, from 0 to 1.
    pub attenuation: f64,
    /// The number of versions that were released while the client trained.
    pub staleness: u64,
    /// The number of examples that the client reports, counted each time.
    pub examples: u64,
    /// The number of local steps that the client reports.
    pub steps: u64,
    /// The mean loss that the client reports.
    pub loss: Option<f64>,
}

/// The commit of a component that changes the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FinalizationCommit {
    /// The number of the version that is computed, from 1.
    pub version: u64,
    /// The number of the model's parameters.
    pub parameters: u64,
    /// The number of combined updates.
    pub updates: u64,
    /// The mean staleness of these updates, in versions.
    pub mean_staleness: f64,
}

/// The draw of a component that selects clients.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectionDraw {
    /// The number of the round, from 1.
    pub round: u64,
    /// The number of the version that the clients start from.
    pub version: u64,
    /// The number of clients that the round wants.
    pub count: u64,
    /// The seed for random choices.
    pub seed: u64,
    /// The clients that wait.
    pub clients: Vec<ClientFacts>,
}

/// A client that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientFacts {
    /// A number that stands for the client in this task, the same in each draw. It is a digest of the client's id and the task.
    pub key: u64,
    /// The number of examples that the client reports.
    pub examples: u64,
    /// The attributes that the client reports, by name.
    pub attributes: Vec<(String, String)>,
    /// The number of the client's assignments in this task.
    pub starts: u64,
    /// The number of the client's accepted updates.
    pub accepted: u64,
    /// The number of the client's last assignments in a row without an update.
    pub failures: u32,
    /// The number of the round of the client's last assignment.
    pub last_round: Option<u64>,
    /// The mean loss of the client's last accepted update, as it reports it.
    pub loss: Option<f64>,
    /// Milliseconds from the client's last accepted assignment to its update.
    pub milliseconds: Option<u64>,
}

/// Returns the places of clients if all are below `count` and different, or else the first place that is not.
pub fn different_places(places: impl Iterator<Item = u64>, count: usize) -> Result<Vec<usize>, u64> {
    let mut seen = BTreeSet::new();
    let check = |place: u64| {
        let known = usize::try_from(place).ok().filter(|known| *known < count && seen.insert(*known));
        known.ok_or(place)
    };
    places.map(check).collect()
}

/// The answer to a draw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preferred {
    /// The places of clients in [`SelectionDraw::clients`] in the order of preference, each at most once.
    pub places: Vec<usize>,
    /// The state that is kept until the next draw.
    pub state: Vec<u8>,
}
