//! A point at which a process halts, so that a test can kill it exactly there.

use serde::{Deserialize, Serialize};

use crate::log::fields_of;

/// The word that a process writes to its standard output when it has halted.
pub const HALTED: &str = "halted";
/// The line of standard input that lets a halted process continue.
pub const GO_ON: &str = "go on";

/// A line of the coordinator's log at which the coordinator halts. The async task that writes the line is blocked
/// there; other tasks continue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Halt {
    message: String,
    /// The phase that the line must report; `None` for any line with the message.
    to: Option<String>,
    /// The first round for which to halt.
    from_round: u64,
}

impl Halt {
    /// Creates a halt at the line `message` for this round or a later one.
    pub fn at(message: &str, from_round: u64) -> Self {
        Self { message: message.to_owned(), to: None, from_round }
    }

    /// Creates a halt at the line that reports `phase` for this round or a later one.
    pub fn at_phase(phase: &str, from_round: u64) -> Self {
        Self { to: Some(phase.to_owned()), ..Self::at("round advanced", from_round) }
    }

    /// Returns the round's number if the process must halt at this line of the log; otherwise `None`.
    pub fn is_at(&self, line: &str) -> Option<u64> {
        let fields = fields_of(line, &self.message)?;
        let round = fields.get("round")?.as_u64()?;
        let is_phase = self.to.is_none() || fields.get("to")?.as_str() == self.to.as_deref();
        (round >= self.from_round && is_phase).then_some(round)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_at_its_message_from_its_round_on() {
        let line = |round: u64, to: &str| {
            format!(r#"{{"fields":{{"message":"round advanced","round":{round},"to":"{to}"}}}}"#)
        };
        let halt = Halt::at_phase("reporting", 3);
        assert_eq!(halt.is_at(&line(3, "reporting")), Some(3));
        assert_eq!(halt.is_at(&line(4, "reporting")), Some(4));
        assert_eq!(halt.is_at(&line(2, "reporting")), None);
        assert_eq!(halt.is_at(&line(3, "aggregating")), None);
        assert_eq!(Halt::at("round advanced", 3).is_at(&line(3, "aggregating")), Some(3));
        assert_eq!(Halt::at("round opened", 3).is_at(&line(3, "reporting")), None);
    }
}
