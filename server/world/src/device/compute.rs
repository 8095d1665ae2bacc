use serde::{Deserialize, Serialize};

use super::purpose;
use crate::{
    chance::{Stream, standard_normal},
    setting::Check,
};

/// The model of the training time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Compute {
    /// Each device has its own speed.
    LogNormal(LogNormal),
    /// The training time does not depend on the data.
    HalfNormal(HalfNormal),
}

impl Default for Compute {
    fn default() -> Self {
        Compute::LogNormal(LogNormal::default())
    }
}

/// Log-normal: the seconds per example vary between devices, and from round to round at one device.
///
/// Lai et al. 2022, "FedScale: benchmarking model and system performance of federated learning at scale", show that the
/// speeds of phones differ by more than a factor of ten. The defaults are our own round numbers; measure your own
/// model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogNormal {
    /// The median, over the devices, of the seconds for one example in one epoch.
    pub median_seconds_per_example: f64,
    /// The standard deviation of the logarithm of the seconds between devices. At 0.7, one device in six needs at least
    /// twice the median.
    pub spread: f64,
    /// The standard deviation of the logarithm of the seconds between the assignments of one device.
    pub round_spread: f64,
    /// The number of seconds that each assignment takes in addition, independent of the data.
    pub overhead_seconds: f64,
}

impl Default for LogNormal {
    fn default() -> Self {
        Self { median_seconds_per_example: 0.01, spread: 0.7, round_spread: 0.1, overhead_seconds: 1.0 }
    }
}

/// Half-normal: training takes |N(0, 1)| times a scale, as in the experiments of Nguyen et al. 2022, "Federated
/// learning with buffered asynchronous aggregation" (FedBuff).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HalfNormal {
    /// The scale in seconds. The mean is 0.798 times the scale.
    pub scale_seconds: f64,
}

impl Default for HalfNormal {
    fn default() -> Self {
        Self { scale_seconds: 60.0 }
    }
}

/// The training speed of one device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Speed {
    Steady { seconds_per_example: f64, round_spread: f64, overhead_seconds: f64 },
    HalfNormal { scale_seconds: f64 },
}

impl Compute {
    pub(super) fn check(&self, check: &mut Check) {
        match self {
            Compute::LogNormal(law) => {
                check.positive("compute.median_seconds_per_example", law.median_seconds_per_example);
                check.spread("compute.spread", law.spread);
                check.spread("compute.round_spread", law.round_spread);
                check.not_negative("compute.overhead_seconds", law.overhead_seconds);
            }
            Compute::HalfNormal(law) => check.not_negative("compute.scale_seconds", law.scale_seconds),
        }
    }

    /// Draws the speed of one device.
    pub(super) fn speed(&self, client: u64, seed: u64) -> Speed {
        match *self {
            Compute::LogNormal(law) => {
                let normal = standard_normal(&mut Stream::new(seed, &[purpose::SPEED, client]));
                Speed::Steady {
                    seconds_per_example: law.median_seconds_per_example * (law.spread * normal).exp(),
                    round_spread: law.round_spread,
                    overhead_seconds: law.overhead_seconds,
                }
            }
            Compute::HalfNormal(law) => Speed::HalfNormal { scale_seconds: law.scale_seconds },
        }
    }
}

impl Speed {
    /// Returns the seconds that one assignment takes.
    pub(super) fn seconds(&self, example_count: u64, client: u64, seed: u64, assignment_seed: u64) -> f64 {
        let normal = standard_normal(&mut Stream::new(seed, &[purpose::ROUND, client, assignment_seed]));
        match *self {
            Speed::Steady { seconds_per_example, round_spread, overhead_seconds } => {
                overhead_seconds + example_count as f64 * seconds_per_example * (round_spread * normal).exp()
            }
            Speed::HalfNormal { scale_seconds } => scale_seconds * normal.abs(),
        }
    }
}
