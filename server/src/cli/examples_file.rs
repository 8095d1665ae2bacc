//! Local examples from files: CSV, or NPY with its labels beside it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use folkmoot_engine::{
    Examples,
    data::{CsvOptions, LabelColumn, LabelKind, read_csv, read_npy},
};

use super::CliError;

/// Where the examples are.
#[derive(Clone, Debug, clap::Args)]
pub struct ExamplesArgs {
    /// The examples: a .csv file, or a .npy file of features.
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    /// The labels of a .npy file, in another .npy file.
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// The column of a .csv file that holds the label; the last one without this.
    #[arg(long, value_name = "NAME", conflicts_with = "labels")]
    label_column: Option<String>,
    /// The labels of a .csv file are target values, not class numbers.
    #[arg(long, conflicts_with = "labels")]
    targets: bool,
}

impl ExamplesArgs {
    /// Reads the examples.
    ///
    /// # Errors
    /// Names the file, and the line and column where there are such.
    pub fn read(&self) -> Result<Examples, CliError> {
        match (extension(&self.data), &self.labels) {
            ("csv", None) => self.read_csv(),
            ("npy", Some(labels)) => {
                let (features, labels_bytes) = (bytes(&self.data)?, bytes(labels)?);
                let failed = |error| CliError::new(format!("{}: {error}", self.data.display()));
                read_npy(&features, &labels_bytes).map_err(failed)
            }
            ("npy", None) => {
                Err(CliError::new(format!("{}: name its labels with --labels", self.data.display())))
            }
            ("csv", Some(_)) => Err(CliError::with_remedy(
                format!("{}: a .csv file holds its labels itself", self.data.display()),
                "name their column with --label-column instead of --labels",
            )),
            _ => Err(CliError::new(format!("{}: a .csv or .npy file is expected", self.data.display()))),
        }
    }

    fn read_csv(&self) -> Result<Examples, CliError> {
        let content = bytes(&self.data)?;
        let options = CsvOptions {
            has_header: self.label_column.is_some() || has_header(&content),
            label_column: self.label_column.clone().map_or(LabelColumn::Last, LabelColumn::Named),
            label_kind: if self.targets { LabelKind::Target } else { LabelKind::Class },
            ..CsvOptions::default()
        };
        let failed = |error| CliError::new(format!("{}: {error}", self.data.display()));
        read_csv(content.as_slice(), &options).map_err(failed)
    }
}

fn bytes(path: &Path) -> Result<Vec<u8>, CliError> {
    fs::read(path).map_err(CliError::read(path))
}

fn extension(path: &Path) -> &str {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or_default()
}

/// Says whether the first line names the columns: no number is among its fields.
fn has_header(content: &[u8]) -> bool {
    let first = content.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let first = String::from_utf8_lossy(first);
    let mut fields = first.split(',').map(|field| field.trim().trim_matches('"'));
    fields.all(|field| field.parse::<f64>().is_err())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, content: &str, label_column: Option<&str>) -> Result<Examples, CliError> {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join(name);
        fs::write(&data, content).unwrap();
        ExamplesArgs { data, labels: None, label_column: label_column.map(str::to_owned), targets: false }
            .read()
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
        assert!(read("a.txt", "1,0\n", None).unwrap_err().message.contains(".csv or .npy"));
    }
}
