//! Type-checks the client for phones, so that nothing goes in that does not compile there.
//!
//! No machine code is generated and nothing is linked: that needs Apple's and Google's own tools
//! (`build-xcframework.sh`, `build-native.sh`). `cargo xtask campaign` generates the code as well.

use crate::install::announce;
use crate::process::{run as run_command, spelled, succeeds};
use crate::suite::outcome::Outcome;
use crate::workspace::{Failure, cargo, root, target};
use std::env;
use std::process::Command;

const TARGETS: [&str; 2] = ["aarch64-apple-ios", "aarch64-linux-android"];
/// What clang is told beside the target, where there is no SDK: two dependencies have C code, which needs little of a system.
const C_FLAGS: &str = "-ffreestanding -DRING_CORE_NOSTDLIBINC=1";

/// Tells whether there is what compiles for phones.
pub fn is_present() -> bool {
    succeeds(Command::new("clang").arg("--version")) && succeeds(Command::new("llvm-ar").arg("--version"))
}

/// Checks the library for each target, and writes the Swift that calls it.
///
/// # Errors
/// Returns what does not compile, or what Swift's generator does not take.
pub fn test() -> Result<Outcome, Failure> {
    write_swift()?;
    compile(&["check", "--locked", "--package", "folkmoot-mobile", "--lib"])
}

/// Generates the machine code too, as a release of the packages does.
///
/// # Errors
/// Returns what does not compile.
pub fn generate() -> Result<Outcome, Failure> {
    let rustc = ["rustc", "--locked", "--package", "folkmoot-mobile", "--lib", "--crate-type", "staticlib"];
    compile(&[&rustc[..], &["--profile", "mobile"]].concat())
}

/// Calls cargo for each target.
fn compile(arguments: &[&str]) -> Result<Outcome, Failure> {
    if !is_present() {
        return Outcome::left_out(
            "mobile",
            "there is no clang with llvm-ar: `cargo xtask test --only install`",
        );
    }
    let missing: Vec<&str> = TARGETS.into_iter().filter(|target| !add_target(target)).collect();
    if !missing.is_empty() {
        let targets = missing.join(" ");
        return Outcome::left_out(
            "mobile",
            format!("rustup cannot add the targets: `rustup target add {targets}`"),
        );
    }
    for target in TARGETS {
        let mut build = cargo(arguments);
        build.args(["--target", target]);
        if !cfg!(target_os = "macos") {
            let headers = root().join("tests/xtask/freestanding");
            let name = target.replace('-', "_");
            build.env(format!("CC_{name}"), "clang").env(format!("AR_{name}"), "llvm-ar");
            build.env(format!("CFLAGS_{name}"), format!("{C_FLAGS} -isystem {}", headers.display()));
            // Asked for, and not looked into.
            build.env("SDKROOT", &headers);
        }
        println!("xtask: mobile: {}", spelled(&build));
        run_command(&mut build)?;
    }
    Ok(Outcome::done())
}

fn add_target(target: &str) -> bool {
    let mut add = Command::new("rustup");
    add.args(["target", "add", target]);
    announce(&add);
    succeeds(&mut add)
}

/// Its generator is stricter than the others about the facade, and is there where no Swift is.
fn write_swift() -> Result<(), Failure> {
    let mut build = cargo(&["build", "--workspace", "--lib", "--test", "tidy"]);
    run_command(build.args(["--bin", "uniffi-bindgen", "--bin", "folkmoot"]))?;
    let built = target().join("debug");
    let library = format!("{}folkmoot_mobile{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let mut generate = Command::new(built.join(format!("uniffi-bindgen{}", env::consts::EXE_SUFFIX)));
    generate.arg("generate").arg(built.join(library)).args(["--language", "swift", "--no-format"]);
    generate.arg("--out-dir").arg(target().join("swift")).current_dir(root());
    run_command(&mut generate)
}
