//! The data schema of a trained model, in the file's metadata.

use folkmoot_protocol::{DataSchema, ImageSchema, TableSchema};

use super::{
    ImportError,
    weights::entry,
    wire::{Encoding, Field, fields},
};

/// The entry of `metadata_props` with the schema of tables as JSON. It says how the model's inputs are computed from a
/// table, and the meaning of its outputs.
pub const TABLE_SCHEMA_KEY: &str = "folkmoot.table_schema";

/// The entry of `metadata_props` with the schema of images as JSON.
pub const IMAGE_SCHEMA_KEY: &str = "folkmoot.image_schema";

/// The number of the field of a model that holds one entry of its metadata.
const MODEL_METADATA: u64 = 14;
/// The first byte of such a field: its number, and the wire type of a length.
const ENTRY_TAG: u8 = (MODEL_METADATA as u8) << 3 | 2;
/// The first bytes of the fields of an entry.
const KEY_TAG: u8 = 1 << 3 | 2;
const VALUE_TAG: u8 = 2 << 3 | 2;

/// The maximum size of a schema in a file, in bytes.
const SCHEMA_BYTES_MAX: usize = 16 << 20;

/// Reads the data schema from the metadata of an ONNX file. `None` if the file has none.
///
/// # Errors
/// [`ImportError::File`] for malformed bytes, and [`ImportError::Metadata`] if the entry is not a schema, contradicts
/// itself, or has more than 16 MiB.
pub fn read_data_schema(onnx: &[u8]) -> Result<Option<DataSchema>, ImportError> {
    for field in fields(onnx, 0..onnx.len()) {
        let field = field?;
        let Some((kind, json)) = schema_in(onnx, &field)? else { continue };
        let refused = |reason: String| kind.refused(reason);
        if json.len() > SCHEMA_BYTES_MAX {
            return Err(refused(format!("has more than {SCHEMA_BYTES_MAX} bytes, which is the limit")));
        }
        let schema = match kind {
            Kind::Table => serde_json::from_slice::<TableSchema>(json).map(DataSchema::from),
            Kind::Images => serde_json::from_slice::<ImageSchema>(json).map(DataSchema::from),
        };
        let schema =
            schema.map_err(|error| refused(format!("is not a schema of {}: {error}", kind.data())))?;
        schema.check().map_err(|fault| refused(format!("is not valid: {fault}")))?;
        return Ok(Some(schema));
    }
    Ok(None)
}

/// Returns a copy of an ONNX file whose metadata has this data schema in place of any other. All other bytes are kept.
///
/// # Errors
/// [`ImportError::File`] for malformed bytes.
pub fn write_data_schema(onnx: &[u8], schema: &DataSchema) -> Result<Vec<u8>, ImportError> {
    let (kind, json) = match schema {
        DataSchema::Table(table) => (Kind::Table, serde_json::to_vec(table)),
        DataSchema::Images { images } => (Kind::Images, serde_json::to_vec(images)),
    };
    let json = json.map_err(|error| kind.refused(format!("cannot be written as JSON: {error}")))?;
    let mut copy = Vec::with_capacity(onnx.len() + json.len() + 64);
    let mut start = 0;
    for field in fields(onnx, 0..onnx.len()) {
        let field = field?;
        let is_replaced = schema_in(onnx, &field)?.is_some();
        if !is_replaced {
            copy.extend(&onnx[start..field.content.end]);
        }
        start = field.content.end;
    }
    let mut entry = Vec::with_capacity(json.len() + 64);
    push_field(&mut entry, KEY_TAG, kind.key().as_bytes());
    push_field(&mut entry, VALUE_TAG, &json);
    push_field(&mut copy, ENTRY_TAG, &entry);
    Ok(copy)
}

/// The kind of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Table,
    Images,
}

