//! What is on the wire must not change by accident: bytes, texts and codes are compared with committed files.
//!
//! `GOLDEN_BLESS=1 cargo test -p folkmoot-tests --test golden` writes them anew; the difference is then a
//! change of the protocol, and belongs into its version.

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

/// Compares with a committed file, or writes it when that is asked for.
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

/// Writes bytes as hexadecimal, 32 bytes a line.
fn hex_lines(bytes: &[u8]) -> String {
    let line = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + "\n";
    bytes.chunks(32).map(line).collect()
}
