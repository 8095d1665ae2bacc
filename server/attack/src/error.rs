use folkmoot_engine::{EvaluateError, ExamplesError, TrainError};
use folkmoot_simulation::{report::ReportError, simulate::SimulateError};
use folkmoot_update::noise::NoiseError;

use crate::limits::{EXAMPLES_MIN, SHADOWS_MAX, SHADOWS_MIN};

/// The reason why a task cannot be attacked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CannotAttack {
    /// The name of an attack is not known.
    #[error(
        "`{name}` is not an attack ({reason}); choose from inversion, membership, property, poisoning, or a kind of poisoning such as \
         sign_flip or backdoor"
    )]
    UnknownAttack {
        /// The name.
        name: String,
        /// The reason why it is not a kind of poisoning.
        reason: String,
    },
    /// The labels are not classes.
    #[error(
        "{attack} needs labels that are classes, but the labels of this data are numbers or sequences; choose other attacks \
         with --attacks, for example poisoning"
    )]
    NoClasses {
        /// The attack, for people.
        attack: &'static str,
    },
    /// The features are rows of a table.
    #[error(
        "the features of this model are numbers of rows in a table, such as token ids, and inversion changes features a \
         little at a time; choose other attacks with --attacks, for example membership"
    )]
    Lookup,
    /// Clients have tensors or models of their own.
    #[error(
        "clients of the task predict with tensors or models of their own (plan.personal, plan.personal_training), and {attack} \
         attacks a model that is the same for all; remove these keys from a copy of the task, or choose other attacks with \
         --attacks, for example inversion"
    )]
    Personal {
        /// The attack, for people.
        attack: &'static str,
    },
    /// There is no property to guess.
    #[error(
        "the attack on a property needs labels that are classes, or a property of the features; name one with --property, for example \
         --property above:0=0.5, or choose other attacks with --attacks"
    )]
    NoProperty,
    /// The property does not fit the data.
    #[error(
        "--property is {property}, but the data has {features} features, counted from 0, and classes only if its labels are classes; \
         choose a property that examples can have"
    )]
    PropertyUnfit {
        /// The property.
        property: String,
        /// The number of features.
        features: usize,
    },
    /// Too few examples have the property, or too few do not.
    #[error(
        "{with} examples have the property {property} and {without} do not, but the attack on a property needs {needed_with} with it and \
         {needed_without} without it, for both halves of the data; lower --property-examples or --property-share, or choose another \
         --property"
    )]
    PropertyTooRare {
        /// The property.
        property: String,
        /// The number of examples that have it.
        with: usize,
        /// The number of examples that do not.
        without: usize,
        /// The number of examples with it that are needed.
        needed_with: usize,
        /// The number of examples without it that are needed.
        needed_without: usize,
    },
    /// The updates of the attack on a property need too much memory.
    #[error(
        "{updates} updates of the attacker and as many of victims have {bytes} bytes; at most {max} are allowed. Lower \
         --property-updates"
    )]
    UpdatesTooLarge {
        /// The number of updates of each side.
        updates: usize,
        /// Their size.
        bytes: u64,
        /// The allowed size.
        max: u64,
    },
    /// No part of the inversion applies.
    #[error(
        "no inversion attack applies to updates of this model: {reason}; choose other attacks with --attacks"
    )]
    NothingToInvert {
        /// The reasons.
        reason: String,
    },
    /// There are too few examples.
    #[error("the data has {found} examples; attacks need at least {EXAMPLES_MIN}, so give more with --data")]
    TooFewExamples {
        /// The number of examples.
        found: usize,
    },
    /// There are no held-out examples.
    #[error(
        "poisoning measures versions on held-out examples, and there are none; give them with --held-out, or set \
         held_out_share in the world"
    )]
    NoHeldOut,
    /// The number of shadow models is out of range.
    #[error("--shadows is {found}; it must be {SHADOWS_MIN} to {SHADOWS_MAX}")]
    Shadows {
        /// The number.
        found: usize,
    },
    /// A number is out of range.
    #[error("{field} is {value}; it must be {allowed}")]
    Range {
        /// The flag.
        field: &'static str,
        /// The rejected value.
        value: f64,
        /// The permitted range, in words.
        allowed: &'static str,
    },
    /// The size of the pictures does not match the features.
    #[error(
        "--picture {width}x{height} has {pixels} pixels, but an example has {features} features; choose numbers whose product \
         is {features}, or --picture none"
    )]
    Picture {
        /// The number of columns.
        width: usize,
        /// The number of rows.
        height: usize,
        /// The product of both.
        pixels: usize,
        /// The number of features.
        features: usize,
    },
    /// A simulation failed.
    #[error("{label}: {source}")]
    Simulate {
        /// The run, for people.
        label: String,
        /// The error of the simulation.
        source: SimulateError,
    },
    /// A client's update cannot be computed.
    #[error("the update of a client cannot be computed: {0}")]
    Train(#[from] TrainError),
    /// A model cannot be measured.
    #[error("a model cannot be measured: {0}")]
    Evaluate(#[from] EvaluateError),
    /// The model does not fit the task.
    #[error("the model does not fit the task: {0}; run `folkmoot task check` with --model")]
    Model(String),
    /// Examples do not fit together.
    #[error(transparent)]
    Examples(#[from] ExamplesError),
    /// The noise cannot be added.
    #[error("noise cannot be added to an update: {0}")]
    Noise(#[from] NoiseError),
    /// The report cannot be drawn.
    #[error(transparent)]
    Report(#[from] ReportError),
}

impl CannotAttack {
    /// Returns whether the attack does not fit the task, so that a run of all attacks continues without it.
    pub(crate) fn is_misfit(&self) -> bool {
        matches!(
            self,
            Self::NoClasses { .. }
                | Self::Lookup
                | Self::NoProperty
                | Self::PropertyUnfit { .. }
                | Self::PropertyTooRare { .. }
                | Self::UpdatesTooLarge { .. }
                | Self::Personal { .. }
                | Self::NothingToInvert { .. }
                | Self::NoHeldOut
        )
    }
}
