//! How to read, and how much at most.

use std::path::{Path, PathBuf};

use folkmoot_engine::data::LabelKind;

use crate::{DataError, Fault, Format};

/// How to read a file or a folder. What a format does not have is refused, not ignored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadOptions {
    /// What is in the path; guessed from its name, or from the names in the folder, without this.
    pub format: Option<Format>,
    /// NPY: the file of labels. IDX: the file of labels, if its name does not follow from that of the images.
    pub labels: Option<PathBuf>,
    /// CSV and Parquet: the column of the labels, the last one without this. NPZ: the member of the labels.
    /// CIFAR-100: `fine` or `coarse`, fine without this.
    pub label_column: Option<String>,
    /// CSV and Parquet: the column that says whose an example is. It is not a feature.
    pub group_column: Option<String>,
    /// What a label is: a class number, or a target value for regression. NPY and NPZ say it by the element type,
    /// and [`LabelKind::Target`] makes targets even of whole numbers.
    pub label_kind: LabelKind,
    /// IDX: exchange rows and columns of every image, because EMNIST stores them so.
    pub transposed: bool,
    /// Whether the features of an example are one row of numbers, for a model whose input has one dimension.
    pub flat: bool,
    /// How much is read at most.
    pub limits: Limits,
}

/// How much is read at most. More is an error, before memory of that size is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one file.
    pub file_bytes_max: u64,
    /// Bytes of one file or member after decompression.
    pub inflated_bytes_max: u64,
    /// Examples.
    pub examples_max: u64,
    /// Feature values of all examples together, of four bytes each in memory.
    pub values_max: u64,
    /// Pixels of one image of a folder.
    pub image_pixels_max: u64,
    /// Files and folders in one folder.
    pub entries_max: u64,
}

impl Default for Limits {
    /// 8 GiB a file, before and after decompression; ten million examples; 8 GiB of features; 4096 × 4096 pixels;
    /// a million entries of a folder.
    fn default() -> Self {
        Self {
            file_bytes_max: 8 << 30,
            inflated_bytes_max: 8 << 30,
            examples_max: 10_000_000,
            values_max: 2 << 30,
            image_pixels_max: 1 << 24,
            entries_max: 1_000_000,
        }
    }
}

impl Limits {
    /// Checks that so many examples with so many feature values altogether are allowed.
    pub(crate) fn expect_room(&self, path: &Path, examples: u64, values: u64) -> Result<(), DataError> {
        let over = |what, found, limit, setting| {
            let path = path.to_owned();
            Err(DataError::OverLimit { path, what, found, limit, setting })
        };
        if examples > self.examples_max {
            return over("examples", examples, self.examples_max, "examples_max");
        }
        if values > self.values_max {
            return over("feature values", values, self.values_max, "values_max");
        }
        Ok(())
    }

    /// Checks that so many bytes are allowed after decompression.
    pub(crate) fn expect_inflated(&self, path: &Path, found: u64) -> Result<(), DataError> {
        let limit = self.inflated_bytes_max;
        if found <= limit {
            return Ok(());
        }
        let (what, setting) = ("bytes after decompression", "inflated_bytes_max");
        Err(DataError::OverLimit { path: path.to_owned(), what, found, limit, setting })
    }
}

impl ReadOptions {
    /// Refuses what the format does not have.
    pub(crate) fn check(&self, format: Format, path: &Path) -> Result<(), DataError> {
        let refused = |reason: String, remedy: &str| {
            Err(DataError::Options { path: path.to_owned(), fault: Fault::new(reason, remedy) })
        };
        let takes_column = [Format::Csv, Format::Parquet, Format::Npz, Format::Cifar100].contains(&format);
        if self.labels.is_some() && takes_column {
            let remedy = "leave --labels out, or say where they are with --label-column";
            return refused(format!("a {format} file holds its labels itself"), remedy);
        }
        if self.labels.is_some() && ![Format::Npy, Format::Idx].contains(&format) {
            return refused(format!("the format {format} has no file of labels"), "leave --labels out");
        }
        if self.labels.is_none() && format == Format::Npy {
            return refused("a .npy file holds only features".into(), "name its labels with --labels");
        }
        if self.label_column.is_some() && !takes_column {
            return refused(format!("the format {format} has no label column"), "leave --label-column out");
        }
        if self.group_column.is_some() && ![Format::Csv, Format::Parquet].contains(&format) {
            return refused(format!("the format {format} has no group column"), "leave --group-column out");
        }
        if self.group_column.is_some() && self.group_column == self.label_column {
            return refused("one column cannot be label and group".into(), "name another --group-column");
        }
        if self.transposed && format != Format::Idx {
            return refused("only images in IDX files are exchanged".into(), "leave --transposed out");
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
        assert!(
            message.starts_with("x: a csv file holds its labels itself; leave --labels out"),
            "{message}"
        );
    }
}
