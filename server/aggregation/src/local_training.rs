use folkmoot_protocol::Fault;

/// The part of the clients' local training that a rule may use beside the updates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LocalTraining {
    /// For each update, the mean loss that its client reports, at least 0. It is the mean over the examples of the local
    /// training, each measured before the step that uses it.
    pub losses: Vec<f64>,
    /// The learning rate of plain SGD without momentum; `None` if the plan has another optimizer.
    pub learning_rate: Option<f64>,
}

/// Records a fault if a version may combine a single update. A rule that compares the losses of clients then has nothing to compare.
pub(super) fn expect_several(cohort_min: u64, faults: &mut Vec<Fault>) {
    if cohort_min < 2 {
        faults.push(Fault::new(
            "aggregator.kind",
            "this rule compares the losses of clients, but scheduling allows commits of a single update",
            "raise scheduling.minimum_cohort or scheduling.buffer_goal, or choose aggregator.kind = \"weighted_mean\"",
        ));
    }
}
