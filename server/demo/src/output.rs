//! The output folder, with the results and one data folder for each run.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use folkmoot_terminal::may_overwrite;

use super::error::DemoError;

/// The folders of a run.
#[derive(Clone, Debug)]
pub struct Output {
    folder: PathBuf,
    run: PathBuf,
}

impl Output {
    /// Creates the output folder if needed, and in it the first `run-N` that does not exist yet. Data of earlier runs
    /// is never deleted.
    ///
    /// # Errors
    /// [`DemoError::Output`] if a folder cannot be created.
    pub fn open(folder: &Path) -> Result<Self, DemoError> {
        let failed = |source| DemoError::Output { path: folder.to_owned(), source };
        fs::create_dir_all(folder).map_err(failed)?;
        for number in 1u64.. {
            let run = folder.join(format!("run-{number}"));
            match fs::create_dir(&run) {
                Ok(()) => return Ok(Self { folder: folder.to_owned(), run }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(failed(source)),
            }
        }
        unreachable!("there are not that many folders")
    }

    /// Returns the folder of this run's data.
    pub fn run(&self) -> &Path {
        &self.run
    }

    /// Returns the coordinator's data folder.
    pub fn coordinator(&self) -> PathBuf {
        self.run.join("coordinator")
    }

    /// Returns the state folder of a client, numbered from 1.
    pub fn client(&self, number: usize) -> PathBuf {
        self.run.join(format!("client-{number:03}"))
    }

    /// Writes a result file, replacing that of an earlier run, and returns its path.
    ///
    /// # Errors
    /// [`DemoError::Output`] if the file cannot be written.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> Result<PathBuf, DemoError> {
        let path = self.folder.join(name);
        may_overwrite(&path)
            .and_then(|()| fs::write(&path, bytes))
            .map_err(|source| DemoError::Output { path: path.clone(), source })?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_has_a_folder_of_its_own_and_replaces_the_results() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("a/b");
        let first = Output::open(&folder).unwrap();
        first.write("report.json", "1").unwrap();
        let second = Output::open(&folder).unwrap();
        assert_ne!(first.run(), second.run());
        let path = second.write("report.json", "2").unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), "2");
    }

    #[test]
    fn a_file_in_the_way_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Output::open(file.path()).unwrap_err().to_string();
        assert!(error.contains(&file.path().display().to_string()) && error.contains("--out"), "{error}");
    }
}
