//! Schemas: rules that turn a client's own data into numbers, in the same way on every client.

mod images;
mod table;

use serde::{Deserialize, Serialize};

pub use images::{ImageFit, ImageSchema};
pub use table::{MissingValue, TableColumn, TableLabel, TableSchema};

use crate::{Fault, limits::DATA_SCHEMA_BYTES_MAX};

/// The rules by which a client turns its own data into the features and labels of examples.
///
/// As JSON, a schema of a table has `columns` and mostly a `label`, and a schema of images has `images`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(!try_from))]
#[serde(untagged, try_from = "Parts")]
pub enum DataSchema {
    /// The columns of a table.
    Table(TableSchema),
    /// Images in folders.
    Images {
        /// The size and the scale of images, and their classes.
        images: ImageSchema,
    },
}

/// The fields of all kinds of schemas. Reading them separately lets an error name the field.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    columns: Option<Vec<TableColumn>>,
    label: Option<TableLabel>,
    images: Option<ImageSchema>,
}

impl TryFrom<Parts> for DataSchema {
    type Error = &'static str;

    fn try_from(parts: Parts) -> Result<Self, Self::Error> {
        match (parts.columns, parts.label, parts.images) {
            (Some(columns), label, None) => Ok(Self::Table(TableSchema { columns, label })),
            (None, None, Some(images)) => Ok(Self::Images { images }),
            (_, _, Some(_)) => Err("has `images` and `columns` or `label`; a schema has one kind of data"),
            (None, Some(_), None) => Err("missing field `columns`"),
            (None, None, None) => Err("has neither `columns`, for tables, nor `images`"),
        }
    }
}

impl From<TableSchema> for DataSchema {
    fn from(schema: TableSchema) -> Self {
        Self::Table(schema)
    }
}

impl From<ImageSchema> for DataSchema {
    fn from(images: ImageSchema) -> Self {
        Self::Images { images }
    }
}

impl DataSchema {
    /// Returns the shape of an example's features: `[features]` for a table, `[channels, height, width]` for images.
    pub fn feature_shape(&self) -> Vec<usize> {
        match self {
            Self::Table(schema) => vec![schema.feature_count()],
            Self::Images { images } => images.feature_shape().to_vec(),
        }
    }

    /// Returns the names of the classes in the order of their numbers. `None` if the label is a number to predict,
    /// or there is none.
    pub fn classes(&self) -> Option<&[String]> {
        match self {
            Self::Table(TableSchema { label: Some(TableLabel::Class { classes, .. }), .. }) => Some(classes),
            Self::Table(_) => None,
            Self::Images { images } => Some(&images.classes),
        }
    }

    /// Returns whether examples have labels.
    pub fn has_labels(&self) -> bool {
        !matches!(self, Self::Table(TableSchema { label: None, .. }))
    }

    /// Checks the schema for contradictions.
    ///
    /// # Errors
    /// A [`Fault`] whose field is a path in the schema.
    pub fn check(&self) -> Result<(), Fault> {
        match self {
            Self::Table(schema) => schema.check(),
            Self::Images { images } => images.check(),
        }
    }

    /// Checks the schema for contradictions, and that it is short enough for a plan.
    ///
    /// # Errors
    /// As [`DataSchema::check`], and a [`Fault`] if the schema has more than [`DATA_SCHEMA_BYTES_MAX`] bytes as JSON.
    pub fn check_for_plan(&self) -> Result<(), Fault> {
        self.check()?;
        let bytes = serde_json::to_vec(self).map_or(usize::MAX, |json| json.len());
        if bytes > DATA_SCHEMA_BYTES_MAX {
            let (field, remedy) = match self {
                Self::Table(_) => ("columns", "remove columns, or the rarest texts of a category"),
                Self::Images { .. } => ("images.classes", "shorten the names of the classes"),
            };
            let message = format!("has {bytes} bytes as JSON; a plan allows {DATA_SCHEMA_BYTES_MAX}");
            return Err(Fault::new(field, message, remedy));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_fields_decide_the_kind() {
        let table = json!({ "columns": [{ "kind": "category", "name": "a", "values": ["b"] }],
            "label": { "kind": "target", "name": "c" } });
        let images = json!({ "images": { "width": 8, "height": 4, "classes": ["cat", "dog"] } });
        for json in [table.clone(), images.clone()] {
            let schema: DataSchema = serde_json::from_value(json.clone()).unwrap();
            assert_eq!(schema.check(), Ok(()));
            assert_eq!(
                serde_json::from_value::<DataSchema>(serde_json::to_value(&schema).unwrap()).unwrap(),
                schema
            );
            assert_eq!(schema.feature_shape(), if json == table { vec![2] } else { vec![3, 4, 8] });
        }
        let refused = |json| serde_json::from_value::<DataSchema>(json).unwrap_err().to_string();
        let mut both = table.clone();
        both["images"] = images["images"].clone();
        assert!(refused(both).contains("one kind of data"));
        assert!(refused(json!({ "label": table["label"] })).contains("missing field `columns`"));
        let without: DataSchema = serde_json::from_value(json!({ "columns": table["columns"] })).unwrap();
        assert_eq!((without.has_labels(), without.classes(), without.check()), (false, None, Ok(())));
        assert!(refused(json!({})).contains("neither"));
        assert!(refused(json!({ "colums": [] })).contains("unknown field `colums`"));
    }

    #[test]
    fn a_plan_allows_fewer_texts_than_a_file() {
        let values = (0..20_000).map(|number| format!("a long text {number}")).collect();
        let long = DataSchema::from(TableSchema {
            columns: vec![TableColumn::Category { name: "ward".into(), values }],
            label: Some(TableLabel::Target { name: "days".into() }),
        });
        assert_eq!(long.check(), Ok(()));
        let fault = long.check_for_plan().unwrap_err();
        assert!(fault.message.contains("a plan allows 49152"), "{fault}");
    }
}
