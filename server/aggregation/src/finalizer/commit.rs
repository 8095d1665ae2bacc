/// The facts about a commit that a finalizer gets besides the aggregate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Commit {
    /// The number of the commit, from 1.
    pub number: u64,
    /// The mean staleness of the combined updates, in versions. It is 0 if all updates started from the newest version.
    pub mean_staleness: f64,
    /// The number of combined updates.
    pub updates: u64,
    /// The mean over clients of the local learning rate, summed over the steps of a client's training. SCAFFOLD, FedDC and FedCM use it.
    pub local_rate_sum: f64,
}

impl Commit {
    /// Returns the share of `clients` whose updates are combined, at most 1.
    pub(super) fn share_of(&self, clients: u64) -> f64 {
        (self.updates as f64 / clients.max(1) as f64).min(1.0)
    }
}
