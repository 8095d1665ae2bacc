//! The package for Kotlin: the native library, the sources that call it, and the tests on the JVM.

use crate::workspace::{Failure, cargo, root, run as run_command, spelled, succeeds, target};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const FOLDER: &str = "mobile-bindings/kotlin";

/// Tells whether there are Java and Maven.
pub fn is_present() -> bool {
    succeeds(Command::new("javac").arg("-version")) && succeeds(Command::new("mvn").arg("--version"))
}

/// Builds the library with the workspace's set of features, and tests the package with it; where there is no Java it says so,
/// and on a build server that is an error.
///
/// # Errors
/// Returns what is missing, what cannot be built, or that a test failed.
pub fn test() -> Result<(), Failure> {
    if !is_present() {
        let is_build_server = env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
        if is_build_server {
            return Err(Failure("the tests of the package for Kotlin need Java 17 and Maven".into()));
        }
        println!(
            "xtask: kotlin: LEFT OUT, for there is no Java 17 with Maven: `cargo xtask test --only install`"
        );
        return Ok(());
    }
    // As for Python, so that nothing is compiled twice.
    let mut build = cargo(&["build", "--workspace", "--lib", "--test", "tidy"]);
    build.args(["--bin", "uniffi-bindgen", "--bin", "folkmoot"]);
    println!("xtask: kotlin: {}", spelled(&build));
    run_command(&mut build)?;
    let (native, maven) = (native_folder(), maven_folder());
    generate(&native)?;
    let mut tests = Command::new("mvn");
    tests.args(["-B", "--no-transfer-progress", "-f"]).arg(root().join(FOLDER).join("pom.xml")).arg("verify");
    tests.arg(define("folkmoot.native", &native)).arg(define("folkmoot.build", &maven));
    tests.env("FOLKMOOT_PROGRAM", target().join("debug").join(program("folkmoot")));
    println!("xtask: kotlin: {}", spelled(&tests));
    run_command(&mut tests)
}

/// Where the library and the sources that call it lie.
pub fn native_folder() -> PathBuf {
    target().join("kotlin").join("native")
}

/// Where Maven builds.
pub fn maven_folder() -> PathBuf {
    target().join("kotlin").join("maven")
}

/// Writes the sources that call the library, and puts the library beside them.
fn generate(native: &Path) -> Result<(), Failure> {
    let library = format!("{}folkmoot_mobile{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let built = target().join("debug").join(&library);
    let mut generate = Command::new(target().join("debug").join(program("uniffi-bindgen")));
    generate.arg("generate").arg(&built).args(["--language", "kotlin", "--no-format", "--out-dir"]);
    run_command(generate.arg(native.join("bindings")).current_dir(root()))?;
    let copied = native.join(library);
    fs::copy(&built, &copied).map_err(|error| Failure(format!("{}: {error}", copied.display())))?;
    Ok(())
}

fn define(name: &str, value: &Path) -> String {
    format!("-D{name}={}", value.display())
}

fn program(name: &str) -> String {
    format!("{name}{}", env::consts::EXE_SUFFIX)
}
