use super::{Amplification, PrivacyChoice};
use crate::{
    scheduling::{Sampled, SchedulingChoice},
    selection::SelectionChoice,
};

/// The parts of a task that its privacy depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PrivacyContext<'a> {
    pub privacy: &'a PrivacyChoice,
    pub scheduling: &'a SchedulingChoice,
    pub selection: &'a SelectionChoice,
    /// The number of rounds after which the task ends, if it is limited.
    pub rounds: Option<u64>,
    /// The largest magnitude on the grid.
    pub value_max: f64,
    /// True if the task may roll back to an earlier version.
    pub rolls_back: bool,
}

impl PrivacyContext<'_> {
    /// Returns the round policy of a task whose privacy depends on the draw, or `None` for other tasks.
    pub fn sampled(&self) -> Option<Sampled> {
        match (self.privacy.central()?.amplification, self.scheduling) {
            (Amplification::Poisson, SchedulingChoice::Synchronous(policy)) => Some(Sampled(*policy)),
            _ => None,
        }
    }
}
