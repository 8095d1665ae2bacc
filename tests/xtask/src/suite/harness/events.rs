//! The report of a test program, one JSON object per line.

use serde_json::Value;

/// One line of the report.
#[derive(Debug, PartialEq)]
pub enum Event {
    /// A test began.
    Started { name: String },
    /// A test has ended. An ignored test would be reported as passed, but the workspace has none.
    Ended { name: String, passed: bool, seconds: f64, printed: String },
    /// All tests have ended.
    AllEnded { passed: u64 },
    /// Any other line.
    Other,
}

impl Event {
    /// Parses a line. Returns `None` if it is not from libtest.
    pub fn parse(line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line).ok()?;
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (kind, event) = (text("type"), text("event"));
        Some(match (kind.as_str(), event.as_str()) {
            ("test", "started") => Self::Started { name: text("name") },
            ("test", "ok" | "failed" | "ignored") => Self::Ended {
                name: text("name"),
                passed: event != "failed",
                seconds: value.get("exec_time").and_then(Value::as_f64).unwrap_or_default(),
                printed: [text("stdout"), text("message")].concat(),
            },
            ("suite", "ok" | "failed") => {
                Self::AllEnded { passed: value.get("passed").and_then(Value::as_u64).unwrap_or_default() }
            }
            ("", _) => return None,
            _ => Self::Other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_others_are_no_events() {
        assert_eq!(Event::parse("running 3 tests"), None);
        assert_eq!(Event::parse("{ \"level\": \"INFO\" }"), None);
        assert_eq!(Event::parse(r#"{ "type": "suite", "event": "started" }"#), Some(Event::Other));
        let all = r#"{ "type": "suite", "event": "failed", "passed": 3, "failed": 1 }"#;
        assert_eq!(Event::parse(all), Some(Event::AllEnded { passed: 3 }));
    }
}
