//! Derives a schema from a table.

use std::{collections::BTreeMap, path::Path};

use serde::Serialize;

use super::{MissingValue, TableColumn, TableLabel, TableSchema, field, sheet::Sheet};
use crate::{DataError, Fault, Limits, moments::Moments};

/// The maximum number of different texts in a column that becomes a category.
const VALUES_MAX: usize = 1_000;

/// The maximum number of classes of a label.
const CLASSES_MAX: usize = 10_000;

/// The minimum number of rows at which a column whose texts are mostly distinct is treated as names or numbers of the
/// rows.
const ROWS_FOR_NAMES: u64 = 20;

/// Options for deriving a schema.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InferOptions {
    /// The label's column, by default the last one.
    pub label_column: Option<String>,
    /// True if the label is a number to predict, false if it is a class.
    pub is_target: bool,
    /// The columns that are neither feature nor label, such as a name, or the owner of the example.
    pub excluded: Vec<String>,
    /// The limits on the size of the data.
    pub limits: Limits,
}

/// A schema, and a summary of the table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Inferred {
    /// The schema.
    pub schema: TableSchema,
    /// The number of rows that were read.
    pub row_count: u64,
    /// One entry for each column of the schema, in its order.
    pub columns: Vec<ColumnSummary>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ColumnSummary {
    /// The column's name.
    pub name: String,
    /// The kind of the column: `number`, `date` or `category`.
    pub kind: &'static str,
    /// The number of features that the column becomes.
    pub feature_count: usize,
    /// The number of rows in which the field is a gap.
    pub gap_count: u64,
    /// A hint for the reader, if the column looks odd.
    pub note: Option<&'static str>,
}

/// Derives a schema from a CSV file with a header line. The function reads the file once. Its memory holds the content
/// and the distinct texts of each column.
///
/// A column of numbers or of dates is scaled to mean 0 and standard deviation 1. If it has gaps, they become the mean,
/// and a second feature marks them. Any other column becomes a category with its texts in alphabetical order. Classes
/// are sorted by number if all of them are numbers, and alphabetically otherwise.
///
/// # Errors
/// [`DataError`] if the file cannot be read, an option names no column, or a column has no clear kind.
pub fn infer(path: &Path, options: &InferOptions) -> Result<Inferred, DataError> {
    let invalid = |fault: Fault| DataError::invalid(path, fault);
    let sheet = Sheet::open(path, &options.limits)?;
    let label_name = match &options.label_column {
        Some(name) => name.clone(),
        None => last_column(&sheet, &options.excluded).map_err(invalid)?,
    };
    let label_position = sheet.position(&label_name).map_err(invalid)?;
    for name in &options.excluded {
        let position = sheet.position(name).map_err(invalid)?;
        if position == label_position {
            let fault = Fault::new(format!("column {name} is the label"), "do not exclude it");
            return Err(invalid(fault));
        }
    }
    let mut all: Vec<Seen> = sheet.header.iter().map(|_| Seen::default()).collect();
    let mut row_count = 0;
    sheet.for_each(path, |line, record| {
        row_count += 1;
        options.limits.expect_room(path, row_count, 0)?;
        for (position, (seen, text)) in all.iter_mut().zip(record).enumerate() {
            let values_max = if position == label_position { CLASSES_MAX } else { VALUES_MAX };
            seen.add(text, line, sheet.delimiter, values_max);
        }
        Ok(())
    })?;
    if row_count == 0 {
        return Err(invalid(Fault::new("has no rows", "choose a table with at least one example")));
    }
    let label = label(&label_name, &all[label_position], options.is_target).map_err(invalid)?;
    let (mut columns, mut summaries) = (Vec::new(), Vec::new());
    for (position, (name, seen)) in sheet.header.iter().zip(&all).enumerate() {
        if position == label_position || options.excluded.contains(name) {
            continue;
        }
        let (column, kind, note) = seen.column(name, row_count).map_err(invalid)?;
        let (name, feature_count) = (name.clone(), column.feature_count());
        summaries.push(ColumnSummary { name, kind, feature_count, gap_count: seen.gaps, note });
        columns.push(column);
    }
    let schema = TableSchema { columns, label: Some(label) };
    schema.check().map_err(|fault| invalid(fault.into()))?;
    Ok(Inferred { schema, row_count, columns: summaries })
}

/// Returns the last column that is not excluded.
fn last_column(sheet: &Sheet, excluded: &[String]) -> Result<String, Fault> {
    let last = sheet.header.iter().rev().find(|name| !excluded.contains(name));
    last.cloned().ok_or_else(|| Fault::new("has no column for the label", "exclude fewer columns"))
}

