/// The facts about a commit that a finalizer gets besides the aggregate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Commit {
    /// The number of the commit, from 1.
    pub number: u64,
    /// The mean staleness of the combined updates, in versions. It is 0 if all updates started from the newest version.
    pub mean_staleness: f64,
}
