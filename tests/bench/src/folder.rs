use std::path::{Path, PathBuf};

use crate::Failure;

/// A temporary folder, which is removed when this value is dropped.
pub struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    /// Creates the folder. `name` must be unique within this process.
    pub fn new(name: &str) -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("folkmoot-bench-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
