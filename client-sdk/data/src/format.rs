//! The supported formats.

use std::fmt;

/// The format of a file or a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Comma-separated values.
    Csv,
    /// NumPy arrays, with features and labels in one file each.
    Npy,
    /// A NumPy archive of arrays.
    Npz,
    /// Apache Parquet: a file, or a folder of files.
    Parquet,
    /// A folder with one folder of PNG or JPEG images per class.
    Images,
    /// The files of MNIST, Fashion-MNIST and EMNIST, gzipped or not.
    Idx,
    /// The binary version of CIFAR-10.
    Cifar10,
    /// The binary version of CIFAR-100.
    Cifar100,
    /// The JSON files of the LEAF benchmark: a file, or a folder of files.
    Leaf,
}

impl Format {
    /// All formats, in the order used in messages.
    pub const ALL: [Self; 9] = [
        Self::Csv,
        Self::Npy,
        Self::Npz,
        Self::Parquet,
        Self::Images,
        Self::Idx,
        Self::Cifar10,
        Self::Cifar100,
        Self::Leaf,
    ];

    /// The name in options and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Npy => "npy",
            Self::Npz => "npz",
            Self::Parquet => "parquet",
            Self::Images => "images",
            Self::Idx => "idx",
            Self::Cifar10 => "cifar10",
            Self::Cifar100 => "cifar100",
            Self::Leaf => "leaf",
        }
    }

    /// Returns whether a schema can say how the format's content becomes numbers.
    pub fn has_schema(self) -> bool {
        matches!(self, Self::Csv | Self::Images)
    }

    pub(crate) fn names() -> String {
        Self::ALL.map(Self::name).join("|")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
