//! Tests of the private parts of `src/sql/base/many.rs`.

use super::*;

#[test]
fn placeholders_are_numbered_through() {
    assert_eq!(placeholder_rows(2, 3), "($1, $2, $3), ($4, $5, $6)");
    assert_eq!(placeholders(3, 1), "$3");
}
