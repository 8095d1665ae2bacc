//! Parses the columns in the flags of `folkmoot statistics prepare`.

use folkmoot_data::schema::{MissingValue, TableColumn};
use jiff::civil::Date;

/// A date becomes the number of days since this day.
const FIRST_DAY: Date = jiff::civil::date(1970, 1, 1);

/// Parses `NAME=FROM..TO`: a column of numbers in this range.
///
/// # Errors
/// A message with an example, if the text has another form.
pub fn number(text: &str) -> Result<TableColumn, String> {
    let (name, from, to) = range(text, "age=0..120", |bound| bound.trim().parse::<f64>().ok())?;
    Ok(TableColumn::Number { name, mean: from, deviation: to - from, missing: MissingValue::Indicator })
}

/// Parses `NAME=FROM..TO` with dates: a column of dates in this range.
///
/// # Errors
/// A message with an example, if the text has another form.
pub fn date(text: &str) -> Result<TableColumn, String> {
    let example = "admitted=2020-01-01..2026-12-31";
    let (name, from, to) = range(text, example, |bound| days(bound.trim().parse().ok()?))?;
    Ok(TableColumn::Date { name, mean: from, deviation: to - from, missing: MissingValue::Indicator })
}

/// Parses `NAME=TEXT,TEXT,…`: a column of texts.
///
/// # Errors
/// A message with an example, if the text has another form.
pub fn category(text: &str) -> Result<TableColumn, String> {
    let refused = || format!("{text:?} is not NAME=TEXT,TEXT; give for example ward=north,south");
    let (name, values) = text.split_once('=').ok_or_else(refused)?;
    let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
    let name = name.trim();
    if name.is_empty() || values.iter().any(String::is_empty) {
        return Err(refused());
    }
    Ok(TableColumn::Category { name: name.to_owned(), values })
}

fn range(
    text: &str,
    example: &str,
    parse: impl Fn(&str) -> Option<f64>,
) -> Result<(String, f64, f64), String> {
    let refused = || format!("{text:?} is not NAME=FROM..TO; give for example {example}");
    let (name, bounds) = text.rsplit_once('=').ok_or_else(refused)?;
    let name = name.trim();
    let (from, to) = bounds.split_once("..").ok_or_else(refused)?;
    let (from, to) = parse(from).zip(parse(to)).ok_or_else(refused)?;
    if name.is_empty() || !(from.is_finite() && to.is_finite() && from < to) {
        return Err(refused());
    }
    Ok((name.to_owned(), from, to))
}

/// Returns the number of days from 1970-01-01 to a date.
pub fn days(date: Date) -> Option<f64> {
    Some(f64::from(FIRST_DAY.until(date).ok()?.get_days()))
}

/// Returns the date this many days after 1970-01-01, rounded; `None` if there is none.
pub fn date_of(days: f64) -> Option<Date> {
    FIRST_DAY.checked_add(jiff::Span::new().try_days(days.round() as i64).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_name_columns_and_ranges() {
        let TableColumn::Number { name, mean, deviation, .. } = number("a=b =-2..3.5").unwrap() else {
            panic!()
        };
        assert_eq!((name.as_str(), mean, deviation), ("a=b", -2.0, 5.5));
        let TableColumn::Date { mean, deviation, .. } = date("d=1970-01-02..1971-01-02").unwrap() else {
            panic!()
        };
        assert_eq!((mean, deviation, date_of(mean).unwrap().to_string()), (1.0, 365.0, "1970-01-02".into()));
        let TableColumn::Category { values, .. } = category("ward=north, south").unwrap() else { panic!() };
        assert_eq!(values, ["north", "south"]);
        for wrong in ["", "age", "age=1", "age=2..1", "age=1..1", "=0..1", "age=0..inf", "age=a..b"] {
            assert!(number(wrong).unwrap_err().contains("age=0..120"), "{wrong}");
        }
        for wrong in ["ward", "ward=", "ward=a,,b", "=a"] {
            assert!(category(wrong).is_err(), "{wrong}");
        }
    }
}