impl Kind {
    fn key(self) -> &'static str {
        match self {
            Self::Table => TABLE_SCHEMA_KEY,
            Self::Images => IMAGE_SCHEMA_KEY,
        }
    }

    fn data(self) -> &'static str {
        match self {
            Self::Table => "tables",
            Self::Images => "images",
        }
    }

    fn refused(self, reason: String) -> ImportError {
        let entry = self.key().trim_start_matches("folkmoot.").into();
        ImportError::Metadata { entry, reason }
    }
}

/// Returns the kind and the text of the schema if this field of a model is a metadata entry with a schema.
fn schema_in<'a>(onnx: &'a [u8], field: &Field) -> Result<Option<(Kind, &'a [u8])>, ImportError> {
    if field.number != MODEL_METADATA || field.encoding != Encoding::Length {
        return Ok(None);
    }
    let (key, value) = entry(onnx, field.content.clone())?;
    let kind = [Kind::Table, Kind::Images].into_iter().find(|kind| kind.key().as_bytes() == key);
    Ok(kind.map(|kind| (kind, value)))
}

/// Appends a tag of one byte, the length and the content.
fn push_field(bytes: &mut Vec<u8>, tag: u8, content: &[u8]) {
    bytes.push(tag);
    let mut length = content.len();
    while length >= 0x80 {
        bytes.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes.extend(content);
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::{ImageFit, TableColumn, TableLabel};

    use super::*;
    use crate::{ImportLimits, ModelFile, build::mlp};

    fn schema(texts: usize) -> DataSchema {
        DataSchema::Table(table(texts))
    }

    fn table(texts: usize) -> TableSchema {
        TableSchema {
            columns: vec![TableColumn::Category {
                name: "ward".into(),
                values: (0..texts).map(|number| format!("ward {number}")).collect(),
            }],
            label: Some(TableLabel::Target { name: "days".into() }),
        }
    }

    #[test]
    fn a_schema_is_read_back_and_replaced() {
        let onnx = mlp(&[3, 2], 1);
        assert_eq!(read_data_schema(&onnx).unwrap(), None);
        let first = write_data_schema(&onnx, &schema(2)).unwrap();
        assert_eq!(read_data_schema(&first).unwrap(), Some(schema(2)));
        let second = write_data_schema(&first, &schema(500)).unwrap();
        assert_eq!(read_data_schema(&second).unwrap(), Some(schema(500)));
        assert_eq!(second[..onnx.len()], onnx);
        assert_eq!(write_data_schema(&second, &schema(2)).unwrap(), first);
        let classes = vec!["cat".into(), "dog".into()];
        let images = ImageSchema {
            width: 8,
            height: 4,
            grey: true,
            fit: ImageFit::Pad,
            mean: vec![0.5],
            deviation: Vec::new(),
            classes,
        };
        let third = write_data_schema(&second, &images.clone().into()).unwrap();
        assert_eq!(read_data_schema(&third).unwrap(), Some(images.into()));
        assert_eq!(write_data_schema(&third, &schema(2)).unwrap(), first);
    }

    #[test]
    fn a_model_with_a_schema_is_the_same_model() {
        let onnx = mlp(&[3, 2], 1);
        let read = |bytes: &[u8]| ModelFile::read(bytes, &ImportLimits::default()).unwrap();
        let with_schema = read(&write_data_schema(&onnx, &schema(500)).unwrap());
        assert_eq!(with_schema.parameters(), read(&onnx).parameters());
        assert_eq!(with_schema.initial_weights(), read(&onnx).initial_weights());
    }

    #[test]
    fn a_wrong_entry_is_refused_with_its_name() {
        let mut twice = table(1);
        twice.columns.push(twice.columns[0].clone());
        let onnx = write_data_schema(&mlp(&[3, 2], 1), &twice.into()).unwrap();
        let error = read_data_schema(&onnx).unwrap_err().to_string();
        assert!(error.starts_with("the metadata entry folkmoot.table_schema is not valid: "), "{error}");
        assert!(read_data_schema(&onnx[..onnx.len() - 1]).is_err());
    }
}
