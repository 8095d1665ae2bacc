//! Comma-separated values: uses the engine's reader, and adds support for a group column.

use std::path::Path;

use ::csv::{ReaderBuilder, StringRecord, WriterBuilder};
use folkmoot_engine::data::{CsvOptions, DataError as EngineError, LabelColumn, read_csv};

use crate::{DataError, Dataset, Fault, Groups, LabelKind, ReadOptions, dataset::GroupsBuilder, file};

/// Reads a CSV file. The first line is a header if none of its fields is a number, or if an option names a column.
pub(crate) fn read(path: &Path, options: &ReadOptions) -> Result<Dataset, DataError> {
    let content = file::bytes(path, &options.limits)?;
    let commas = content.iter().filter(|byte| **byte == b',').count() as u64;
    // A line has one more column than commas, and one column is the label. So a line has at most as many features as
    // commas.
    options.limits.expect_room(path, 0, commas)?;
    let names_column = options.label_column.is_some() || options.group_column.is_some();
    let csv_options = CsvOptions {
        has_header: names_column || has_header(&content),
        label_column: options.label_column.clone().map_or(LabelColumn::Last, LabelColumn::Named),
        label_kind: options.label_kind,
        rows_max: usize::try_from(options.limits.examples_max).unwrap_or(usize::MAX),
    };
    let Some(group_column) = &options.group_column else {
        let examples = read_csv(content.as_slice(), &csv_options);
        let examples = examples.map_err(|error| refused(path, error, options, None))?;
        return Ok(Dataset { examples, groups: None });
    };
    let table = without_column(&content, group_column).map_err(|fault| DataError::invalid(path, fault))?;
    let examples = read_csv(table.text.as_slice(), &csv_options);
    let examples = examples.map_err(|error| refused(path, error, options, Some(&table)))?;
    Ok(Dataset { examples, groups: Some(table.groups) })
}

/// Returns whether the first line is a header: none of its fields is a number.
fn has_header(content: &[u8]) -> bool {
    let first = content.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let first = String::from_utf8_lossy(first);
    let mut fields = first.split(',').map(|field| field.trim().trim_matches('"'));
    fields.all(|field| field.parse::<f64>().is_err())
}

/// A table without its group column.
struct Table {
    text: Vec<u8>,
    groups: Groups,
    /// The index of the removed column, from 0.
    position: usize,
    /// For each line of `text`, the original line on which its record ended.
    lines: Vec<u64>,
}

/// Removes the column with this name from the table.
fn without_column(content: &[u8], name: &str) -> Result<Table, Fault> {
    let unreadable = |error: ::csv::Error| Fault::new(error.to_string(), "correct the line");
    // A line break after the last record keeps the reader's position on the line after each record.
    let content = [content, b"\n"].concat();
    let mut reader = ReaderBuilder::new().flexible(true).trim(::csv::Trim::All).from_reader(&content[..]);
    let header = reader.headers().map_err(unreadable)?.clone();
    let position = header.iter().position(|column| column == name).ok_or_else(|| {
        let columns = header.iter().collect::<Vec<_>>().join(", ");
        Fault::new(format!("there is no column named {name}"), format!("the columns are {columns}"))
    })?;
    // Replace line breaks inside a field, because they would shift the numbers of all later lines.
    let rest = |record: &StringRecord| {
        let fields = record.iter().enumerate().filter(|(index, _)| *index != position);
        fields.map(|(_, field)| field.replace(['\n', '\r'], " ")).collect::<StringRecord>()
    };
    let mut writer = WriterBuilder::new().flexible(true).from_writer(Vec::new());
    writer.write_record(&rest(&header)).map_err(unreadable)?;
    let mut lines = vec![reader.position().line() - 1];
    let mut groups = GroupsBuilder::default();
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(unreadable)? {
        let line = reader.position().line() - 1;
        let group = record.get(position).filter(|group| !group.is_empty()).ok_or_else(|| {
            Fault::new(
                format!("line {line}, column {name}: the group is empty"),
                "give every example a group",
            )
        })?;
        let number = groups.number(group);
        groups.push(number);
        writer.write_record(&rest(&record)).map_err(unreadable)?;
        lines.push(line);
    }
    let text = writer.into_inner().map_err(|error| Fault::damaged(error.to_string()))?;
    Ok(Table { text, groups: groups.finish(), position, lines })
}