fn label(name: &str, seen: &Seen, is_target: bool) -> Result<TableLabel, Fault> {
    let name = name.to_owned();
    if seen.gaps > 0 {
        let reason = format!("column {name}: {} labels are empty", seen.gaps);
        return Err(Fault::new(reason, "remove these lines, or choose another label"));
    }
    if is_target {
        return match &seen.first_text {
            None => Ok(TableLabel::Target { name }),
            Some((line, text)) => {
                let reason = format!("line {line}, column {name}: {text:?} is not a number");
                Err(Fault::new(reason, "correct it, or predict classes instead of targets"))
            }
        };
    }
    let mut classes: Vec<String> = match seen.values.len() {
        0 | 1 => return Err(Fault::new(format!("column {name} has only one class"), "choose another label")),
        count if count > CLASSES_MAX => {
            let reason = format!("column {name} has more than {CLASSES_MAX} different labels");
            return Err(Fault::new(reason, "choose another label, or predict numbers as targets"));
        }
        _ => seen.values.keys().cloned().collect(),
    };
    if seen.first_text.is_none() {
        let number = |class: &String| field::number(class, b';').unwrap_or(f64::NAN);
        classes.sort_by(|one, other| number(one).total_cmp(&number(other)));
    }
    Ok(TableLabel::Class { name, classes })
}

/// A summary of the fields of one column.
#[derive(Debug, Default)]
struct Seen {
    gaps: u64,
    numbers: Moments,
    dates: Moments,
    /// The line and the text of the first field that is no gap and no number.
    first_text: Option<(u64, String)>,
    /// The different fields and how often each occurs, until one too many.
    values: BTreeMap<String, u64>,
}

impl Seen {
    fn add(&mut self, text: &str, line: u64, delimiter: u8, values_max: usize) {
        if field::is_gap(text) {
            self.gaps += 1;
            return;
        }
        if let Some(number) = field::number(text, delimiter) {
            self.numbers.add(number);
        } else {
            self.first_text.get_or_insert_with(|| (line, text.to_owned()));
            if let Some(days) = field::days(text) {
                self.dates.add(days);
            }
        }
        if let Some(count) = self.values.get_mut(text) {
            *count += 1;
        } else if self.values.len() <= values_max {
            self.values.insert(text.to_owned(), 1);
        }
    }

    /// Returns the column's encoding, its kind and a note.
    fn column(
        &self,
        name: &str,
        rows: u64,
    ) -> Result<(TableColumn, &'static str, Option<&'static str>), Fault> {
        let filled = rows - self.gaps;
        let exclude = format!("exclude it with --exclude {name:?}");
        if filled == 0 {
            return Err(Fault::new(format!("column {name} is empty in every row"), exclude));
        }
        let is_same = self.values.len() == 1 && self.gaps == 0;
        let same = is_same.then_some("the same in every row");
        let name = name.to_owned();
        let missing = if self.gaps > 0 { MissingValue::Indicator } else { MissingValue::Mean };
        if self.numbers.count == filled {
            let (mean, deviation) = self.numbers.scale();
            let is_counted = self.values.len() as u64 > rows.min(VALUES_MAX as u64 - 1)
                || self.values.len() as u64 == rows && rows >= ROWS_FOR_NAMES;
            let is_whole = self.values.keys().all(|value| value.parse::<i64>().is_ok());
            let note = (is_counted && is_whole).then_some("nearly every row has its own: is it an id?");
            return Ok((TableColumn::Number { name, mean, deviation, missing }, "number", same.or(note)));
        }
        if self.dates.count == filled {
            let (mean, deviation) = self.dates.scale();
            return Ok((TableColumn::Date { name, mean, deviation, missing }, "date", same));
        }
        if let Some((line, text)) = self.first_text.as_ref().filter(|_| self.numbers.count * 2 > filled) {
            let texts = filled - self.numbers.count;
            let reason = format!(
                "column {name} has {} numbers and {texts} texts; the first text is {text:?} in line {line}",
                self.numbers.count
            );
            return Err(Fault::new(
                reason,
                format!("correct the texts, leave these fields empty, or {exclude}"),
            ));
        }
        let distinct = self.values.len();
        if distinct > VALUES_MAX {
            let reason = format!("column {name} has more than {VALUES_MAX} different texts");
            return Err(Fault::new(reason, exclude));
        }
        if rows >= ROWS_FOR_NAMES && distinct as u64 * 2 > filled {
            let reason = format!("column {name} has {distinct} different texts in {filled} rows");
            return Err(Fault::new(reason, exclude));
        }
        Ok((TableColumn::Category { name, values: self.values.keys().cloned().collect() }, "category", same))
    }
}
