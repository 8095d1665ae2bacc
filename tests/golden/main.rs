//! Tests that the wire format does not change by accident. They compare bytes, texts and codes with committed files.
//!
//! `GOLDEN_BLESS=1 cargo test -p folkmoot-tests --test golden` rewrites the files. A difference in a file is a change
//! of the protocol and needs a new protocol version.

mod codes;
mod fixtures;
mod messages;
mod signing;
mod update;

use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    let tests = std::env::var("CARGO_MANIFEST_DIR").expect("cargo says where the tests are");
    Path::new(&tests).join("golden/data")
}

/// Compares `actual` with a committed file, or writes the file if `GOLDEN_BLESS` is set.
#[track_caller]
fn assert_golden(name: &str, actual: &str) {
    let path = folder().join(name);
    if std::env::var_os("GOLDEN_BLESS").is_some() {
        std::fs::write(&path, actual).expect("the golden files can be written");
        return;
    }
    let expected =
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(expected == actual, "{name} has changed\n--- committed\n{expected}\n--- now\n{actual}");
}

/// Formats bytes as hexadecimal, 32 bytes per line.
fn hex_lines(bytes: &[u8]) -> String {
    let line = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + "\n";
    bytes.chunks(32).map(line).collect()
}
