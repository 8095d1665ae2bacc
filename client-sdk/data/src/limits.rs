//! Limits on the size of the data.

use std::path::Path;

use crate::DataError;

/// Limits on the size of the data. If a limit is exceeded, reading fails before it allocates the memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The maximum size of a file, in bytes.
    pub file_bytes_max: u64,
    /// The maximum size of a file or archive member after decompression, in bytes.
    pub inflated_bytes_max: u64,
    /// The maximum number of examples.
    pub examples_max: u64,
    /// The maximum number of feature values in all examples together. Each takes four bytes of memory.
    pub values_max: u64,
    /// The maximum number of pixels in an image file.
    pub image_pixels_max: u64,
    /// The maximum number of files and folders in one folder.
    pub entries_max: u64,
}

impl Default for Limits {
    /// Returns these limits: 8 GiB per file, before and after decompression; ten million examples; 8 GiB of features;
    /// 4096 × 4096 pixels per image; a million entries per folder.
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
    /// Checks that this many examples with this many feature values in total are allowed.
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

    /// Checks that this many bytes are allowed after decompression.
    pub(crate) fn expect_inflated(&self, path: &Path, found: u64) -> Result<(), DataError> {
        let limit = self.inflated_bytes_max;
        if found <= limit {
            return Ok(());
        }
        let (what, setting) = ("bytes after decompression", "inflated_bytes_max");
        Err(DataError::OverLimit { path: path.to_owned(), what, found, limit, setting })
    }
}
