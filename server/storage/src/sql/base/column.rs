//! Conversions between values and columns.

use std::{fmt::Display, str::FromStr};

use folkmoot_protocol::Timestamp;
use serde::{Serialize, de::DeserializeOwned};
use sqlx::{Row, any::AnyRow};

use crate::StorageError;

/// Converts a count to a column. SQL integers are signed, so a count above 2^63 - 1 is out of range.
pub(crate) fn integer(value: u64) -> Result<i64, StorageError> {
    i64::try_from(value).map_err(|_| StorageError::OutOfRange(value))
}

/// Converts an optional count to a column.
pub(in crate::sql) fn optional_integer(value: Option<u64>) -> Result<Option<i64>, StorageError> {
    value.map(integer).transpose()
}

/// Converts a time to a column.
pub(in crate::sql) fn moment(value: Timestamp) -> Result<i64, StorageError> {
    integer(value.0)
}

/// Converts an enum or a struct to a JSON column.
pub(in crate::sql) fn json(value: &impl Serialize) -> Result<String, StorageError> {
    serde_json::to_string(value).map_err(|error| sqlx::Error::Encode(Box::new(error)).into())
}

/// Maps a foreign key violation to [`StorageError::NotFound`] for `what`. Other errors are kept.
pub(in crate::sql) fn missing(what: &'static str) -> impl Fn(sqlx::Error) -> StorageError {
    move |error| match &error {
        sqlx::Error::Database(database) if database.is_foreign_key_violation() => {
            StorageError::NotFound(what)
        }
        _ => StorageError::Database(error),
    }
}

/// Reads the columns of a row. `what` names the kind of row in errors.
pub(in crate::sql) struct Columns<'r> {
    row: &'r AnyRow,
    what: &'static str,
}

impl<'r> Columns<'r> {
    pub(in crate::sql) fn new(row: &'r AnyRow, what: &'static str) -> Self {
        Self { row, what }
    }

    pub(in crate::sql) fn text(&self, name: &str) -> Result<String, StorageError> {
        Ok(self.row.try_get(name)?)
    }

    pub(in crate::sql) fn parsed<T: FromStr<Err: Display>>(&self, name: &str) -> Result<T, StorageError> {
        self.text(name)?.parse().map_err(|error| self.corrupt(name, &error))
    }

    pub(in crate::sql) fn optional_parsed<T: FromStr<Err: Display>>(
        &self,
        name: &str,
    ) -> Result<Option<T>, StorageError> {
        let text: Option<String> = self.row.try_get(name)?;
        text.map(|text| text.parse().map_err(|error| self.corrupt(name, &error))).transpose()
    }

    pub(in crate::sql) fn json<T: DeserializeOwned>(&self, name: &str) -> Result<T, StorageError> {
        serde_json::from_str(&self.text(name)?).map_err(|error| self.corrupt(name, &error))
    }

    pub(in crate::sql) fn optional_json<T: DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<Option<T>, StorageError> {
        let text: Option<String> = self.row.try_get(name)?;
        text.map(|text| serde_json::from_str(&text).map_err(|error| self.corrupt(name, &error))).transpose()
    }

    pub(in crate::sql) fn count(&self, name: &str) -> Result<u64, StorageError> {
        let value: i64 = self.row.try_get(name)?;
        u64::try_from(value).map_err(|error| self.corrupt(name, &error))
    }

    pub(in crate::sql) fn optional_count(&self, name: &str) -> Result<Option<u64>, StorageError> {
        let value: Option<i64> = self.row.try_get(name)?;
        value.map(|value| u64::try_from(value).map_err(|error| self.corrupt(name, &error))).transpose()
    }

    pub(in crate::sql) fn moment(&self, name: &str) -> Result<Timestamp, StorageError> {
        Ok(Timestamp(self.count(name)?))
    }

    pub(in crate::sql) fn optional_moment(&self, name: &str) -> Result<Option<Timestamp>, StorageError> {
        Ok(self.optional_count(name)?.map(Timestamp))
    }

    pub(in crate::sql) fn float_bits(&self, name: &str) -> Result<f64, StorageError> {
        let bits: i64 = self.row.try_get(name)?;
        Ok(f64::from_bits(bits.cast_unsigned()))
    }

    pub(in crate::sql) fn hash(&self, name: &str) -> Result<[u8; 32], StorageError> {
        let bytes: Vec<u8> = self.row.try_get(name)?;
        bytes.try_into().map_err(|bytes: Vec<u8>| self.corrupt(name, &format!("{} bytes", bytes.len())))
    }

    pub(in crate::sql) fn optional_bytes(&self, name: &str) -> Result<Option<Vec<u8>>, StorageError> {
        Ok(self.row.try_get(name)?)
    }

    fn corrupt(&self, name: &str, detail: &dyn Display) -> StorageError {
        StorageError::Corrupt { what: self.what, detail: format!("column {name}: {detail}") }
    }
}
