use folkmoot_protocol::messages::ProtectionLevel;

/// The limit that an assignment exceeded. It is for the app's user and is never sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OverBudget {
    /// The download is too large.
    #[error("model_bytes_max is {max}; this assignment needs a download of {bytes} bytes")]
    ModelBytes {
        /// The number of bytes of the model and the weights, or of the plan.
        bytes: u64,
        /// The limit.
        max: u64,
    },
    /// The model and its weights alone need more memory than the limit.
    #[error("memory_bytes_max is {max}; the model and its weights alone need {bytes} bytes")]
    MemoryBytes {
        /// The number of bytes of the model and the weights.
        bytes: u64,
        /// The limit.
        max: u64,
    },
    /// The plan trains too many parameters.
    #[error("parameters_max is {max}; the plan trains {parameters} parameters")]
    Parameters {
        /// The number of parameters in the plan's schema.
        parameters: u64,
        /// The limit.
        max: u64,
    },
    /// A version may combine the updates of too few clients.
    #[error("cohort_min is {min}; {}", cohort(*.told))]
    Cohort {
        /// The minimum number of clients per version, if the coordinator states it.
        told: Option<u64>,
        /// The limit.
        min: u64,
    },
    /// The protection of the client's update is too weak.
    #[error("protection_min is {min}; this assignment offers {found}")]
    Protection {
        /// The protection that the client applies itself, or that the coordinator promises.
        found: ProtectionLevel,
        /// The limit.
        min: ProtectionLevel,
    },
    /// An evaluation took too long.
    #[error("training_seconds_max is {max}; the evaluation took longer")]
    Evaluation {
        /// The limit, in seconds.
        max: u64,
    },
}

fn cohort(told: Option<u64>) -> String {
    match told {
        Some(told) => format!("a version of this task may combine the updates of only {told} clients"),
        None => "the coordinator does not state how many updates a version combines".to_owned(),
    }
}
