//! Readers that turn common file formats into [`Examples`](crate::Examples).

mod csv;
mod error;
mod npy;

pub use self::csv::{CsvOptions, LabelColumn, LabelKind, read_csv};
pub use error::DataError;
pub use npy::read_npy;
