use super::TaskDescription;
use crate::{
    privacy::{CentralPrivacy, Clipping},
    scheduling::SchedulingChoice,
};

impl TaskDescription {
    /// Returns whether edge aggregators may sum updates, so that the coordinator gets their sums only. The round must know its
    /// cohort, nothing may read single updates, and no committee may need the seeds that follow them.
    pub fn sums_at_the_edge(&self) -> bool {
        let is_summed = match self.protection.is_masked() {
            true => self.protection.committee().is_none(),
            false => self.sums_on_arrival(),
        };
        let adapts = |central: &CentralPrivacy| matches!(central.clipping, Clipping::Adaptive { .. });
        is_summed
            && matches!(self.scheduling, SchedulingChoice::Synchronous(_))
            && self.sampled().is_none()
            && !self.privacy.central().is_some_and(adapts)
    }
}
