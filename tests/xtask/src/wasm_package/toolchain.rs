//! Finds a compiler for WebAssembly: the system's if it is installed, otherwise rustup's.
//!
//! The standard library is compiled, too, without panic messages and optimised for size instead of speed.

use crate::process::{announce, run, spelled, succeeds};
use crate::workspace::{Failure, cargo, root, target};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const TARGET: &str = "wasm32-unknown-unknown";
const PROFILE: &str = "wasm";
/// Debian's compiler, and the matching sources of the standard library.
const SYSTEM_RUSTC: &str = "/usr/bin/rustc";
const SYSTEM_CARGO: &str = "/usr/bin/cargo";
const SYSTEM_SOURCE: &str = "/usr/lib/rustlib/src/rust/library";
/// Compiler flags: 128-bit SIMD, which every current browser supports; a trap instead of a panic message; and less
/// inlining, for size.
const FLAGS: &str = "-C target-feature=+simd128 -Z unstable-options -C panic=immediate-abort \
                     -C llvm-args=-inline-threshold=25";

/// Compiles `folkmoot-wasm` with these features and returns the path of the module.
///
/// # Errors
/// Fails if the compiler is missing, with the command that installs it, or if the compilation fails.
pub fn compile(features: &str) -> Result<PathBuf, Failure> {
    let mut command = compiler()?;
    command.args(["rustc", "--locked", "--package", "folkmoot-wasm", "--lib", "--crate-type", "cdylib"]);
    command.args(["--profile", PROFILE, "--target", TARGET]);
    command.args(["--no-default-features", "--features", features]);
    command.args(["-Z", "build-std=std,panic_abort", "-Z", "build-std-features=optimize_for_size"]);
    // Building the standard library is unstable. It is safe here, because its sources come with the compiler.
    command.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", FLAGS).current_dir(root());
    println!("xtask: wasm: {}", spelled(&command));
    run(&mut command)?;
    Ok(target().join(TARGET).join(PROFILE).join("folkmoot_wasm.wasm"))
}

/// Returns `true` if a compiler is present or rustup can install one.
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
            "the compiler for {TARGET} is missing. Run `rustup target add {TARGET}` and `rustup component add rust-src`, \
             or on Debian `apt-get install rustc-web cargo-web rust-web-src`"
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

/// Returns the linker for the system's compiler, from rustup or from Debian's package `lld`. Returns `None` if the
/// linker or the compiler is missing.
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
    // The wrapper `gcc-ld/wasm-ld` in the same folder does not work outside its toolchain.
    hosts.map(|host| host.path().join("bin/rust-lld")).find(|linker| linker.is_file())
}

fn debian_linker() -> Option<PathBuf> {
    let known = ["/usr/bin/rust-lld", "/usr/bin/wasm-ld"].map(PathBuf::from);
    known.into_iter().find(|linker| linker.is_file())
}
