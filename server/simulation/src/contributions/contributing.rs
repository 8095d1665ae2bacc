use folkmoot_coordinator::task::TaskDescription;
use folkmoot_engine::Evaluator;
use folkmoot_protocol::{Metric, RoundId};

use super::{ContributionSettings, Contributions, Totals, limits::refuse_unfit};

/// The contributions so far.
pub(crate) struct Contributing {
    pub(crate) settings: ContributionSettings,
    pub(crate) metric: Metric,
    pub(crate) threads: usize,
    pub(crate) evaluators: Vec<Evaluator>,
    /// The updates of the round that is combined next; `None` if none is.
    pub(crate) round: Option<RoundUpdates>,
    pub(crate) totals: Totals,
}

/// The updates of a round that is about to be combined.
pub(crate) struct RoundUpdates {
    pub(crate) id: RoundId,
    /// The number of each client in the world.
    pub(crate) clients: Vec<usize>,
    /// The values of each update.
    pub(crate) rows: Vec<Vec<f32>>,
    /// The weight of each update and the number of its local steps.
    pub(crate) reports: Vec<(u64, u64)>,
}

impl Contributing {
    /// Begins to compute contributions.
    ///
    /// # Errors
    /// If the task does not fit, or no examples are held out for all clients together.
    pub(crate) fn begin(
        settings: ContributionSettings,
        description: &TaskDescription,
        has_held_out: bool,
        metric: Metric,
        threads: usize,
    ) -> Result<Self, String> {
        refuse_unfit(description)?;
        if !has_held_out {
            return Err("the contributions of the clients cannot be computed: there are no held-out examples on which to measure the \
                        version without a client. Give them with --held-out, or set held_out_share above 0 and leave \
                        held_out_of_clients away"
                .into());
        }
        Ok(Self {
            settings,
            metric,
            threads,
            evaluators: Vec::new(),
            round: None,
            totals: Totals::new(metric),
        })
    }

    /// Returns the contributions.
    pub(crate) fn end(self) -> Contributions {
        self.totals.end()
    }
}
