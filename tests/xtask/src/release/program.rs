use crate::process::{announce, output, run, spelled, succeeds};
use crate::workspace::{Failure, cargo, cargo_build_of_packages, failure, host, root, target, write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The licences, which every package has.
pub const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// The built program, without debug information.
pub struct Program {
    /// The file.
    pub file: PathBuf,
    /// The version of the workspace.
    pub version: String,
    /// The platform, such as `x86_64-unknown-linux-gnu`.
    pub triple: String,
    /// True if it was built for a test only.
    pub is_debug: bool,
}

impl Program {
    /// Builds the program: with optimisation and components, or as the tests use it. Without a platform, it is for this
    /// machine.
    pub fn build(debug: bool, platform: Option<&str>) -> Result<Self, Failure> {
        let mut build = match debug {
            true => cargo_build_of_packages(),
            false => {
                let mut build = cargo(&["build", "--release", "--locked", "--package", "folkmoot-cli"]);
                build.args(["--features", "components"]);
                build
            }
        };
        if let Some(platform) = platform {
            add_platform(platform)?;
            build.args(["--target", platform]);
        }
        println!("xtask: release: {}", spelled(&build));
        run(&mut build)?;
        let name = format!("folkmoot{}", env::consts::EXE_SUFFIX);
        let built = target().join(platform.unwrap_or_default());
        let built = built.join(if debug { "debug" } else { "release" }).join(&name);
        let file = target().join("release-program").join(name);
        write(&file, "")?;
        fs::copy(&built, &file).map_err(|error| failure(&built, &error))?;
        // A program that keeps its symbols works as well.
        succeeds(Command::new("strip").arg(&file));
        let triple = platform.map_or_else(host, |platform| Ok(platform.to_owned()))?;
        Ok(Self { file, version: version(), triple, is_debug: debug })
    }

    /// Returns `true` if the program needs no library of the system.
    pub fn is_static(&self) -> bool {
        self.triple.ends_with("-linux-musl")
    }

    /// Returns the completions of a shell.
    pub fn completions(&self, shell: &str) -> Result<String, Failure> {
        output(Command::new(&self.file).args(["completions", shell]))
    }

    /// Copies the program to a path.
    pub fn copy_to(&self, path: &Path) -> Result<(), Failure> {
        write(path, "")?;
        fs::copy(&self.file, path).map(|_| ()).map_err(|error| failure(path, &error))
    }
}

/// Installs the standard library for a platform.
fn add_platform(platform: &str) -> Result<(), Failure> {
    let mut add = Command::new("rustup");
    add.args(["target", "add", platform]);
    announce(&add);
    run(&mut add)?;
    // The dependencies in C need the headers of musl.
    match !platform.ends_with("-linux-musl") || succeeds(Command::new("musl-gcc").arg("--version")) {
        true => Ok(()),
        false => Err(Failure(format!(
            "musl-gcc is missing, which compiles the C code for {platform}. On Debian: `apt-get install musl-tools`"
        ))),
    }
}

/// Copies a file of the repository to a path.
pub fn copy(name: &str, path: &Path) -> Result<(), Failure> {
    let source = root().join(name);
    let content = fs::read(&source).map_err(|error| failure(&source, &error))?;
    write(path, content)
}

/// Returns the version of all packages. This program has it, too.
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}
