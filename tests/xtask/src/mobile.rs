//! The client for phones, compiled as static libraries: so that nothing goes in that does not compile there.
//!
//! Nothing is linked and nothing runs: that needs Apple's and Google's own tools (`build-xcframework.sh`, `build-native.sh`).

use crate::install::announce;
use crate::workspace::{Failure, cargo, root, run as run_command, spelled, succeeds, target};
use std::env;
use std::process::Command;

const TARGETS: [&str; 2] = ["aarch64-apple-ios", "aarch64-linux-android"];
/// What clang is told beside the target, where there is no SDK: two dependencies have C code, which needs little of a system.
const C_FLAGS: &str = "-ffreestanding -DRING_CORE_NOSTDLIBINC=1";

/// Tells whether there is what compiles for phones.
pub fn is_present() -> bool {
    succeeds(Command::new("clang").arg("--version")) && succeeds(Command::new("llvm-ar").arg("--version"))
}

/// Compiles the library for each target, and writes the Swift that calls it; where the compilers are not, it says so.
///
/// # Errors
/// Returns what does not compile, or what Swift's generator does not take.
pub fn test() -> Result<(), Failure> {
    write_swift()?;
    for target in TARGETS {
        if !is_present() || !add_target(target) {
            println!(
                "xtask: mobile: {target} LEFT OUT: it needs clang, llvm-ar and `rustup target add {target}`"
            );
            continue;
        }
        let mut build =
            cargo(&["rustc", "--package", "folkmoot-mobile", "--lib", "--crate-type", "staticlib"]);
        build.args(["--target", target]);
        // What matters is that it compiles, and how soon.
        build.env("CARGO_PROFILE_DEV_OPT_LEVEL", "0").env("CARGO_PROFILE_DEV_DEBUG", "0");
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
    Ok(())
}

fn add_target(target: &str) -> bool {
    let mut add = Command::new("rustup");
    add.args(["target", "add", target]);
    announce(&add);
    succeeds(&mut add)
}

/// Nobody compiles it here, but its generator is stricter than the others about the facade.
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
