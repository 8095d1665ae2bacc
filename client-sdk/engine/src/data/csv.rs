//! Comma-separated values: one example per line, with one label column.

use std::io::Read;

use csv::StringRecord;

use super::DataError;
use crate::examples::{Examples, Labels};

/// The maximum number of characters of an invalid field that an error message shows.
const SHOWN_CHARACTERS_MAX: usize = 40;

/// The column that contains the labels.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum LabelColumn {
    /// The last column.
    #[default]
    Last,
    /// The column with this name in the header.
    Named(String),
}

/// The meaning of the labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LabelKind {
    /// Class numbers, 0 or more.
    #[default]
    Class,
    /// A target value for regression.
    Target,
}

/// Options for reading a CSV file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvOptions {
    /// True if the first line is a header with column names.
    pub has_header: bool,
    /// The column that contains the labels.
    pub label_column: LabelColumn,
    /// The meaning of the labels in that column.
    pub label_kind: LabelKind,
    /// The maximum number of rows; reading a longer file fails.
    pub rows_max: usize,
}

impl Default for CsvOptions {
    /// Returns options for a file without a header, with class numbers in the last column and up to ten million rows.
    fn default() -> Self {
        Self {
            has_header: false,
            label_column: LabelColumn::Last,
            label_kind: LabelKind::Class,
            rows_max: 10_000_000,
        }
    }
}

/// Reads examples with one-dimensional features: all columns except the label column, in order.
///
/// # Errors
/// Returns a [`DataError`] that names the line and the column, if there is one.
pub fn read_csv(reader: impl Read, options: &CsvOptions) -> Result<Examples, DataError> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(options.has_header)
        .flexible(true)
        .trim(csv::Trim::All)
        // A line break after the last record keeps the reader's position on the line after each record.
        .from_reader(reader.chain(&b"\n"[..]));
    let label_column = named_column(&mut reader, options)?;
    let mut table = Table::new(label_column, options.label_kind);
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| DataError::Read(error.to_string()))? {
        if table.rows == options.rows_max {
            return Err(DataError::TooManyRows { limit: options.rows_max });
        }
        table.push(&record, reader.position().line() - 1)?;
    }
    table.into_examples()
}

/// Returns the index of the label column if the options give its name, and checks that the file has a header.
fn named_column<R: Read>(
    reader: &mut csv::Reader<R>,
    options: &CsvOptions,
) -> Result<Option<usize>, DataError> {
    let LabelColumn::Named(name) = &options.label_column else { return Ok(None) };
    if !options.has_header {
        return Err(DataError::NameWithoutHeader { name: name.clone() });
    }
    let header = reader.headers().map_err(|error| DataError::Read(error.to_string()))?;
    match header.iter().position(|column| column == name) {
        Some(position) => Ok(Some(position)),
        None => {
            let columns = header.iter().collect::<Vec<_>>().join(", ");
            Err(DataError::NoSuchColumn { name: name.clone(), columns })
        }
    }
}

/// The rows read so far.
struct Table {
    features: Vec<f32>,
    labels: Labels,
    rows: usize,
    /// The number of columns, set by the first row.
    columns: usize,
    label_column: Option<usize>,
}

impl Table {
    fn new(label_column: Option<usize>, kind: LabelKind) -> Self {
        let labels = match kind {
            LabelKind::Class => Labels::Classes(Vec::new()),
            LabelKind::Target => Labels::Targets(Vec::new(), 1),
        };
        Self { features: Vec::new(), labels, rows: 0, columns: 0, label_column }
    }

    fn push(&mut self, record: &StringRecord, line: u64) -> Result<(), DataError> {
        if self.rows == 0 {
            self.columns = record.len().max(2);
        }
        if record.len() != self.columns {
            return Err(DataError::ColumnCount { line, expected: self.columns, found: record.len() });
        }
        let label_column = self.label_column.unwrap_or(self.columns - 1);
        for (index, text) in record.iter().enumerate() {
            let at = Place { line, column: index + 1, text };
            if index == label_column { self.push_label(at)? } else { self.features.push(at.number()?) }
        }
        self.rows += 1;
        Ok(())
    }