/// Adds a remedy to an error of the engine's reader, and corrects its position for the removed column.
fn refused(path: &Path, error: EngineError, options: &ReadOptions, table: Option<&Table>) -> DataError {
    // The engine counts columns and lines from 1; `position` is counted from 0.
    let original = |column: usize| column + usize::from(table.is_some_and(|table| column > table.position));
    let all = |columns: usize| columns + usize::from(table.is_some());
    let line_of = |line: u64| {
        let index = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
        table.and_then(|table| table.lines.get(index)).copied().unwrap_or(line)
    };
    let (error, remedy) = match error {
        EngineError::TooManyRows { limit } => {
            let limit = limit as u64;
            let (what, found, setting) = ("examples", limit.saturating_add(1), "examples_max");
            return DataError::OverLimit { path: path.to_owned(), what, found, limit, setting };
        }
        EngineError::InvalidField { line, column, text, expected } => {
            let (line, column) = (line_of(line), original(column));
            (
                EngineError::InvalidField { line, column, text, expected },
                "correct the field, or remove the column",
            )
        }
        EngineError::ColumnCount { line, expected, found } => {
            let (line, expected, found) = (line_of(line), all(expected), all(found));
            (
                EngineError::ColumnCount { line, expected, found },
                "give every line the same columns: features, and a label",
            )
        }
        EngineError::NoSuchColumn { .. } => (error, "name one of them with --label-column"),
        EngineError::Empty => (error, "choose a file with at least one example"),
        other => (other, "correct the file"),
    };
    let remedy = match (&error, options.label_kind) {
        (EngineError::InvalidField { expected, .. }, LabelKind::Class)
            if expected.starts_with("a class number") =>
        {
            "number the classes from 0, or read the labels as --targets"
        }
        _ => remedy,
    };
    DataError::invalid(path, Fault::new(error.to_string(), remedy))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use folkmoot_engine::Labels;

    use super::*;
    use crate::Limits;

    fn read_text(text: &str, options: &ReadOptions) -> Result<Dataset, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        fs::write(&path, text).unwrap();
        crate::read(&path, options).map_err(|error| error.to_string())
    }

    fn grouped(label: Option<&str>) -> ReadOptions {
        ReadOptions {
            group_column: Some("who".into()),
            label_column: label.map(str::to_owned),
            ..ReadOptions::default()
        }
    }

    #[test]
    fn a_header_is_recognised() {
        let plain = ReadOptions::default();
        let without = read_text("1,2,0\n3,4,1\n", &plain).unwrap();
        assert_eq!(without, read_text("a,b,label\n1,2,0\n3,4,1\n", &plain).unwrap());
        assert_eq!(without.examples.features(), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(without.groups, None);
    }

    #[test]
    fn a_group_column_is_no_feature() {
        let text = "who,a,label,b\nann,1,0,2\n\"bo, the 2nd\",3,1,4\nann,5,2,6\n";
        let dataset = read_text(text, &grouped(Some("label"))).unwrap();
        assert_eq!(dataset.examples.features(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(dataset.examples.labels(), &Labels::Classes(vec![0, 1, 2]));
        let groups = dataset.groups.unwrap();
        assert_eq!(groups.of, [0, 1, 0]);
        assert_eq!(groups.names, ["ann", "bo, the 2nd"]);
        // The label is the last of the other columns.
        let dataset = read_text("a,label,who\n1,2,x\n", &grouped(None)).unwrap();
        assert_eq!(dataset.examples.labels(), &Labels::Classes(vec![2]));
    }

    #[test]
    fn errors_name_line_and_column_of_the_file_itself() {
        let message = |text: &str| read_text(text, &grouped(None)).unwrap_err();
        // The invalid field is in column 3, after the group in column 1.
        let text = "who,a,b,label\n\n\"two\nlines\",1,2,0\nx,1,word,0\n";
        assert!(
            message(text).contains("a.csv: line 5, column 3: \"word\" is not a number; correct"),
            "{text}"
        );
        let text = "a,who,label\nword,x,0\n";
        assert!(message(text).contains("line 2, column 1"));
        let text = "a,b,who,label\n1,2,x,0\n1,x\n";
        assert!(message(text).contains("line 3"), "{}", message(text));
        let text = "who,a,label\nx,1,2\nx,1\n";
        assert!(message(text).contains("line 3 has 2 columns, but 3 were expected"), "{}", message(text));
        assert!(message("who,a,label\n,1,2\n").contains("line 2, column who: the group is empty"));
        assert!(message("a,label\n1,2\n").contains("no column named who; the columns are a, label"));
    }

    #[test]
    fn a_label_that_is_no_class_says_what_to_do() {
        let message = read_text("1,0.5\n", &ReadOptions::default()).unwrap_err();
        assert!(message.contains("line 1, column 2") && message.contains("--targets"), "{message}");
        let targets = ReadOptions { label_kind: LabelKind::Target, ..ReadOptions::default() };
        let dataset = read_text("1,0.5\n", &targets).unwrap();
        assert_eq!(dataset.examples.labels(), &Labels::Targets(vec![0.5], 1));
    }

    #[test]
    fn limits_hold() {
        let limits = Limits { examples_max: 1, ..Limits::default() };
        let message = read_text("1,2\n1,2\n", &ReadOptions { limits, ..ReadOptions::default() }).unwrap_err();
        assert!(message.contains("examples") && message.contains("examples_max"), "{message}");
        let limits = Limits { values_max: 3, ..Limits::default() };
        let message =
            read_text("1,2,3,4,5\n", &ReadOptions { limits, ..ReadOptions::default() }).unwrap_err();
        assert!(message.contains("values_max"), "{message}");
    }
}
