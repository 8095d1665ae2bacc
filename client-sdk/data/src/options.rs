//! Options for reading.

use std::path::{Path, PathBuf};

use folkmoot_engine::data::LabelKind;
use folkmoot_protocol::DataSchema;

use crate::{DataError, Fault, Format, Limits, guess};

/// Options for reading a file or a folder. Reading fails if the format does not support an option that is set.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadOptions {
    /// The format of the path. By default it is guessed from its name, or from the names in the folder.
    pub format: Option<Format>,
    /// NPY: the file of labels. IDX: the file of labels, if its name does not follow from the name of the images.
    pub labels: Option<PathBuf>,
    /// CSV and Parquet: the label column, by default the last one. NPZ: the member with the labels. CIFAR-100: `fine`
    /// (the default) or `coarse`.
    pub label_column: Option<String>,
    /// CSV and Parquet: the column with the group of each example. It is not a feature.
    pub group_column: Option<String>,
    /// CSV and images: the rules by which columns or images become features, and the label. By default, all columns are
    /// numbers, and all images have the same size.
    pub schema: Option<DataSchema>,
    /// The kind of labels: class numbers, or target values for regression. For NPY and NPZ the element type decides;
    /// [`LabelKind::Target`] turns integers into targets too.
    pub label_kind: LabelKind,
    /// IDX: swaps rows and columns of every image, because EMNIST stores images transposed.
    pub transposed: bool,
    /// The limits on the size of the data.
    pub limits: Limits,
}

impl ReadOptions {
    /// Sets the schema of a task or of a model for a table or for images, unless the options have one already. Files of
    /// all other formats contain numbers, and are read without a schema.
    ///
    /// # Errors
    /// [`DataError`] if the format is not set and cannot be guessed from the path.
    pub fn or_schema(mut self, schema: Option<&DataSchema>, path: &Path) -> Result<Self, DataError> {
        if self.schema.is_none() && self.format_of(path)?.has_schema() {
            self.schema = schema.cloned();
        }
        Ok(self)
    }

    /// Returns the format of a path: the format in the options, or else the format that follows from the path's name.
    ///
    /// # Errors
    /// [`DataError`] if the format is not set and cannot be guessed.
    pub fn format_of(&self, path: &Path) -> Result<Format, DataError> {
        self.format.map_or_else(|| guess::format(path, &self.limits), Ok)
    }

    /// Refuses options that the format does not support.
    pub(crate) fn check(&self, format: Format, path: &Path) -> Result<(), DataError> {
        let refused = |reason: String, remedy: &str| {
            Err(DataError::Options { path: path.to_owned(), fault: Fault::new(reason, remedy) })
        };
        let takes_column = [Format::Csv, Format::Parquet, Format::Npz, Format::Cifar100].contains(&format);
        if self.labels.is_some() && takes_column {
            let remedy = "omit --labels, or choose the labels with --label-column";
            return refused(format!("a {format} file contains its own labels"), remedy);
        }
        if self.labels.is_some() && ![Format::Npy, Format::Idx].contains(&format) {
            return refused(format!("the format {format} takes no separate file of labels"), "omit --labels");
        }
        if self.labels.is_none() && format == Format::Npy {
            return refused(
                "a .npy file holds only features".into(),
                "give the file of labels with --labels",
            );
        }
        if self.label_column.is_some() && !takes_column {
            return refused(format!("the format {format} has no label column"), "omit --label-column");
        }
        if self.group_column.is_some() && ![Format::Csv, Format::Parquet].contains(&format) {
            return refused(format!("the format {format} has no group column"), "omit --group-column");
        }
        if self.group_column.is_some() && self.group_column == self.label_column {
            return refused(
                "one column cannot be both label and group".into(),
                "choose another --group-column",
            );
        }
        match (&self.schema, format) {
            (None, _)
            | (Some(DataSchema::Table(_)), Format::Csv)
            | (Some(DataSchema::Images { .. }), Format::Images) => {}
            (Some(DataSchema::Table(_)), Format::Images) => {
                return refused(
                    "the schema is for tables, but the data are images".into(),
                    "give a schema of images",
                );
            }
            (Some(DataSchema::Images { .. }), Format::Csv) => {
                return refused(
                    "the schema is for images, but the data are a table".into(),
                    "give a schema of a table",
                );
            }
            (Some(_), _) => return refused(format!("the format {format} has no schema"), "omit --schema"),
        }
        if self.schema.is_some() && (self.label_column.is_some() || self.label_kind == LabelKind::Target) {
            let remedy = "omit --label-column and --targets";
            return refused("the schema names the label and its kind".into(), remedy);
        }
        if let Some(DataSchema::Table(schema)) = &self.schema
            && schema.label.as_ref().is_some_and(|label| Some(label.name()) == self.group_column.as_deref())
        {
            return refused(
                "one column cannot be both label and group".into(),
                "choose another --group-column",
            );
        }
        if self.transposed && format != Format::Idx {
            return refused("only images in IDX files can be transposed".into(), "omit --transposed");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(format: Format, options: &ReadOptions) -> Option<String> {
        options.check(format, Path::new("x")).err().map(|error| error.to_string())
    }

    #[test]
    fn what_a_format_does_not_have_is_refused_with_a_remedy() {
        let labels = ReadOptions { labels: Some("y".into()), ..ReadOptions::default() };
        let column = ReadOptions { label_column: Some("y".into()), ..ReadOptions::default() };
        let group = ReadOptions { group_column: Some("g".into()), ..ReadOptions::default() };
        let transposed = ReadOptions { transposed: true, ..ReadOptions::default() };
        for format in Format::ALL {
            let takes = |formats: &[Format]| formats.contains(&format);
            let plain = message(format, &ReadOptions::default());
            assert_eq!(plain.is_none(), format != Format::Npy, "{plain:?}");
            assert_eq!(message(format, &labels).is_none(), takes(&[Format::Npy, Format::Idx]));
            let with_column = [Format::Csv, Format::Parquet, Format::Npz, Format::Cifar100];
            assert_eq!(message(format, &column).is_none(), takes(&with_column));
            assert_eq!(message(format, &group).is_none(), takes(&[Format::Csv, Format::Parquet]));
            assert_eq!(message(format, &transposed).is_none(), format == Format::Idx);
        }
        let message = message(Format::Csv, &labels).unwrap();
        assert!(message.starts_with("x: a csv file contains its own labels; omit --labels"), "{message}");
    }
}
