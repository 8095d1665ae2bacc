//! Numbers formatted for people.

/// A unit of an axis or a table, chosen by the size of the amount.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unit {
    /// The number of base units in this unit.
    pub(super) size: f64,
    pub(super) name: &'static str,
}

const MINUTE: f64 = 60.0;
const HOUR: f64 = 3600.0;
const DAY: f64 = 86_400.0;
const TIME: [Unit; 4] = [
    Unit { size: 1.0, name: "s" },
    Unit { size: MINUTE, name: "min" },
    Unit { size: HOUR, name: "h" },
    Unit { size: DAY, name: "d" },
];
const BYTES: [Unit; 6] = [
    Unit { size: 1.0, name: "B" },
    Unit { size: 1e3, name: "kB" },
    Unit { size: 1e6, name: "MB" },
    Unit { size: 1e9, name: "GB" },
    Unit { size: 1e12, name: "TB" },
    Unit { size: 1e15, name: "PB" },
];

impl Unit {
    /// Returns the largest unit of time of which `most` seconds contain at least two.
    pub(super) fn of_time(most: f64) -> Unit {
        largest(&TIME, most, 2.0)
    }

    /// Returns the largest unit of which `most` bytes contain at least one.
    pub(super) fn of_bytes(most: f64) -> Unit {
        largest(&BYTES, most, 1.0)
    }

    /// Formats an amount of base units in this unit.
    pub(super) fn show(self, amount: f64) -> String {
        format!("{} {}", number(amount / self.size), self.name)
    }
}

fn largest(units: &[Unit], most: f64, fewest: f64) -> Unit {
    let fitting = units.iter().rev().find(|unit| most / unit.size >= fewest);
    *fitting.unwrap_or(&units[0])
}

/// Formats a number of seconds in a suitable unit.
pub(super) fn seconds(seconds: f64) -> String {
    Unit::of_time(seconds).show(seconds)
}

/// Formats a number of bytes in a suitable unit.
pub(super) fn bytes(bytes: f64) -> String {
    Unit::of_bytes(bytes).show(bytes)
}

/// Formats a number with about four significant digits and separated thousands.
pub(super) fn number(number: f64) -> String {
    if !number.is_finite() {
        return if number.is_nan() { "not a number".into() } else { "infinite".into() };
    }
    let size = number.abs();
    if size >= 1e15 || (size > 0.0 && size < 1e-4) {
        return format!("{number:.3e}");
    }
    let decimals = match size {
        size if size >= 1000.0 => 0,
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        size if size >= 1.0 => 3,
        _ => 4,
    };
    trimmed(format!("{number:.decimals$}"))
}

/// Formats a mean and half of its interval, with the digits of two significant digits of the latter. A half-width of 0 is
/// left out.
pub(super) fn mean(mean: f64, half: Option<f64>) -> String {
    match half.filter(|half| *half > 0.0 && half.is_finite()) {
        Some(half) => {
            let decimals = (1.0 - half.log10().floor()).clamp(0.0, 8.0) as usize;
            let show = |number: f64| grouped(&format!("{number:.decimals$}"));
            format!("{} ± {}", show(mean), show(half))
        }
        None => number(mean),
    }
}

/// Formats the number at a tick of an axis whose ticks are `step` apart.
pub(super) fn tick(number: f64, step: f64) -> String {
    let size = number.abs().max(step);
    if size >= 1e7 || step < 1e-4 {
        return if number == 0.0 { "0".into() } else { format!("{number:.1e}") };
    }
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    let text = format!("{number:.decimals$}");
    let negative_zero = text.trim_start_matches(['-', '0', '.']).is_empty() && text.starts_with('-');
    if negative_zero { text[1..].to_owned() } else { grouped(&text) }
}

/// Removes trailing zeros after the decimal point.
fn trimmed(text: String) -> String {
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    grouped(if text == "-0" { "0" } else { text })
}

/// Inserts a narrow no-break space between groups of three digits, if there are five digits or more.
fn grouped(text: &str) -> String {
    let (whole, decimals) = text.split_at(text.find('.').unwrap_or(text.len()));
    let digits = whole.trim_start_matches('-');
    if digits.len() < 5 {
        return text.to_owned();
    }
    let mut grouped = String::from(&whole[..whole.len() - digits.len()]);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped + decimals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_the_unit_that_suits_them() {
        assert_eq!([90.0, 150.0, 7200.0, 200_000.0].map(seconds), ["90 s", "2.5 min", "2 h", "2.315 d"]);
        assert_eq!([0.0, 999.0, 1500.0, 3.2e9].map(bytes), ["0 B", "999 B", "1.5 kB", "3.2 GB"]);
    }

    #[test]
    fn numbers_have_the_digits_that_count() {
        let shown = [0.0, -0.0, 0.123_456, 12.0, 1234.5, 1_234_567.0, 1e-7, f64::NAN].map(number);
        let thin = "1\u{202f}234\u{202f}567";
        assert_eq!(shown, ["0", "0", "0.1235", "12", "1234", thin, "1.000e-7", "not a number"]);
    }

    #[test]
    fn a_mean_has_the_digits_of_its_interval() {
        let shown = |value: f64, half: f64| mean(value, Some(half));
        assert_eq!(shown(97.213, 0.4321), "97.21 ± 0.43");
        assert_eq!(shown(98.83, 19.14), "99 ± 19");
        assert_eq!(shown(12_345.6, 1234.5), "12\u{202f}346 ± 1234");
        assert_eq!(shown(0.000_01, 0.000_002), "0.0000100 ± 0.0000020");
        assert_eq!((shown(97.213, 0.0), mean(40.0, None)), ("97.21".to_owned(), "40".to_owned()));
    }

    #[test]
    fn ticks_have_the_decimals_of_their_step() {
        assert_eq!(tick(0.5, 0.25), "0.5");
        assert_eq!(tick(0.25, 0.05), "0.25");
        assert_eq!(tick(-1e-17, 0.1), "0.0");
        assert_eq!(tick(20_000.0, 5000.0), "20\u{202f}000");
        assert_eq!(tick(3e8, 1e8), "3.0e8");
    }
}
