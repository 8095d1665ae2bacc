//! Formats numbers with their units.

use folkmoot_protocol::NamePattern;

/// Formats a count: `1 client`, `20 clients`.
pub(super) fn count(number: u64, unit: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {unit}{s}", grouped(number))
}

/// Formats a number of times: `once`, `5 times`.
pub(super) fn times(number: u64) -> String {
    if number == 1 { "once".into() } else { count(number, "time") }
}

/// Formats a duration in the largest unit that divides it: `90 seconds`, `10 minutes`, `2 hours`.
pub(super) fn seconds(seconds: u64) -> String {
    match seconds {
        0 => count(0, "second"),
        seconds if seconds.is_multiple_of(86_400) => count(seconds / 86_400, "day"),
        seconds if seconds.is_multiple_of(3600) => count(seconds / 3600, "hour"),
        seconds if seconds.is_multiple_of(60) => count(seconds / 60, "minute"),
        seconds => count(seconds, "second"),
    }
}

/// Formats a number of bytes in decimal units.
pub(super) fn bytes(bytes: u64) -> String {
    match bytes {
        0..=9_999 => count(bytes, "byte"),
        10_000..=999_999 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..=999_999_999 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// Formats a share: `10 %`.
pub(super) fn percent(share: f64) -> String {
    let percent = (share * 1e6).round() / 1e4;
    format!("{percent} %")
}

/// Formats a number with a comma between groups of three digits: `100,000`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns the patterns with commas between them.
pub(super) fn listed(patterns: &[NamePattern]) -> String {
    patterns.iter().map(NamePattern::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_units() {
        assert_eq!(count(1, "client"), "1 client");
        assert_eq!(count(100_000, "client"), "100,000 clients");
        assert_eq!([seconds(90), seconds(600), seconds(7200)], ["90 seconds", "10 minutes", "2 hours"]);
        assert_eq!([bytes(112), bytes(44_512), bytes(98_000_000)], ["112 bytes", "44.5 kB", "98.0 MB"]);
        assert_eq!([percent(0.29), percent(0.001)], ["29 %", "0.1 %"]);
    }
}
