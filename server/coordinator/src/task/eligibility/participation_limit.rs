use folkmoot_protocol::Timestamp;
use serde::{Deserialize, Serialize};

use crate::participation::{History, RECENT_STARTS_MAX, Start};

const HOURS_MAX: f64 = 24.0 * 366.0;

/// How often a client may take part: at most `count` starts in so many rounds in a row, or in so many hours. Exactly
/// one of the two is given.
///
/// A start counts whatever became of it. With a count of 1 and `rounds` b, two starts of a client are at least b
/// rounds apart: the b-min-separation under which noise that is correlated between rounds is accounted for
/// (Choquette-Choo et al. 2023, "(Amplified) banded matrix factorization").
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ParticipationLimit {
    /// Starts, at least 1 and at most as many as a history remembers: 64.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 64), extend("examples" = [1])))]
    pub count: u64,
    /// In this many rounds in a row, the one for which it is asked included: at least 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [10])))]
    pub rounds: Option<u64>,
    /// In the last hours: above 0, at most a year.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 8784, "examples" = [24.0])))]
    pub hours: Option<f64>,
}

impl ParticipationLimit {
    /// Says whether a client may start once more, in a round whose number counts from 1.
    pub fn allows(&self, history: &History, round_number: u64, now: Timestamp) -> bool {
        let counts = |start: &&Start| {
            let by_rounds =
                self.rounds.is_some_and(|rounds| start.round_number.saturating_add(rounds) > round_number);
            let by_hours = self.hours.is_some_and(|hours| {
                // Rounded up: never a moment too early.
                start.at.plus_milliseconds((hours * 3_600_000.0).ceil() as u64) > now
            });
            by_rounds || by_hours
        };
        (history.recent.iter().filter(counts).count() as u64) < self.count
    }

    /// Finds what is wrong: the field, the message and the remedy.
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
                "rounds and hours are both given, or neither".into(),
                "give one of them".into(),
            )),
        }
    }
}
