//! The facts about a commit that a component gets.

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
