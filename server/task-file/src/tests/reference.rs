//! The reference page.

use std::path::Path;

use super::super::{reference, shape};

#[test]
fn the_committed_page_is_what_the_code_says() {
    let package = std::env::var("CARGO_MANIFEST_DIR").expect("cargo says where the package is");
    let path = Path::new(&package).join("../../docs/reference/task.md");
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    let is_current = committed.trim_end() == reference().trim_end();
    assert!(is_current, "run `cargo xtask schema` and commit docs/reference/task.md");
}

#[test]
fn every_key_occurs() {
    let page = reference();
    for (path, table) in shape::tables() {
        for key in &table.keys {
            assert!(page.contains(&format!("`{}`", key.name)), "{path}.{}", key.name);
        }
    }
}
