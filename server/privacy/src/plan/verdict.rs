use serde::Serialize;

/// The noise-to-signal ratio over all rounds up to which noise barely affects training.
pub(super) const HARMLESS: f64 = 0.3;

/// The noise-to-signal ratio over all rounds above which the model learns nothing.
const HOPELESS: f64 = 3.0;

/// A verdict on whether the model can learn in spite of the noise. It is a rule of thumb; only a simulated trial run is
/// proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The noise over all rounds is at most 0.3 of the largest signal.
    Harmless,
    /// The model learns, but more slowly and less well.
    Costly,
    /// The noise over all rounds is more than 3 times the largest signal.
    Hopeless,
}

impl Verdict {
    /// Rates a noise-to-signal ratio over all rounds ([`noise_to_signal_over_rounds`]).
    pub fn of(ratio: f64) -> Self {
        match ratio {
            ratio if ratio <= HARMLESS => Self::Harmless,
            ratio if ratio <= HOPELESS => Self::Costly,
            _ => Self::Hopeless,
        }
    }
}

/// Returns the noise-to-signal ratio over all rounds, z·√d/(m·√T), for a noise multiplier z on the sum of m updates in each
/// of T rounds, and d parameters. The signal is the largest possible one: all updates have the clipping norm and the same
/// direction.
pub fn noise_to_signal_over_rounds(multiplier: f64, parameters: u64, report_goal: u64, rounds: u64) -> f64 {
    let per_round = multiplier * (parameters as f64).sqrt() / report_goal as f64;
    per_round / (rounds as f64).sqrt()
}
