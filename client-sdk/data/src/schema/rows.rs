//! Counts the rows of a table before a schema for it is known.

use std::path::Path;

use super::{field, sheet::Sheet};
use crate::{DataError, Fault, Limits};

/// Returns the number of rows of a CSV file with a header line.
///
/// # Errors
/// [`DataError`] if the file cannot be read, a number stands in its header, a line has more or fewer fields than the
/// header, or there are no rows.
pub fn count_rows(path: &Path, limits: &Limits) -> Result<u64, DataError> {
    let sheet = Sheet::open(path, limits)?;
    if let Some(number) = sheet.header.iter().find(|name| field::number(name, sheet.delimiter).is_some()) {
        let reason = format!("begins with the number {number}, so it has no header line");
        return Err(DataError::invalid(path, Fault::new(reason, "name the columns in the first line")));
    }
    let mut count = 0;
    sheet.for_each(path, |_, _| {
        count += 1;
        limits.expect_room(path, count, 0)
    })?;
    if count == 0 {
        let fault = Fault::new("has no rows", "choose a table with at least one example");
        return Err(DataError::invalid(path, fault));
    }
    Ok(count)
}
