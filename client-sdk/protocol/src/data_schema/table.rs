//! Schemas of tables: rules that turn their columns into numbers.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{Fault, limits::TABLE_FEATURES_MAX};

/// The rules that turn the columns of a table into the features and the label of an example.
///
/// The order of `columns` is the order of the features. Columns of a file that the schema does not name are ignored.
/// Every client that uses the same schema encodes the same row as the same numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TableSchema {
    /// The columns that become features.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub columns: Vec<TableColumn>,
    /// The column that is predicted. Without it, examples have no labels, for the loss `model_output`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<TableLabel>,
}

/// A column that becomes one or more features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum TableColumn {
    /// A number x becomes (x − `mean`) / `deviation`.
    Number {
        /// The column's name in the header.
        name: String,
        /// The number that becomes 0.
        mean: f64,
        /// The scale, above 0.
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
        deviation: f64,
        /// The treatment of gaps.
        missing: MissingValue,
    },
    /// A date, or a date and time, such as `2026-05-01` or `2026-05-01 14:30`, becomes the number of days since
    /// 1970-01-01, which is scaled like a number.
    Date {
        /// The column's name in the header.
        name: String,
        /// The number of days that becomes 0.
        mean: f64,
        /// The scale in days, above 0.
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
        deviation: f64,
        /// The treatment of gaps.
        missing: MissingValue,
    },
    /// A text becomes one feature for each of `values`, and a last one for gaps and all other texts. One of these
    /// features is 1, the others are 0.
    Category {
        /// The column's name in the header.
        name: String,
        /// The texts, in the order of their features.
        #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
        values: Vec<String>,
    },
}

/// The treatment of gaps in a column of numbers or dates. A gap is an empty field, `NA`, `N/A`, `NaN`, `null`, `none`
/// or `?`, in upper or lower case.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum MissingValue {
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum TableLabel {
    /// A text that becomes the number of its class.
    Class {
        /// The column's name in the header.
        name: String,
        /// The texts of class 0, 1, 2 and so on.
        #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
        classes: Vec<String>,
    },
    /// A number, as it is.
    Target {
        /// The column's name in the header.
        name: String,
    },
}

impl TableColumn {
    /// Returns the column's name in the header.
    pub fn name(&self) -> &str {
        let (Self::Number { name, .. } | Self::Date { name, .. } | Self::Category { name, .. }) = self;
        name
    }

    /// Returns the number of features that the column becomes.
    pub fn feature_count(&self) -> usize {
        match self {
            Self::Number { missing, .. } | Self::Date { missing, .. } => {
                1 + usize::from(*missing == MissingValue::Indicator)
            }
            Self::Category { values, .. } => values.len() + 1,
        }
    }

    fn check(&self) -> Result<(), String> {
        match self {
            Self::Number { mean, deviation, missing, .. } | Self::Date { mean, deviation, missing, .. } => {
                let constant = if let MissingValue::Constant(value) = missing { *value } else { 0.0 };
                if !mean.is_finite() || !constant.is_finite() || !deviation.is_finite() || *deviation <= 0.0 {
                    return Err("mean and constant must be finite, and deviation must be above 0".into());
                }
                Ok(())
            }
            Self::Category { values, .. } => expect_different(values, "values"),
        }
    }
}

impl TableLabel {
    /// Returns the column's name in the header.
    pub fn name(&self) -> &str {
        let (Self::Class { name, .. } | Self::Target { name }) = self;
        name
    }
}

impl TableSchema {
    /// Returns the number of features of an example.
    pub fn feature_count(&self) -> usize {
        self.columns.iter().map(TableColumn::feature_count).fold(0, usize::saturating_add)
    }

    /// Checks the schema for contradictions.
    ///
    /// # Errors
    /// A [`Fault`] whose field is a path in the schema, and whose message names the column.
    pub fn check(&self) -> Result<(), Fault> {
        if self.columns.is_empty() {
            return Err(Fault::new("columns", "has no columns", "name at least one column"));
        }
        let mut names: BTreeSet<&str> = self.label.iter().map(TableLabel::name).collect();
        for (index, column) in self.columns.iter().enumerate() {
            let (name, field) = (column.name(), format!("columns[{index}]"));
            if !names.insert(name) {
                return Err(Fault::new(&field, format!("names column {name} twice"), "remove one of them"));
            }
            column.check().map_err(|reason| {
                Fault::new(&field, format!("column {name}: {reason}"), "correct the column")
            })?;
        }
        if let Some(TableLabel::Class { name, classes }) = &self.label {
            expect_different(classes, "classes").map_err(|reason| {
                Fault::new("label", format!("label {name}: {reason}"), "correct the label")
            })?;
        }
        let features = self.feature_count();
        if features > TABLE_FEATURES_MAX {
            let message =
                format!("its columns become {features} features, and the limit is {TABLE_FEATURES_MAX}");
            return Err(Fault::new("columns", message, "remove columns or values"));
        }
        Ok(())
    }
}

pub(super) fn expect_different(texts: &[String], what: &str) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    match texts.iter().find(|text| !seen.insert(text.as_str())) {
        Some(text) => Err(format!("{what} has {text:?} twice")),
        None if texts.is_empty() => Err(format!("{what} is empty")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(values: Vec<String>) -> TableSchema {
        TableSchema {
            columns: vec![TableColumn::Category { name: "ward".into(), values }],
            label: Some(TableLabel::Target { name: "days".into() }),
        }
    }

    #[test]
    fn a_fault_names_its_place_and_its_column() {
        let fault = schema(vec!["a".into(), "a".into()]).check().unwrap_err();
        assert_eq!(fault.to_string(), "columns[0]: column ward: values has \"a\" twice; correct the column");
        let twice = TableSchema {
            label: Some(TableLabel::Target { name: "ward".into() }),
            ..schema(vec!["a".into()])
        };
        assert_eq!(twice.check().unwrap_err().message, "names column ward twice");
    }
}
