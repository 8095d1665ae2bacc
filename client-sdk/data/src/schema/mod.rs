//! Schemas: rules that turn the columns of a table into numbers, in the same way on every client.

mod encode;
mod field;
mod infer;
mod sheet;
#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, path::Path};

pub(crate) use encode::read;
pub use infer::{ColumnSummary, InferOptions, Inferred, infer};
use serde::{Deserialize, Serialize};

use crate::{DataError, Fault, Limits, file};

/// The maximum size of a schema file, in bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// The maximum number of features that the columns of a schema become.
const FEATURES_MAX: usize = 1 << 20;

/// A rule that turns the columns of a table into the features and the label of an example.
///
/// The order of `columns` is the order of the features. Columns of a file that the schema does not name are ignored.
/// Every client that uses the same schema encodes the same row as the same numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schema {
    /// The columns that become features.
    pub columns: Vec<Column>,
    /// The column that is predicted.
    pub label: Label,
}

/// A column that becomes one or more features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Column {
    /// A number x becomes (x − `mean`) / `deviation`.
    Number {
        /// The column's name in the header.
        name: String,
        /// The number that becomes 0.
        mean: f64,
        /// The scale, above 0.
        deviation: f64,
        /// The treatment of gaps.
        missing: Missing,
    },
    /// A date, or a date and time, such as `2026-05-01` or `2026-05-01 14:30`, becomes the number of days since
    /// 1970-01-01, which is scaled like a number.
    Date {
        /// The column's name in the header.
        name: String,
        /// The number of days that becomes 0.
        mean: f64,
        /// The scale in days, above 0.
        deviation: f64,
        /// The treatment of gaps.
        missing: Missing,
    },
    /// A text becomes one feature for each of `values`, and a last one for gaps and all other texts. One of these
    /// features is 1, the others are 0.
    Category {
        /// The column's name in the header.
        name: String,
        /// The texts, in the order of their features.
        values: Vec<String>,
    },
}

/// The treatment of gaps in a column of numbers or dates. A gap is an empty field, `NA`, `N/A`, `NaN`, `null`, `none`
/// or `?`, in upper or lower case.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// Reading fails.
    Refuse,
    /// The column's mean.
    Mean,
    /// The column's mean, and a second feature that is 1 for gaps and 0 for all other fields.
    Indicator,
    /// This value of the column.
    Constant(f64),
}

/// The column that is predicted. Gaps in it are refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Label {
    /// A text that becomes the number of its class.
    Class {
        /// The column's name in the header.
        name: String,
        /// The texts of class 0, 1, 2 and so on.
        classes: Vec<String>,
    },
    /// A number, as it is.
    Target {
        /// The column's name in the header.
        name: String,
    },
}

impl Column {
    /// Returns the column's name in the header.
    pub fn name(&self) -> &str {
        let (Self::Number { name, .. } | Self::Date { name, .. } | Self::Category { name, .. }) = self;
        name
    }

    /// Returns the number of features that the column becomes.
    pub fn feature_count(&self) -> usize {
        match self {
            Self::Number { missing, .. } | Self::Date { missing, .. } => {
                1 + usize::from(*missing == Missing::Indicator)
            }
            Self::Category { values, .. } => values.len() + 1,
        }
    }

    fn check(&self) -> Result<(), String> {
        match self {
            Self::Number { mean, deviation, missing, .. } | Self::Date { mean, deviation, missing, .. } => {
                let constant = if let Missing::Constant(value) = missing { *value } else { 0.0 };
                if !mean.is_finite() || !constant.is_finite() || !deviation.is_finite() || *deviation <= 0.0 {
                    return Err("mean and constant must be finite, and deviation must be above 0".into());
                }
                Ok(())
            }
            Self::Category { values, .. } => expect_different(values, "values"),
        }
    }
}

impl Label {
    /// Returns the column's name in the header.
    pub fn name(&self) -> &str {
        let (Self::Class { name, .. } | Self::Target { name }) = self;
        name
    }
}

impl Schema {
    /// Reads a schema from a JSON file.
    ///
    /// # Errors
    /// [`DataError`] if the file cannot be read, is not a schema, or contradicts itself.
    pub fn read(path: &Path) -> Result<Self, DataError> {
        let limits = Limits { file_bytes_max: FILE_BYTES_MAX, ..Limits::default() };
        let content = file::bytes(path, &limits)?;
        let schema: Self = serde_json::from_slice(&content).map_err(|error| {
            let remedy = "make one with `folkmoot data schema`, or correct it";
            DataError::invalid(path, Fault::new(format!("is not a schema: {error}"), remedy))
        })?;
        schema.check().map_err(|fault| DataError::invalid(path, fault))?;
        Ok(schema)
    }

    /// Returns the number of features of an example.
    pub fn feature_count(&self) -> usize {
        self.columns.iter().map(Column::feature_count).fold(0, usize::saturating_add)
    }

    /// Checks the schema for contradictions.
    ///
    /// # Errors
    /// A [`Fault`] that names the column.
    pub fn check(&self) -> Result<(), Fault> {
        if self.columns.is_empty() {
            return Err(Fault::new("has no columns", "name at least one column"));
        }
        let mut names = BTreeSet::from([self.label.name()]);
        for column in &self.columns {
            let name = column.name();
            if !names.insert(name) {
                return Err(Fault::new(format!("names column {name} twice"), "remove one of them"));
            }
            column
                .check()
                .map_err(|reason| Fault::new(format!("column {name}: {reason}"), "correct the column"))?;
        }
        if let Label::Class { name, classes } = &self.label {
            expect_different(classes, "classes")
                .map_err(|reason| Fault::new(format!("label {name}: {reason}"), "correct the label"))?;
        }
        let features = self.feature_count();
        if features > FEATURES_MAX {
            let reason = format!("its columns become {features} features, and the limit is {FEATURES_MAX}");
            return Err(Fault::new(reason, "remove columns or values"));
        }
        Ok(())
    }
}

fn expect_different(texts: &[String], what: &str) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    match texts.iter().find(|text| !seen.insert(text.as_str())) {
        Some(text) => Err(format!("{what} has {text:?} twice")),
        None if texts.is_empty() => Err(format!("{what} is empty")),
        None => Ok(()),
    }
}
