//! `cargo xtask bench codec-wasm`: measures the codecs as WebAssembly, in Node.js instead of a browser.

use crate::process::{run, succeeds};
use crate::workspace::{Failure, cargo, root, target};
use std::process::Command;

const TARGET: &str = "wasm32-wasip1";
const EXAMPLE: &str = "codec_speed";
const RUNNER: &str = "tests/bench/codec/wasi.mjs";

/// Builds the example `codec_speed` for wasm32 with 128-bit SIMD, and runs it.
///
/// # Errors
/// Fails if a tool is missing, or if the benchmark fails.
pub fn codec(arguments: &[String]) -> Result<(), Failure> {
    if !succeeds(Command::new("node").arg("--version")) {
        return Err(Failure("Node.js 20 or later is missing. Run `apt-get install nodejs`".to_owned()));
    }
    if !succeeds(Command::new("rustup").args(["target", "add", TARGET])) {
        return Err(Failure(format!(
            "the target {TARGET} could not be installed. Run `rustup target add {TARGET}` to see why"
        )));
    }
    let mut build = cargo(&["build", "--release", "--locked", "--package", "folkmoot-update"]);
    build.args(["--example", EXAMPLE, "--target", TARGET]).env("RUSTFLAGS", "-Ctarget-feature=+simd128");
    run(&mut build)?;
    let program = target().join(TARGET).join("release/examples").join(EXAMPLE).with_extension("wasm");
    run(Command::new("node").arg("--no-warnings").arg(root().join(RUNNER)).arg(program).args(arguments))
}
