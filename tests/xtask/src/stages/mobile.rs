//! Type-checks the client for iOS and Android, so that every commit compiles for both.
//!
//! This stage generates no machine code and links nothing, because linking needs Apple's and Google's tools
//! (`build-xcframework.sh`, `build-native.sh`). `cargo xtask campaign` also generates machine code.

use crate::outcome::Outcome;
use crate::process::{announce, run as run_command, spelled, succeeds};
use crate::workspace::{Failure, cargo, cargo_build_of_packages, root, target};
use std::env;
use std::process::Command;

const TARGETS: [&str; 2] = ["aarch64-apple-ios", "aarch64-linux-android"];
const CHECK: [&str; 5] = ["check", "--locked", "--package", "folkmoot-mobile", "--lib"];
/// The cargo argument for the slim variant. The packages' build scripts pass it for `--slim`.
const SLIM: &str = "--no-default-features";
/// Flags for clang without an SDK. The C code of two dependencies needs few system headers.
const C_FLAGS: &str = "-ffreestanding -DRING_CORE_NOSTDLIBINC=1";

/// Returns `true` if the compiler for phones is present.
pub fn is_present() -> bool {
    succeeds(Command::new("clang").arg("--version")) && succeeds(Command::new("llvm-ar").arg("--version"))
}

/// Checks the library with the packages' features, including the GPU, for each target. Also checks the slim variant for
/// the last target, and generates the Swift sources.
///
/// # Errors
/// Fails if the library does not compile, or if the Swift generator rejects it.
pub fn test() -> Result<Outcome, Failure> {
    write_swift()?;
    compile(&CHECK, &TARGETS)?;
    // One target is enough for the slim variant: it removes the same code on every system, and most of its crates are
    // already checked.
    compile(&[&CHECK[..], &[SLIM]].concat(), &TARGETS[1..])
}

/// Generates machine code, too, like a release of the packages.
///
/// # Errors
/// Fails if the library does not compile.
pub fn generate() -> Result<Outcome, Failure> {
    let rustc = ["rustc", "--locked", "--package", "folkmoot-mobile", "--lib", "--crate-type", "staticlib"];
    compile(&[&rustc[..], &["--profile", "mobile"]].concat(), &TARGETS)
}

/// Runs cargo for each target.
fn compile(arguments: &[&str], targets: &[&str]) -> Result<Outcome, Failure> {
    if !is_present() {
        return Outcome::left_out(
            "mobile",
            "clang or llvm-ar is missing. Run `cargo xtask test --only install`",
        );
    }
    let missing: Vec<&str> = targets.iter().copied().filter(|target| !add_target(target)).collect();
    if !missing.is_empty() {
        let targets = missing.join(" ");
        return Outcome::left_out(
            "mobile",
            format!("rustup could not add the targets. Run `rustup target add {targets}` to see why"),
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
            // The build requires the variable, but does not read the folder.
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

/// Generates the Swift sources. Of all generators, the Swift one is the strictest about the facade, and it needs no
/// Swift compiler.
fn write_swift() -> Result<(), Failure> {
    run_command(&mut cargo_build_of_packages())?;
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

    /// Shell functions that replace the tools. `cargo` prints its arguments and stops the script before it writes
    /// files.
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
            assert_eq!(calls(script, &["--gpu"]), "", "{script}: an unknown option builds nothing");
        }
    }

    /// Runs a script with [`STUBS`] and returns its calls of cargo for phone targets.
    fn calls(script: &str, arguments: &[&str]) -> String {
        let mut run = Command::new("bash");
        run.args(["-c", STUBS]).arg(root().join("mobile-bindings").join(script)).args(arguments);
        // The variable must name a folder, but the script does not read it.
        let output = run.env("ANDROID_NDK_HOME", root()).output().expect("there is a bash");
        assert!(!output.status.success(), "the stub must stop the script before it writes anything");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let calls = said.lines().filter(|line| line.starts_with("cargo ") && line.contains("mobile "));
        calls.collect::<Vec<_>>().join("\n")
    }
}
