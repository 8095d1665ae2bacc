use super::{Amplification, PrivacyChoice};
use crate::{
    scheduling::{Sampled, SchedulingChoice},
    selection::SelectionChoice,
};

/// The parts of a task on which its privacy rests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PrivacyContext<'a> {
    pub privacy: &'a PrivacyChoice,
    pub scheduling: &'a SchedulingChoice,
    pub selection: &'a SelectionChoice,
    /// The rounds after which the task ends, where it says that.
    pub rounds: Option<u64>,
    /// The largest magnitude on the grid.
    pub value_max: f64,
    /// Says whether the task may return to an earlier version.
    pub rolls_back: bool,
}

impl PrivacyContext<'_> {
    /// Returns the policy of the rounds of a task whose privacy rests on how they are drawn; none for any other.
    pub fn sampled(&self) -> Option<Sampled> {
        match (self.privacy.central()?.amplification, self.scheduling) {
            (Amplification::Poisson, SchedulingChoice::Synchronous(policy)) => Some(Sampled(*policy)),
            _ => None,
        }
    }
}
