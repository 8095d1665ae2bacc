use folkmoot_protocol::messages::ProtectionLevel;

/// Which limit of the app's an assignment passed, for the app's user alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OverBudget {
    /// There is too much to fetch.
    #[error("model_bytes_max is {max}; {bytes} bytes would be fetched")]
    ModelBytes {
        /// Bytes of the model and the weights, or of the plan.
        bytes: u64,
        /// The limit.
        max: u64,
    },
    /// The model and its weights alone take more memory than the limit.
    #[error("memory_bytes_max is {max}; the model and its weights alone have {bytes} bytes")]
    MemoryBytes {
        /// Bytes of the model and the weights.
        bytes: u64,
        /// The limit.
        max: u64,
    },
    /// The plan trains too many parameters.
    #[error("parameters_max is {max}; the plan trains {parameters} parameters")]
    Parameters {
        /// The parameters of the plan's schema.
        parameters: u64,
        /// The limit.
        max: u64,
    },
    /// A version may combine the updates of too few clients.
    #[error("cohort_min is {min}; {}", cohort(*.told))]
    Cohort {
        /// The fewest clients, as far as the coordinator says.
        told: Option<u64>,
        /// The limit.
        min: u64,
    },
    /// Too little hides the client's update.
    #[error("protection_min is {min}; this assignment has {found}")]
    Protection {
        /// The protection that the client sees to, or is promised.
        found: ProtectionLevel,
        /// The limit.
        min: ProtectionLevel,
    },
    /// An evaluation took too long.
    #[error("training_seconds_max is {max}; the evaluation was not over by then")]
    Evaluation {
        /// The limit, in seconds.
        max: u64,
    },
}

fn cohort(told: Option<u64>) -> String {
    match told {
        Some(told) => format!("a version of this task may combine the updates of {told}"),
        None => "the coordinator does not say how many updates a version combines".to_owned(),
    }
}
