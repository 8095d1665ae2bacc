use std::path::{Path, PathBuf};

use crate::Failure;

/// A folder where the system keeps temporary files, removed in the end.
pub struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    /// Makes the folder; `name` keeps it apart from the others of this process.
    pub fn new(name: &str) -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("folkmoot-bench-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    /// Returns where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
