//! The fields of a table: gaps, numbers and dates.

use jiff::{civil::DateTime, tz::TimeZone};

/// The texts that stand for a gap, in lower case.
const GAPS: [&str; 7] = ["", "na", "n/a", "nan", "null", "none", "?"];

const SECONDS_PER_DAY: f64 = 86_400.0;

/// Returns whether a field is a gap.
pub(super) fn is_gap(field: &str) -> bool {
    GAPS.iter().any(|gap| gap.eq_ignore_ascii_case(field))
}

/// Parses a finite number. Where fields are not separated by commas, a single comma is a decimal point.
pub(super) fn number(field: &str, delimiter: u8) -> Option<f64> {
    let is_decimal_comma = delimiter != b',' && field.matches(',').count() == 1 && !field.contains('.');
    let parsed = if is_decimal_comma { field.replace(',', ".").parse() } else { field.parse::<f64>() };
    // A float32 must hold it.
    parsed.ok().filter(|number| number.abs() <= f64::from(f32::MAX))
}

/// Parses a date, or a date and time, as the number of days since 1970-01-01. A time is read as UTC.
pub(super) fn days(field: &str) -> Option<f64> {
    // Without hyphens it is a number.
    if field.as_bytes().get(4) != Some(&b'-') {
        return None;
    }
    let moment: DateTime = field.strip_suffix(['Z', 'z']).unwrap_or(field).parse().ok()?;
    let timestamp = TimeZone::UTC.to_timestamp(moment).ok()?;
    Some(timestamp.as_second() as f64 / SECONDS_PER_DAY)
}
