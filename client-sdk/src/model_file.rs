//! Reads ONNX models from disk, together with the data files in which exporters store weights.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use folkmoot_engine::ImportLimits;
use folkmoot_onnx_file::FileError;
use folkmoot_onnx_file::external::{ExternalError, ExternalTensor, PROTOBUF_BYTES_MAX, Parts};

/// A model from disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFile {
    /// One ONNX file with all weights.
    pub onnx: Vec<u8>,
    /// The names of the data files that hold some of the weights on disk. They are in the model's folder.
    pub data_files: Vec<String>,
}

/// Why a model cannot be read from disk.
#[derive(Debug, thiserror::Error)]
pub enum ModelFileError {
    /// A file cannot be read.
    #[error("{} cannot be read: {error}", .path.display())]
    Read {
        /// The path of the file.
        path: PathBuf,
        /// The cause. The message contains it.
        error: io::Error,
    },
    /// A data file is not in the model's folder.
    #[error(
        "{} stores weights in {file}, but the folder {} has no such file. Copy {file} there; it must keep its name. Or export \
         the model again as one file: torch.onnx.export(..., external_data=False)",
        .model.display(), .folder.display()
    )]
    Missing {
        /// The path of the model.
        model: PathBuf,
        /// The name of the data file.
        file: String,
        /// The folder where the data file was looked for.
        folder: PathBuf,
    },
    /// A data file is a folder, a device or a pipe, or a symbolic link that leads out of the model's folder.
    #[error(
        "{} stores weights in {file}, which {fault}. Copy the data file into the folder of the model", .model.display()
    )]
    NotInFolder {
        /// The path of the model.
        model: PathBuf,
        /// The name of the data file.
        file: String,
        /// The reason why the file is not read.
        fault: &'static str,
    },
    /// The model and its data files cannot be joined.
    #[error("{}: {error}", .model.display())]
    NotJoined {
        /// The path of the model.
        model: PathBuf,
        /// The cause. The message contains it.
        error: ExternalError,
    },
}

/// Reads an ONNX model. If tensors are stored in data files beside it, joins all files into one. Reads only the bytes
/// of tensors from data files, and only from files in the model's own folder.
///
/// This function does not check the model itself: bytes that are not ONNX are returned unchanged.
///
/// # Errors
/// Returns a [`ModelFileError`] if a file is missing, cannot be read or is too short, or if the joined file would exceed
/// 2 GiB.
pub fn read_model_file(path: &Path) -> Result<ModelFile, ModelFileError> {
    let onnx = fs::read(path).map_err(|error| ModelFileError::Read { path: path.into(), error })?;
    let limits = ImportLimits { model_bytes_max: PROTOBUF_BYTES_MAX, ..ImportLimits::default() };
    let parts = match Parts::find(&onnx, &limits) {
        Ok(parts) => parts,
        // For bytes that are not ONNX, the reader of the model has a better error.
        Err(ExternalError::File(FileError::Malformed { .. })) => {
            return Ok(ModelFile { onnx, data_files: Vec::new() });
        }
        Err(error) => return Err(ModelFileError::NotJoined { model: path.into(), error }),
    };
    if parts.tensors().is_empty() {
        return Ok(ModelFile { onnx, data_files: Vec::new() });
    }
    let mut folder = Folder::of(path)?;
    // Memory is allocated only if every file is there and long enough.
    for tensor in parts.tensors() {
        folder.data_file(tensor)?;
    }
    let data_files = parts.files().into_iter().map(str::to_owned).collect();
    let joined = parts.joined(|tensor, elements| folder.read(tensor, elements))?;
    Ok(ModelFile { onnx: joined, data_files })
}

/// The folder of a model.
struct Folder<'a> {
    model: &'a Path,
    /// The path without symbolic links.
    real: PathBuf,
    /// The data file that was used last.
    last: Option<DataFile>,
}

struct DataFile {
    name: String,
    file: File,
    bytes: u64,
}

impl<'a> Folder<'a> {
    fn of(model: &'a Path) -> Result<Self, ModelFileError> {
        let path = named(model);
        match path.canonicalize() {
            Ok(real) => Ok(Self { model, real, last: None }),
            Err(error) => Err(ModelFileError::Read { path: path.into(), error }),
        }
    }

    /// Reads the elements of a tensor.
    fn read(&mut self, tensor: &ExternalTensor, elements: &mut [u8]) -> Result<(), ModelFileError> {
        let path = named(self.model).join(&tensor.file);
        let file = &mut self.data_file(tensor)?.file;
        let read = file.seek(SeekFrom::Start(tensor.range.start)).and_then(|_| file.read_exact(elements));
        read.map_err(|error| ModelFileError::Read { path, error })
    }

