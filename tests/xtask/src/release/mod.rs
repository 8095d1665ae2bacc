//! `cargo xtask release`: makes the files of a release that this platform can make. Tries the packages of the program, of Python and of
//! Kotlin where nothing else is installed.

mod archive;
mod checksums;
mod debian;
mod program;
mod sbom;
mod swift;
mod trial;

use crate::outcome::Outcome;
use crate::process::{run as run_command, spelled};
use crate::stages::{kotlin, wheel};
use crate::wasm_package;
use crate::workspace::{Failure, empty, failure, root, target};
use clap::{Args, ValueEnum};
use program::Program;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Options for making the files of a release.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Package the debug build of the program, to test the packages in less time
    #[arg(long)]
    debug: bool,
    /// Make only these files. The default is all that this platform can make
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Kind>,
    /// Make the archive for another platform that this one can run, such as `x86_64-unknown-linux-musl`: a program for every Linux
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,
}

/// A file of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// The program in an archive
    Archive,
    /// The program and its systemd unit in a package for Debian and Ubuntu
    Deb,
    /// The Python package with its native library
    Wheel,
    /// The browser package
    Npm,
    /// The Kotlin package in the layout of a Maven repository, with the native library of this platform
    Maven,
    /// The XCFramework for Apple's systems, and the Swift package that downloads it
    Swift,
    /// The list of all packages that the program is built from, in CycloneDX
    Sbom,
}

impl Kind {
    /// The files that the stage makes. The stages for Python and the browser make and try the others.
    const OF_PROGRAM: [Kind; 3] = [Kind::Archive, Kind::Deb, Kind::Sbom];

    /// Returns the reason why this platform cannot make the file; `None` if it can.
    fn missing(self) -> Option<&'static str> {
        match self {
            Self::Deb if !debian::is_possible() => Some(debian::MISSING),
            Self::Maven if !kotlin::is_present() => Some(kotlin::MISSING),
            Self::Swift if cfg!(not(target_os = "macos")) => Some(swift::MISSING),
            _ => None,
        }
    }
}

/// Makes the files, tries them, and prints their paths. Publishes nothing.
///
/// # Errors
/// Fails if this platform cannot make a file that `--only` names, a tool is missing, a build fails, or a package does not work.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { debug, only, target } = arguments;
    if let Some(why) = only.iter().find_map(|kind| kind.missing()) {
        return Err(Failure(why.to_owned()));
    }
    let wanted = match (only.as_slice(), target) {
        ([], None) => Kind::value_variants(),
        ([] | [Kind::Archive], Some(_)) => &[Kind::Archive],
        (_, Some(_)) => {
            return Err(Failure("--target makes an archive only. Leave --only out".to_owned()));
        }
        (only, None) => only,
    };
    for file in make(wanted, *debug, target.as_deref())? {
        println!("xtask: release: {}", file.display());
    }
    Ok(())
}

/// Makes and tries the packages of the debug build.
///
/// # Errors
/// As for [`run`].
pub fn test() -> Result<Outcome, Failure> {
    let made = make(&Kind::OF_PROGRAM, true, None)?;
    // The checksums are no package.
    Ok(Outcome { passed: made.len().saturating_sub(1), ..Outcome::done() })
}

fn make(wanted: &[Kind], debug: bool, platform: Option<&str>) -> Result<Vec<PathBuf>, Failure> {
    let folder = target().join("release-files");
    empty(&folder)?;
    let is_possible = |kind: &Kind| match kind.missing() {
        Some(why) => {
            println!("xtask: release: SKIPPED: {kind:?}: {why}");
            false
        }
        None => true,
    };
    let wanted: Vec<Kind> = wanted.iter().copied().filter(is_possible).collect();
    let has = |kind| wanted.contains(&kind);
    let mut made = Vec::new();
    if [Kind::Archive, Kind::Deb, Kind::Maven].into_iter().any(has) {
        made = of_program(&wanted, &Program::build(debug, platform)?, &folder)?;
    }
    if has(Kind::Sbom) {
        made.push(sbom::make(&folder)?);
    }
    if has(Kind::Wheel) {
        let file = copied(&wheel::release()?, &folder)?;
        trial::wheel(&file)?;
        made.push(file);
    }
    if has(Kind::Npm) {
        made.push(npm(&folder)?);
    }
    if has(Kind::Swift) {
        made.extend(swift::make(&folder)?);
    }
    made.push(checksums::make(&folder, &made)?);
    Ok(made)
}

/// Makes and tries the files that have the program, or that are tried with it.
fn of_program(wanted: &[Kind], program: &Program, folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut made = Vec::new();
    if wanted.contains(&Kind::Archive) {
        let file = archive::make(program, folder)?;
        trial::archive(&file, program.is_static())?;
        made.push(file);
    }
    if wanted.contains(&Kind::Deb) {
        let file = debian::make(program, folder)?;
        trial::deb(&file)?;
        made.push(file);
    }
    if wanted.contains(&Kind::Maven) {
        made.push(maven(program, folder)?);
    }
    Ok(made)
}

/// Packs a Maven repository with the Kotlin package. Its files are where a Maven repository has them, with checksums, so that they
/// need only signatures to be published.
fn maven(program: &Program, folder: &Path) -> Result<PathBuf, Failure> {
    let repository = kotlin::release(&program.file)?;
    let file = folder.join(format!("folkmoot-{}-maven-{}.zip", program.version, kotlin::platform()));
    let mut pack = Command::new("jar");
    pack.args(["--create", "--no-manifest", "--file"]).arg(&file).arg("-C").arg(repository);
    pack.arg(format!("org/folkmoot/folkmoot/{}", program.version));
    println!("xtask: release: {}", spelled(&pack));
    run_command(&mut pack)?;
    Ok(file)
}

/// Builds and packs the browser package.
fn npm(folder: &Path) -> Result<PathBuf, Failure> {
    wasm_package::run(&wasm_package::Arguments::default())?;
    let mut pack = Command::new("npm");
    pack.args(["pack", "--silent", "--pack-destination"]).arg(folder);
    println!("xtask: release: {}", spelled(&pack));
    run_command(pack.current_dir(root().join(wasm_package::PACKAGE)))?;
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut packed = files.filter(|path| path.extension().is_some_and(|one| one == "tgz"));
    packed.next().ok_or_else(|| Failure(format!("npm left no package in {}", folder.display())))
}

fn copied(file: &Path, folder: &Path) -> Result<PathBuf, Failure> {
    let to = folder.join(file.file_name().unwrap_or_default());
    fs::copy(file, &to).map_err(|error| failure(&to, &error))?;
    Ok(to)
}
