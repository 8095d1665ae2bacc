//! Type-checks the client for phones, so that nothing goes in that does not compile there.
//!
//! No machine code is generated and nothing is linked: that needs Apple's and Google's own tools
//! (`build-xcframework.sh`, `build-native.sh`). `cargo xtask campaign` generates the code as well.

use crate::outcome::Outcome;
use crate::process::{announce, run as run_command, spelled, succeeds};
use crate::workspace::{Failure, cargo, root, target};
use std::env;
use std::process::Command;

const TARGETS: [&str; 2] = ["aarch64-apple-ios", "aarch64-linux-android"];
const CHECK: [&str; 5] = ["check", "--locked", "--package", "folkmoot-mobile", "--lib"];
/// What a slim variant is built with: the packages' own `--slim` passes it on.
const SLIM: &str = "--no-default-features";
/// What clang is told beside the target, where there is no SDK: two dependencies have C code, which needs little of a system.
const C_FLAGS: &str = "-ffreestanding -DRING_CORE_NOSTDLIBINC=1";

/// Tells whether there is what compiles for phones.
pub fn is_present() -> bool {
    succeeds(Command::new("clang").arg("--version")) && succeeds(Command::new("llvm-ar").arg("--version"))
}

/// Checks the library as the packages have it, with the GPU, for each target; the slim one for the last of them; and
/// writes the Swift that calls it.
///
/// # Errors
/// Returns what does not compile, or what Swift's generator does not take.
pub fn test() -> Result<Outcome, Failure> {
    write_swift()?;
    compile(&CHECK, &TARGETS)?;
    // What the slim variant leaves out is the same for every system, and most of it is checked by now.
    compile(&[&CHECK[..], &[SLIM]].concat(), &TARGETS[1..])
}

/// Generates the machine code too, as a release of the packages does.
///
/// # Errors
/// Returns what does not compile.
pub fn generate() -> Result<Outcome, Failure> {
    let rustc = ["rustc", "--locked", "--package", "folkmoot-mobile", "--lib", "--crate-type", "staticlib"];
    compile(&[&rustc[..], &["--profile", "mobile"]].concat(), &TARGETS)
}

/// Calls cargo for each target.
fn compile(arguments: &[&str], targets: &[&str]) -> Result<Outcome, Failure> {
    if !is_present() {
        return Outcome::left_out(
            "mobile",
            "there is no clang with llvm-ar: `cargo xtask test --only install`",
        );
    }
    let missing: Vec<&str> = targets.iter().copied().filter(|target| !add_target(target)).collect();
    if !missing.is_empty() {
        let targets = missing.join(" ");
        return Outcome::left_out(
            "mobile",
            format!("rustup cannot add the targets: `rustup target add {targets}`"),
        );
    }
    for target in targets {
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// In the place of the tools: cargo says how it is called, and ends the script where it would go on to write files.
    const STUBS: &str = r#"
        cargo() {
            echo "cargo $*" >&2
            case $1 in
                build) exit 9 ;;
                metadata) echo '"target_directory":"/nowhere"' ;;
            esac
        }
        cargo-ndk() { :; }
        rustup() { :; }
        xcodebuild() { :; }
        lipo() { :; }
        uname() { echo Darwin; }
        . "$0"
    "#;

    #[test]
    fn every_package_has_the_gpu_unless_it_is_slim() {
        for (script, target) in [
            ("kotlin/build-native.sh", "-t arm64-v8a"),
            ("swift/build-xcframework.sh", "--target aarch64-apple-ios"),
        ] {
            let whole = calls(script, &[]);
            assert!(whole.contains(target) && whole.contains("--profile mobile"), "{whole}");
            assert!(!whole.contains("features"), "{whole}");
            let slim = calls(script, &["--slim"]);
            assert!(slim.contains(target) && slim.contains(SLIM), "{slim}");
            assert_eq!(calls(script, &["--gpu"]), "", "{script}: an option that there is not builds nothing");
        }
    }

    /// Runs a script with [`STUBS`], and returns how cargo was to compile for phones.
    fn calls(script: &str, arguments: &[&str]) -> String {
        let mut run = Command::new("bash");
        run.args(["-c", STUBS]).arg(root().join("mobile-bindings").join(script)).args(arguments);
        // It has to be a folder, and is not looked into.
        let output = run.env("ANDROID_NDK_HOME", root()).output().expect("there is a bash");
        assert!(!output.status.success(), "it was ended before it wrote anything");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let calls = said.lines().filter(|line| line.starts_with("cargo ") && line.contains("mobile "));
        calls.collect::<Vec<_>>().join("\n")
    }
}