    /// Opens the file of a tensor, and checks that it is long enough.
    fn data_file(&mut self, tensor: &ExternalTensor) -> Result<&mut DataFile, ModelFileError> {
        let last = match self.last.take() {
            Some(last) if last.name == tensor.file => last,
            _ => self.open(&tensor.file)?,
        };
        let not_joined = |error| ModelFileError::NotJoined { model: self.model.into(), error };
        tensor.check_in(last.bytes).map_err(not_joined)?;
        Ok(self.last.insert(last))
    }

    fn open(&self, name: &str) -> Result<DataFile, ModelFileError> {
        let folder = named(self.model);
        let path = folder.join(name);
        let real = path.canonicalize().map_err(|error| self.unread(name, &path, error))?;
        let not_in_folder =
            |fault| ModelFileError::NotInFolder { model: self.model.into(), file: name.to_owned(), fault };
        if real.parent() != Some(&self.real) {
            return Err(not_in_folder("is a symbolic link to another folder"));
        }
        // Opening a pipe would wait for its writer.
        let metadata = fs::metadata(&real).map_err(|error| self.unread(name, &path, error))?;
        if !metadata.is_file() {
            return Err(not_in_folder("is not a regular file"));
        }
        let file = File::open(&real).map_err(|error| self.unread(name, &path, error))?;
        Ok(DataFile { name: name.to_owned(), file, bytes: metadata.len() })
    }

    fn unread(&self, name: &str, path: &Path, error: io::Error) -> ModelFileError {
        let (model, path) = (self.model.to_path_buf(), path.to_path_buf());
        match error.kind() {
            io::ErrorKind::NotFound => {
                ModelFileError::Missing { folder: named(&model).into(), model, file: name.to_owned() }
            }
            _ => ModelFileError::Read { path, error },
        }
    }
}

/// Returns the folder of a file as a person names it.
fn named(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_engine::Model;

    use super::*;

    fn exported(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/engine/exported").join(name)
    }

    /// A folder with a copy of the model that PyTorch exported, and the path of the model.
    fn copied(data: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let model = folder.path().join("model.onnx");
        fs::copy(exported("two_files.onnx"), &model).unwrap();
        fs::write(folder.path().join("two_files.onnx.data"), data).unwrap();
        (folder, model)
    }

    fn data() -> Vec<u8> {
        fs::read(exported("two_files.onnx.data")).unwrap()
    }

    fn refusal(path: &Path) -> String {
        read_model_file(path).expect_err("it is refused").to_string()
    }

    #[test]
    fn a_model_of_pytorch_is_joined_with_its_data_file() {
        let file = read_model_file(&exported("two_files.onnx")).unwrap();
        assert_eq!(file.data_files, ["two_files.onnx.data"]);
        let joined = Model::from_onnx(&file.onnx, &ImportLimits::default()).unwrap();
        let whole = fs::read(exported("one_file.onnx")).unwrap();
        let whole = Model::from_onnx(&whole, &ImportLimits::default()).unwrap();
        assert_eq!(joined.parameters(), whole.parameters());
        assert_eq!(joined.initial_weights(), whole.initial_weights());
    }

    #[test]
    fn other_files_are_returned_unchanged() {
        for path in [exported("one_file.onnx"), exported("make.py")] {
            let (onnx, data_files) = (fs::read(&path).unwrap(), Vec::new());
            assert_eq!(read_model_file(&path).unwrap(), ModelFile { onnx, data_files });
        }
        assert!(refusal(&exported("nowhere.onnx")).contains("nowhere.onnx cannot be read"));
    }

    #[test]
    fn a_missing_or_short_data_file_is_named_with_its_folder() {
        let (folder, model) = copied(&data()[..100]);
        let error = refusal(&model);
        assert!(error.contains("two_files.onnx.data has 100 bytes, but tensor"), "{error}");
        fs::remove_file(folder.path().join("two_files.onnx.data")).unwrap();
        let error = refusal(&model);
        let place = folder.path().display();
        assert!(error.contains(&format!("the folder {place} has no such file")), "{error}");
        assert!(error.contains("stores weights in two_files.onnx.data"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn nothing_outside_of_the_folder_is_read() {
        use std::os::unix::fs::symlink;

        let (folder, model) = copied(&data());
        let (inside, link) = (folder.path().join("weights"), folder.path().join("two_files.onnx.data"));
        // A link within the folder is followed.
        fs::rename(&link, &inside).unwrap();
        symlink("weights", &link).unwrap();
        assert!(read_model_file(&model).is_ok());

        let other = tempfile::tempdir().unwrap();
        let secret = other.path().join("secret");
        fs::write(&secret, data()).unwrap();
        fs::remove_file(&link).unwrap();
        symlink(&secret, &link).unwrap();
        assert!(refusal(&model).contains("is a symbolic link to another folder"));

        fs::remove_file(&link).unwrap();
        fs::create_dir(&link).unwrap();
        assert!(refusal(&model).contains("is not a regular file"));
    }
}
