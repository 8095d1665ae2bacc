//! `cargo xtask release`: makes the files of a release that this platform can make. Tries the packages of the program and the wheel where
//! nothing else is installed.

mod archive;
mod checksums;
mod debian;
mod program;
mod sbom;
mod trial;

use crate::outcome::Outcome;
use crate::process::{run as run_command, spelled};
use crate::stages::wheel;
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
    /// The list of all packages that the program is built from, in CycloneDX
    Sbom,
}

impl Kind {
    /// The files that the stage makes. The stages for Python and the browser make and try the others.
    const OF_PROGRAM: [Kind; 3] = [Kind::Archive, Kind::Deb, Kind::Sbom];
}

/// Makes the files, tries them, and prints their paths. Publishes nothing.
///
/// # Errors
/// Fails if a tool is missing, a build fails, or a package does not work.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let all = Kind::value_variants();
    let wanted = if arguments.only.is_empty() { all } else { &arguments.only };
    if arguments.only.contains(&Kind::Deb) && !debian::is_possible() {
        return Err(Failure(debian::MISSING.to_owned()));
    }
    for file in make(wanted, arguments.debug)? {
        println!("xtask: release: {}", file.display());
    }
    Ok(())
}

/// Makes and tries the packages of the debug build.
///
/// # Errors
/// As for [`run`].
pub fn test() -> Result<Outcome, Failure> {
    let made = make(&Kind::OF_PROGRAM, true)?;
    // The checksums are no package.
    Ok(Outcome { passed: made.len().saturating_sub(1), ..Outcome::done() })
}

fn make(wanted: &[Kind], debug: bool) -> Result<Vec<PathBuf>, Failure> {
    let folder = target().join("release-files");
    empty(&folder)?;
    let mut made = Vec::new();
    let has = |kind| wanted.contains(&kind);
    if has(Kind::Archive) || has(Kind::Deb) {
        let program = Program::build(debug)?;
        if has(Kind::Archive) {
            let file = archive::make(&program, &folder)?;
            trial::archive(&file)?;
            made.push(file);
        }
        if has(Kind::Deb) {
            match debian::is_possible() {
                true => {
                    let file = debian::make(&program, &folder)?;
                    trial::deb(&file)?;
                    made.push(file);
                }
                false => println!("xtask: release: SKIPPED: deb: {}", debian::MISSING),
            }
        }
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
    made.push(checksums::make(&folder, &made)?);
    Ok(made)
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