    fn push_label(&mut self, at: Place<'_>) -> Result<(), DataError> {
        match &mut self.labels {
            Labels::Classes(classes) | Labels::Sequences(classes, _) => classes.push(at.class()?),
            Labels::Targets(targets, _) => targets.push(at.number()?),
        }
        Ok(())
    }

    fn into_examples(self) -> Result<Examples, DataError> {
        if self.rows == 0 {
            return Err(DataError::Empty);
        }
        Ok(Examples::new(self.features, vec![self.columns - 1], self.labels)?)
    }
}

/// A field and its position.
struct Place<'a> {
    line: u64,
    column: usize,
    text: &'a str,
}

impl Place<'_> {
    fn number(&self) -> Result<f32, DataError> {
        let number = self.text.parse::<f32>().map_err(|_| self.invalid("a number"))?;
        if number.is_finite() { Ok(number) } else { Err(self.invalid("a finite number")) }
    }

    /// Parses a class number. Tables often write class 3 as `3.0`.
    fn class(&self) -> Result<u32, DataError> {
        let digits = self.text.strip_suffix(".0").unwrap_or(self.text);
        digits.parse::<u32>().map_err(|_| self.invalid("a class number (a whole number, 0 or more)"))
    }

    fn invalid(&self, expected: &'static str) -> DataError {
        let text = self.text.chars().take(SHOWN_CHARACTERS_MAX).collect();
        DataError::InvalidField { line: self.line, column: self.column, text, expected }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str, options: &CsvOptions) -> String {
        read_csv(text.as_bytes(), options).unwrap_err().to_string()
    }

    #[test]
    fn the_last_column_is_the_label() {
        let examples = read_csv("1,2.5,3\n-4,5e1,0\n".as_bytes(), &CsvOptions::default()).unwrap();
        assert_eq!(examples.features(), [1.0, 2.5, -4.0, 50.0]);
        assert_eq!(examples.feature_shape(), [2]);
        assert_eq!(examples.labels(), &Labels::Classes(vec![3, 0]));
    }

    #[test]
    fn a_column_can_be_named() {
        let options = CsvOptions {
            has_header: true,
            label_column: LabelColumn::Named("price".into()),
            label_kind: LabelKind::Target,
            ..CsvOptions::default()
        };
        let examples = read_csv("rooms,price,area\n3, 1.5 ,70\n".as_bytes(), &options).unwrap();
        assert_eq!(examples.features(), [3.0, 70.0]);
        assert_eq!(examples.labels(), &Labels::Targets(vec![1.5], 1));
        assert_eq!(message("a,b\n1,2\n", &options), "there is no column named price; the columns are a, b");
        let options = CsvOptions { has_header: false, ..options };
        assert!(message("a,b\n1,2\n", &options).contains("needs a header"));
    }

    #[test]
    fn errors_name_line_and_column() {
        let options = CsvOptions::default();
        assert_eq!(message("1,2,3\n1,word,3\n", &options), "line 2, column 2: \"word\" is not a number");
        assert_eq!(
            message("1,2,3\n\n1,NaN,3\n", &options),
            "line 3, column 2: \"NaN\" is not a finite number"
        );
        assert_eq!(message("1,2,3\r\n\r\n\n1,b,3", &options), "line 4, column 2: \"b\" is not a number");
        assert_eq!(message("1,2,3\n1,2\n", &options), "line 2 has 2 columns, but 3 were expected");
        assert_eq!(message("7\n", &options), "line 1 has 1 columns, but 2 were expected");
        assert!(message("1,2,-3\n", &options).starts_with("line 1, column 3: \"-3\" is not a class number"));
        assert_eq!(message("", &options), "the file has no examples; choose a file with at least one");
        let options = CsvOptions { rows_max: 1, ..options };
        assert_eq!(message("1,2\n1,2\n", &options), "the file has more than 1 rows");
    }
}
