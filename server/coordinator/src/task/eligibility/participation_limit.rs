use folkmoot_protocol::{Timestamp, saturating::to_whole};
use serde::{Deserialize, Serialize};

use crate::participation::{History, RECENT_STARTS_MAX, Start};

const HOURS_MAX: f64 = 24.0 * 366.0;

/// The limit on how often a client may take part: at most `count` starts within a number of consecutive rounds or of
/// hours.
/// Set exactly one of `rounds` and `hours`.
///
/// A start counts even if it fails. With `count` 1 and `rounds` b, two starts of a client are at least b
/// rounds apart. That is the b-min-separation that accountants of correlated noise assume (Choquette-Choo et al.
/// 2023, "(Amplified) banded matrix factorization").
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ParticipationLimit {
    /// The maximum number of starts within the period: 1 to 64, the number of starts that a history keeps.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 64), extend("examples" = [1])))]
    pub count: u64,
    /// The period in rounds, including the round that is about to start: at least 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [10])))]
    pub rounds: Option<u64>,
    /// The period in hours: above 0, at most a leap year.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 8784, "examples" = [24.0])))]
    pub hours: Option<f64>,
}

impl ParticipationLimit {
    /// Returns whether a client may start again. `round_number` starts at 1.
    pub fn allows(&self, history: &History, round_number: u64, now: Timestamp) -> bool {
        let counts = |start: &&Start| {
            let by_rounds =
                self.rounds.is_some_and(|rounds| start.round_number.saturating_add(rounds) > round_number);
            let by_hours = self.hours.is_some_and(|hours| {
                // Round up, so that the client never starts too early.
                start.at.plus_milliseconds(to_whole((hours * 3_600_000.0).ceil())) > now
            });
            by_rounds || by_hours
        };
        (history.recent.iter().filter(counts).count() as u64) < self.count
    }

    /// Validates the limit.
    ///
    /// # Errors
    /// The field, the problem and the remedy.
    pub(super) fn check(&self) -> Result<(), (&'static str, String, String)> {
        let count_max = RECENT_STARTS_MAX as u64;
        if !(1..=count_max).contains(&self.count) {
            return Err(("count", format!("it is {}", self.count), format!("it must be 1 to {count_max}")));
        }
        match (self.rounds, self.hours) {
            (Some(0), None) => Err(("rounds", "it is 0".into(), "it must be at least 1".into())),
            (None, Some(hours)) if !(hours > 0.0 && hours <= HOURS_MAX) => Err((
                "hours",
                format!("it is {hours}"),
                format!("it must be above 0 and at most {HOURS_MAX}"),
            )),
            (Some(_), None) | (None, Some(_)) => Ok(()),
            _ => Err((
                "rounds",
                "`rounds` and `hours` are both set, or both missing".into(),
                "set exactly one of the two".into(),
            )),
        }
    }
}
