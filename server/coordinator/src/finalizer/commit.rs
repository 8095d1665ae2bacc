/// What a finalizer knows of a commit besides the aggregate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Commit {
    /// The number of the commit, from 1.
    pub number: u64,
    /// The mean staleness of the combined updates, in versions; 0 where all began at the newest.
    pub mean_staleness: f64,
}
