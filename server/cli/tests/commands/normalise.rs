//! Replaces the parts of a transcript that differ between runs and machines: random ids, secrets, addresses, speeds
//! and memory.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Map, Number, Value};
use snapbox::Redactions;

/// The number of lines above which only the first ones are recorded. Completions and schemas have their own tests.
const LINES_MAX: usize = 250;
const LINES_KEPT: usize = 20;

const RIGHT: &str = "the patterns are written down here";
/// 32 bytes in base64.
const PUBLIC_KEY: &str = "[A-Za-z0-9+/]{43}=";

/// Returns the replacements for random and measured text. Ids of the test content begin with 0 and are kept.
pub fn redactions() -> Redactions {
    let patterns = [
        ("[ID]", r"[1-9a-f][0-9a-f]{7}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"),
        ("[CREDENTIAL]", r"[0-9a-f]{16}\.[0-9a-f]{64}"),
        ("[KEY]", r"\b[1-9a-f][0-9a-f]{15}\b"),
        ("[ADDRESS]", r"(?:127\.0\.0\.1|localhost)(?::|%3A)[0-9]{5}\b"),
        ("[BYTES]", r"(?:memory |memory_bytes.: )(?<redacted>[0-9]+|-|null)"),
        ("[SPEED]", r"(?:per_second.: |runs at )(?<redacted>[0-9.e+-]+)"),
        ("[SPEEDS]", r"(?m)(?:yes|no) +(?<redacted>[0-9]+\.[0-9]{2} +[0-9]+\.[0-9]{2})$"),
    ];
    let mut redactions = Redactions::new();
    redactions.insert("[VERSION]", env!("CARGO_PKG_VERSION")).expect(RIGHT);
    for (placeholder, pattern) in patterns {
        redactions.insert(placeholder, Regex::new(pattern).expect(RIGHT)).expect(RIGHT);
    }
    redactions
}

/// Returns the replacements for output of the audit log, whose digests depend on random ids and keys.
pub fn audit_redactions() -> Redactions {
    let mut redactions = redactions();
    redactions.insert("[DIGEST]", Regex::new(r"\b[0-9a-f]{64}\b").expect(RIGHT)).expect(RIGHT);
    redactions.insert("[PUBLIC_KEY]", Regex::new(PUBLIC_KEY).expect(RIGHT)).expect(RIGHT);
    redactions
}

/// Returns the replacements for output about endorsements, which contains random keys and the time of the run.
pub fn endorsement_redactions() -> Redactions {
    let patterns = [
        ("[TIME]", r#"(?:not_before|expires_at)\\?": ?(?<redacted>[0-9]+)"#),
        ("[MOMENT]", r"20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z"),
        ("[SIGNATURE]", r"[A-Za-z0-9+/]{86}=="),
        ("[PUBLIC_KEY]", PUBLIC_KEY),
    ];
    let mut redactions = redactions();
    for (placeholder, pattern) in patterns {
        redactions.insert(placeholder, Regex::new(pattern).expect(RIGHT)).expect(RIGHT);
    }
    redactions
}

/// Formats JSON over several lines, with sorted keys and numbers rounded to six digits, because the last digits of a
/// logarithm depend on the system library.
pub fn json(text: &str) -> Option<String> {
    let value: Value = serde_json::from_str(text).ok()?;
    serde_json::to_string_pretty(&plain(value)).ok()
}

fn plain(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let sorted: BTreeMap<String, Value> =
                fields.into_iter().map(|(name, value)| (name, plain(value))).collect();
            Value::Object(Map::from_iter(sorted))
        }
        Value::Array(values) => values.into_iter().map(plain).collect(),
        Value::Number(number) if number.is_f64() => {
            let rounded = number.as_f64().and_then(|number| format!("{number:.5e}").parse().ok());
            Value::Number(rounded.and_then(Number::from_f64).unwrap_or(number))
        }
        other => other,
    }
}

/// Returns only the beginning of a long output.
pub fn shortened(text: &str) -> String {
    if text.lines().count() <= LINES_MAX {
        return text.to_owned();
    }
    let kept: Vec<&str> = text.lines().take(LINES_KEPT).collect();
    format!("{}\n[and more lines]\n", kept.join("\n"))
}
