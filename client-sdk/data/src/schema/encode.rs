//! Reads a table by a schema.

use std::{collections::HashMap, path::Path};

use csv::StringRecord;
use folkmoot_engine::Labels;

use super::{MissingValue, TableColumn, TableLabel, TableSchema, field, sheet::Sheet};
use crate::{DataError, Dataset, Fault, Limits, content::Content, dataset::GroupsBuilder};

/// Reads the examples of a CSV file by `schema`, with their groups if `group_column` names a column.
pub(crate) fn read(
    path: &Path,
    schema: &TableSchema,
    group_column: Option<&str>,
    limits: &Limits,
) -> Result<Dataset, DataError> {
    let invalid = |fault: Fault| DataError::invalid(path, fault);
    schema.check().map_err(|fault| invalid(fault.into()))?;
    let sheet = Sheet::open(path, limits)?;
    let mut encoders = Vec::with_capacity(schema.columns.len());
    for column in &schema.columns {
        encoders.push(Encoder::new(column, &sheet).map_err(invalid)?);
    }
    let labels = schema.label.as_ref().map(|label| LabelReader::new(label, &sheet));
    let mut labels = labels.transpose().map_err(invalid)?;
    let group_position = group_column.map(|name| sheet.position(name));
    let group_position = group_position.transpose().map_err(invalid)?;
    let mut groups = GroupsBuilder::default();
    let (width, mut count) = (schema.feature_count() as u64, 0u64);
    let mut features = Vec::new();
    sheet.for_each(path, |line, record| {
        count += 1;
        limits.expect_room(path, count, count.saturating_mul(width))?;
        let at = |fault: Fault| invalid(Fault { reason: format!("line {line}, {}", fault.reason), ..fault });
        for encoder in &encoders {
            encoder.encode(record, &mut features).map_err(at)?;
        }
        if let Some(labels) = &mut labels {
            labels.push(record).map_err(at)?;
        }
        if let Some(position) = group_position {
            let group = Some(&record[position]).filter(|group| !group.is_empty()).ok_or_else(|| {
                let column = &sheet.header[position];
                at(Fault::new(format!("column {column}: the group is empty"), "give every example a group"))
            })?;
            let number = groups.number(group);
            groups.push(number);
        }
        Ok(())
    })?;
    let groups = group_position.map(|_| groups.finish());
    // Each example gets a placeholder as its label. The schema has no label only for losses that ignore labels.
    let none = || Labels::Targets(vec![0.0; usize::try_from(count).unwrap_or(usize::MAX)], 1);
    let labels = labels.map_or_else(none, LabelReader::finish);
    Content { features, shape: vec![schema.feature_count()], labels, groups }.into_dataset(path)
}

/// A column of the schema at its position in the file.
struct Encoder<'a> {
    column: &'a TableColumn,
    position: usize,
    delimiter: u8,
    /// The feature of each text of a category.
    values: HashMap<&'a str, usize>,
}

impl<'a> Encoder<'a> {
    fn new(column: &'a TableColumn, sheet: &Sheet) -> Result<Self, Fault> {
        let values = match column {
            TableColumn::Category { values, .. } => {
                values.iter().enumerate().map(|(index, value)| (value.as_str(), index)).collect()
            }
            _ => HashMap::new(),
        };
        let position = sheet.position(column.name())?;
        Ok(Self { column, position, delimiter: sheet.delimiter, values })
    }

    /// Appends the features of one field.
    fn encode(&self, record: &StringRecord, features: &mut Vec<f32>) -> Result<(), Fault> {
        let text = &record[self.position];
        match self.column {
            TableColumn::Number { name, mean, deviation, missing } => {
                let parse = |text: &str| field::number(text, self.delimiter);
                let value = value(text, name, "a number", *missing, *mean, parse)?;
                push_scaled(value, (*mean, *deviation), *missing, features);
            }
            TableColumn::Date { name, mean, deviation, missing } => {
                let value = value(text, name, "a date such as 2026-05-01", *missing, *mean, field::days)?;
                push_scaled(value, (*mean, *deviation), *missing, features);
            }
            TableColumn::Category { values, .. } => {
                let start = features.len();
                features.resize(start + values.len() + 1, 0.0);
                features[start + self.values.get(text).copied().unwrap_or(values.len())] = 1.0;
            }
        }
        Ok(())
    }
}

/// The value of a field, and whether the field is a gap.
struct Value {
    value: f64,
    is_gap: bool,
}

/// Parses a field, or fills in its gap.
fn value(
    text: &str,
    name: &str,
    kind: &str,
    missing: MissingValue,
    mean: f64,
    parse: impl Fn(&str) -> Option<f64>,
) -> Result<Value, Fault> {
    if let Some(value) = parse(text) {
        return Ok(Value { value, is_gap: false });
    }
    if !field::is_gap(text) {
        let reason = format!("column {name}: {text:?} is not {kind}");
        return Err(Fault::new(reason, "correct the field, or leave it empty"));
    }
    let value = match missing {
        MissingValue::Mean | MissingValue::Indicator => mean,
        MissingValue::Constant(value) => value,
        MissingValue::Refuse => {
            let remedy =
                "fill it in, or set the column's `missing` in the schema to \"mean\" or \"indicator\"";
            return Err(Fault::new(format!("column {name}: the field is empty"), remedy));
        }
    };
    Ok(Value { value, is_gap: true })
}

fn push_scaled(value: Value, (mean, deviation): (f64, f64), missing: MissingValue, features: &mut Vec<f32>) {
    features.push(((value.value - mean) / deviation) as f32);
    if missing == MissingValue::Indicator {
        features.push(f32::from(u8::from(value.is_gap)));
    }
}

/// The label's column at its position in the file, and the labels read so far.
struct LabelReader<'a> {
    label: &'a TableLabel,
    position: usize,
    delimiter: u8,
    numbers: HashMap<&'a str, u32>,
    classes: Vec<u32>,
    targets: Vec<f32>,
}

impl<'a> LabelReader<'a> {
    fn new(label: &'a TableLabel, sheet: &Sheet) -> Result<Self, Fault> {
        let numbers = match label {
            TableLabel::Class { classes, .. } => {
                (0u32..).zip(classes).map(|(number, class)| (class.as_str(), number)).collect()
            }
            TableLabel::Target { .. } => HashMap::new(),
        };
        let (position, delimiter) = (sheet.position(label.name())?, sheet.delimiter);
        Ok(Self { label, position, delimiter, numbers, classes: Vec::new(), targets: Vec::new() })
    }

    fn push(&mut self, record: &StringRecord) -> Result<(), Fault> {
        let text = &record[self.position];
        let wrong = |expected: &str| {
            let reason = format!("column {}: {text:?} is not {expected}", self.label.name());
            Fault::new(reason, "correct the label, or remove the line")
        };
        match self.label {
            TableLabel::Class { .. } => {
                let number = self.numbers.get(text).ok_or_else(|| wrong("one of the schema's classes"))?;
                self.classes.push(*number);
            }
            TableLabel::Target { .. } => {
                let target = field::number(text, self.delimiter).ok_or_else(|| wrong("a number"))?;
                self.targets.push(target as f32);
            }
        }
        Ok(())
    }

    fn finish(self) -> Labels {
        match self.label {
            TableLabel::Class { .. } => Labels::Classes(self.classes),
            TableLabel::Target { .. } => Labels::Targets(self.targets, 1),
        }
    }
}
