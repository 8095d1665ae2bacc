//! Records the inputs of a slow step that succeeded, so that the step does not run again for the same content.

use crate::workspace::{Failure, target};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The content of a step's input files. It is stored in the target folder once the step has succeeded.
#[derive(Debug)]
pub struct Stamp {
    file: PathBuf,
    digest: String,
}

impl Stamp {
    /// Reads the files, and all files in the folders, for a step with this name.
    ///
    /// # Errors
    /// Names the file that cannot be read. A missing path is recorded as missing; it is not an error.
    pub fn of(step: &str, paths: &[PathBuf]) -> Result<Self, Failure> {
        let mut files = BTreeSet::new();
        paths.iter().try_for_each(|path| collect(path, &mut files))?;
        let mut hasher = DefaultHasher::new();
        for file in &files {
            let bytes = fs::read(file).map_err(|error| failed(file, &error))?;
            (file, bytes).hash(&mut hasher);
        }
        Ok(Self { file: target().join("stamps").join(step), digest: format!("{:016x}", hasher.finish()) })
    }

    /// Returns `true` if the step has already succeeded with the same content.
    pub fn is_there(&self) -> bool {
        fs::read_to_string(&self.file).is_ok_and(|digest| digest == self.digest)
    }

    /// Records that the step has succeeded.
    ///
    /// # Errors
    /// Fails if the record cannot be written.
    pub fn set(&self) -> Result<(), Failure> {
        let folder = self.file.parent().expect("it lies in a folder");
        fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
        fs::write(&self.file, &self.digest).map_err(|error| failed(&self.file, &error))
    }
}

fn collect(path: &Path, files: &mut BTreeSet<PathBuf>) -> Result<(), Failure> {
    match fs::read_dir(path) {
        Ok(entries) => entries.flatten().try_for_each(|entry| collect(&entry.path(), files)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(_) => {
            files.insert(path.to_owned());
            Ok(())
        }
    }
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::root;

    #[test]
    fn content_and_names_count() {
        let of = |paths: &[&str]| {
            let paths: Vec<PathBuf> = paths.iter().map(|path| root().join(path)).collect();
            Stamp::of("test", &paths).unwrap().digest
        };
        assert_eq!(of(&["Cargo.toml", "README.md"]), of(&["README.md", "Cargo.toml"]));
        assert_ne!(of(&["Cargo.toml"]), of(&["README.md"]));
        assert_ne!(of(&["tests/xtask/src"]), of(&["tests/xtask/Cargo.toml"]));
        assert_eq!(of(&["no-such-file"]), of(&[]));
    }
}
