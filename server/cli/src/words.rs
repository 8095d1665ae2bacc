//! Value parsers for options: fixed sets of values of types from crates that do not depend on clap, and durations.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// Returns a parser for these values. Each has a name, a help text and a value.
pub fn words<T, const N: usize>(
    known: [(&'static str, &'static str, T); N],
) -> impl TypedValueParser<Value = T>
where
    T: Clone + Send + Sync + 'static,
{
    let shown = known.iter().map(|(word, help, _)| PossibleValue::new(*word).help(*help));
    PossibleValuesParser::new(shown.collect::<Vec<_>>()).map(move |text| {
        let (.., value) = known.iter().find(|(word, ..)| *word == text).expect("clap has compared the words");
        value.clone()
    })
}

/// Parses a duration: a whole number with `s`, `m`, `h` or `d`, or a number of seconds. Returns seconds.
///
/// # Errors
/// If the text is not a duration, or is longer than `seconds_max`.
pub fn seconds(text: &str, seconds_max: u64) -> Result<u64, String> {
    let units = [('s', 1), ('m', 60), ('h', 3_600), ('d', 86_400)];
    let unit = units.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(*unit)?, *seconds)));
    let (number, unit) = unit.unwrap_or((text, 1));
    let seconds = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    let seconds = seconds.ok_or("expected a whole number with s, m, h or d, for example 24h")?;
    match seconds <= seconds_max {
        true => Ok(seconds),
        false => Err(format!("it is longer than {} days", seconds_max / 86_400)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        let parsed = |text| seconds(text, 2_592_000);
        for (text, right) in
            [("0", 0), ("90", 90), ("90s", 90), ("2m", 120), ("24h", 86_400), ("30d", 2_592_000)]
        {
            assert_eq!(parsed(text), Ok(right), "{text}");
        }
        for wrong in ["", "h", "1.5h", "-1", "24 h", "1w", "99999999999999999999d"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
        assert!(parsed("31d").unwrap_err().contains("30 days"));
    }
}
