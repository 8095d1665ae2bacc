//! A compiler for WebAssembly: rustup's where it can be had, else that of the system's packages.
//!
//! The standard library is compiled too: without its messages of panics, and for size rather than speed.

use crate::process::{announce, run, spelled, succeeds};
use crate::workspace::{Failure, cargo, root, target};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const TARGET: &str = "wasm32-unknown-unknown";
const PROFILE: &str = "wasm";
/// Debian's compiler, and the standard library's source that belongs to it.
const SYSTEM_RUSTC: &str = "/usr/bin/rustc";
const SYSTEM_CARGO: &str = "/usr/bin/cargo";
const SYSTEM_SOURCE: &str = "/usr/lib/rustlib/src/rust/library";
/// Vectors of 128 bits, which every browser of today has; a trap instead of a message where a program is wrong; and less
/// inlining, for size.
const FLAGS: &str = "-C target-feature=+simd128 -Z unstable-options -C panic=immediate-abort \
                     -C llvm-args=-inline-threshold=30";

/// Compiles `folkmoot-wasm` with these features and returns the module.
///
/// # Errors
/// Returns that there is no compiler and how to get one, or that it failed.
pub fn compile(features: &str) -> Result<PathBuf, Failure> {
    let mut command = compiler()?;
    command.args(["rustc", "--locked", "--package", "folkmoot-wasm", "--lib", "--crate-type", "cdylib"]);
    command.args(["--profile", PROFILE, "--target", TARGET]);
    command.args(["--no-default-features", "--features", features]);
    command.args(["-Z", "build-std=std,panic_abort", "-Z", "build-std-features=optimize_for_size"]);
    // Building the standard library is not stable; what it is built from belongs to the compiler, so it fits.
    command.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", FLAGS).current_dir(root());
    println!("xtask: wasm: {}", spelled(&command));
    run(&mut command)?;
    Ok(target().join(TARGET).join(PROFILE).join("folkmoot_wasm.wasm"))
}

/// Tells whether there is a compiler, or rustup can bring one.
pub fn is_present() -> bool {
    system_linker().is_some() || add_with_rustup()
}

fn compiler() -> Result<Command, Failure> {
    if let Some(linker) = system_linker() {
        let mut command = Command::new(SYSTEM_CARGO);
        let path = env::var_os("PATH").unwrap_or_default();
        let first = env::join_paths([PathBuf::from("/usr/bin")].into_iter().chain(env::split_paths(&path)));
        command.env("PATH", first.unwrap_or(path)).env("RUSTC", SYSTEM_RUSTC);
        command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
        return Ok(command);
    }
    match add_with_rustup() {
        true => Ok(cargo(&[])),
        false => Err(Failure(format!(
            "there is no compiler for {TARGET}: `rustup target add {TARGET}` and `rustup component add rust-src`, or on \
             Debian `apt-get install rustc-web cargo-web rust-web-src`"
        ))),
    }
}

fn add_with_rustup() -> bool {
    let mut target = Command::new("rustup");
    target.args(["target", "add", TARGET]);
    let mut source = Command::new("rustup");
    source.args(["component", "add", "rust-src"]);
    announce(&target);
    succeeds(&mut target) && succeeds(&mut source)
}

/// The linker that goes with the system's compiler, if both are there: rustup's own, or that of Debian's package `lld`.
fn system_linker() -> Option<PathBuf> {
    let has_compiler =
        [SYSTEM_RUSTC, SYSTEM_CARGO, SYSTEM_SOURCE].iter().all(|path| Path::new(path).exists());
    has_compiler.then(|| rustup_linker().or_else(debian_linker)).flatten()
}

fn rustup_linker() -> Option<PathBuf> {
    let home = env::var_os("RUSTUP_HOME").map(PathBuf::from);
    let home = home.or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".rustup")))?;
    let toolchains = fs::read_dir(home.join("toolchains")).ok()?.flatten();
    let libraries = toolchains.map(|toolchain| toolchain.path().join("lib/rustlib"));
    let hosts = libraries.filter_map(|library| fs::read_dir(library).ok()).flat_map(Iterator::flatten);
    // The wrapper `gcc-ld/wasm-ld` beside it does not work from outside its toolchain.
    hosts.map(|host| host.path().join("bin/rust-lld")).find(|linker| linker.is_file())
}

fn debian_linker() -> Option<PathBuf> {
    let known = ["/usr/bin/rust-lld", "/usr/bin/wasm-ld"].map(PathBuf::from);
    known.into_iter().find(|linker| linker.is_file())
}
