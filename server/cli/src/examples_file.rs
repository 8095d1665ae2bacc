//! The flags for local examples, which are read from files and folders in any format of folkmoot-data.

use std::path::{Path, PathBuf};

use folkmoot_data::{Format, LabelKind, ReadOptions, read, schema::DataSchema};
use folkmoot_engine::Examples;

use super::{CliError, data::read_schema};

/// The flags that describe the examples.
#[derive(Clone, Debug, clap::Args)]
pub struct ExamplesArgs {
    /// The examples: a file or a folder.
    #[arg(long, value_name = "PATH")]
    data: PathBuf,
    /// The format of the examples. By default, it is derived from the name of the file or folder.
    #[arg(long, value_name = "FORMAT")]
    format: Option<FormatChoice>,
    /// The file with the labels, if --data is a .npy file or a file of IDX images.
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// The label: the column of a .csv or .parquet file (by default the last one), the array of an .npz file, or
    /// `fine` or `coarse` for CIFAR-100.
    #[arg(long, value_name = "NAME", conflicts_with = "labels")]
    label_column: Option<String>,
    /// The column of a .csv or .parquet file with the owner of each example. It is not used as a feature.
    #[arg(long, value_name = "NAME")]
    group_column: Option<String>,
    /// The schema of a .csv file or of a folder of images, from `folkmoot data schema`, or a model that carries one. It
    /// says how columns or images become numbers, and which classes there are. The default is the schema of the model or
    /// of the task, if it has one.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["label_column", "targets"])]
    schema: Option<PathBuf>,
    /// Read the labels as target values instead of class numbers.
    #[arg(long)]
    targets: bool,
    /// Transpose IDX images. EMNIST stores them transposed.
    #[arg(long)]
    transposed: bool,
}

/// The names of the formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FormatChoice {
    /// Comma-separated values.
    Csv,
    /// NumPy arrays, with one file for the features and one for the labels.
    Npy,
    /// A NumPy archive of arrays.
    Npz,
    /// Apache Parquet.
    Parquet,
    /// A folder with one subfolder of PNG or JPEG images for each class.
    Images,
    /// The files of MNIST, Fashion-MNIST and EMNIST.
    Idx,
    /// The binary version of CIFAR-10.
    Cifar10,
    /// The binary version of CIFAR-100.
    Cifar100,
    /// The JSON files of the LEAF benchmark.
    Leaf,
}

impl From<FormatChoice> for Format {
    fn from(choice: FormatChoice) -> Self {
        match choice {
            FormatChoice::Csv => Self::Csv,
            FormatChoice::Npy => Self::Npy,
            FormatChoice::Npz => Self::Npz,
            FormatChoice::Parquet => Self::Parquet,
            FormatChoice::Images => Self::Images,
            FormatChoice::Idx => Self::Idx,
            FormatChoice::Cifar10 => Self::Cifar10,
            FormatChoice::Cifar100 => Self::Cifar100,
            FormatChoice::Leaf => Self::Leaf,
        }
    }
}

impl ExamplesArgs {
    /// Returns the file or the folder.
    pub fn path(&self) -> &Path {
        &self.data
    }

    /// Reads the examples. Encodes a table or images without `--schema` by the schema of a model or of a task.
    ///
    /// # Errors
    /// If the examples cannot be read. The error names the file, the position and the remedy.
    pub fn read(&self, schema: Option<&DataSchema>) -> Result<Examples, CliError> {
        let options = self.options()?.or_schema(schema, &self.data);
        let dataset = options.and_then(|options| read(&self.data, &options));
        Ok(dataset.map_err(|error| CliError::new(error.to_string()))?.examples)
    }

    /// Returns the options for reading the examples.
    ///
    /// # Errors
    /// If the file of `--schema` cannot be read.
    pub fn options(&self) -> Result<ReadOptions, CliError> {
        Ok(ReadOptions {
            format: self.format.map(Format::from),
            labels: self.labels.clone(),
            label_column: self.label_column.clone(),
            group_column: self.group_column.clone(),
            schema: read_schema(self.schema.as_deref())?,
            label_kind: if self.targets { LabelKind::Target } else { LabelKind::Class },
            transposed: self.transposed,
            ..ReadOptions::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use clap::ValueEnum;

    use super::*;

    fn args(data: PathBuf) -> ExamplesArgs {
        ExamplesArgs {
            data,
            format: None,
            labels: None,
            label_column: None,
            group_column: None,
            schema: None,
            targets: false,
            transposed: false,
        }
    }

    fn read(name: &str, content: &str, label_column: Option<&str>) -> Result<Examples, CliError> {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join(name);
        fs::write(&data, content).unwrap();
        ExamplesArgs { label_column: label_column.map(str::to_owned), ..args(data) }.read(None)
    }

    #[test]
    fn a_header_is_recognised() {
        assert_eq!(read("a.csv", "1,2,0\n3,4,1\n", None).unwrap().len(), 2);
        assert_eq!(read("a.csv", "a,b,label\n1,2,0\n3,4,1\n", None).unwrap().len(), 2);
        assert_eq!(read("a.csv", "label,a\n0,2\n1,4\n", Some("label")).unwrap().features(), [2.0, 4.0]);
    }

    #[test]
    fn an_error_names_the_file() {
        let error = read("a.csv", "1,2,0\n3,x,1\n", None).unwrap_err();
        assert!(error.message.contains("a.csv: line 2, column 2"), "{error}");
        let error = read("a.txt", "1,0\n", None).unwrap_err();
        assert!(error.message.contains("a.txt: ") && error.message.contains("--format csv|npy"), "{error}");
    }

    #[test]
    fn a_format_and_a_group_column_can_be_named() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("a.txt");
        fs::write(&data, "who,a,label\nann,1,0\nbo,2,1\n").unwrap();
        let group_column = Some("who".to_owned());
        let args = ExamplesArgs { format: Some(FormatChoice::Csv), group_column, ..args(data) };
        assert_eq!(args.read(None).unwrap().features(), [1.0, 2.0]);
    }

    #[test]
    fn every_format_has_its_own_name() {
        let names: Vec<String> = FormatChoice::value_variants()
            .iter()
            .filter_map(|choice| Some(choice.to_possible_value()?.get_name().to_owned()))
            .collect();
        assert_eq!(names, Format::ALL.map(Format::name));
        let formats: Vec<Format> =
            FormatChoice::value_variants().iter().map(|choice| Format::from(*choice)).collect();
        assert_eq!(formats, Format::ALL);
    }
}
