//! The admin console: a single-page app that is part of the `folkmoot` program.
//!
//! Its built files are in the repository, so that a program with a console needs Rust and nothing else. They are made of the
//! sources byte for byte, and this stage fails when they are not.

use crate::outcome::Outcome;
use crate::process::{run as run_command, spelled};
use crate::stamp::Stamp;
use crate::wasm_package::tools;
use crate::workspace::{Failure, root, target};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const FOLDER: &str = "server/console";
/// Where the built files lie, below [`FOLDER`].
const BUILT: &str = "dist/app";
/// What they are made of.
const SOURCES: [&str; 7] = [
    "src",
    "index.html",
    "package.json",
    "package-lock.json",
    "tsconfig.json",
    "vite.config.ts",
    "../api/openapi.json",
];
/// What a page may load of script in all, after gzip.
const SCRIPT_BYTES_MAX: u64 = 300_000;

/// Checks and builds the console, into the folder from which the next build of the server takes it.
///
/// # Errors
/// Returns what is missing, what cannot be built, or that it is too large.
pub fn run() -> Result<(), Failure> {
    if !tools::has_node() {
        return Err(Failure("the console needs Node.js 20.19 or newer, with npm".into()));
    }
    build(&root().join(FOLDER).join(BUILT))
}

/// Builds the console beside, and compares it with the files in the repository.
///
/// # Errors
/// Those of [`run`], and which built file is not that of the sources.
pub fn test() -> Result<Outcome, Failure> {
    if !tools::has_node() {
        return Outcome::left_out("console", "there is no Node: `cargo xtask test --only install`");
    }
    let folder = root().join(FOLDER);
    let mut files: Vec<PathBuf> = SOURCES.iter().map(|source| folder.join(source)).collect();
    files.push(folder.join(BUILT));
    let stamp = Stamp::of("console", &files)?;
    if stamp.is_there() {
        println!("xtask: console: nothing has changed since it was built and compared");
        return Ok(Outcome::done());
    }
    let beside = target().join("console");
    build(&beside)?;
    compare(&contents(&beside)?, &contents(&folder.join(BUILT))?)?;
    stamp.set()?;
    Ok(Outcome::done())
}

fn build(into: &Path) -> Result<(), Failure> {
    let folder = root().join(FOLDER);
    tools::install_packages(&folder)?;
    let into = into.to_string_lossy();
    for script in [
        &["openapi-typescript/bin/cli.js", "../api/openapi.json", "--output", "src/api/schema.d.ts"][..],
        &["typescript/bin/tsc", "--noEmit"],
        &["vite/bin/vite.js", "build", "--emptyOutDir", "--outDir", &into],
    ] {
        let mut command = Command::new(tools::node_for_browsers()?);
        command.arg(folder.join("node_modules").join(script[0])).args(&script[1..]).current_dir(&folder);
        println!("xtask: console: {}", spelled(&command));
        run_command(&mut command)?;
    }
    check_size(&Path::new(&*into).join("assets"))
}

/// The bytes of every file below a folder, by its path in it.
fn contents(folder: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>, Failure> {
    let failed = |path: &Path, error: std::io::Error| Failure(format!("{}: {error}", path.display()));
    let mut contents = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).map_err(|error| failed(&next, error))?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = fs::read(&path).map_err(|error| failed(&path, error))?;
            contents.insert(path.strip_prefix(folder).unwrap_or(&path).to_owned(), bytes);
        }
    }
    Ok(contents)
}

fn compare(
    built: &BTreeMap<PathBuf, Vec<u8>>,
    committed: &BTreeMap<PathBuf, Vec<u8>>,
) -> Result<(), Failure> {
    let names = built.keys().chain(committed.keys());
    match names.into_iter().find(|name| built.get(*name) != committed.get(*name)) {
        None => Ok(()),
        Some(name) => Err(Failure(format!(
            "{FOLDER}/{BUILT}/{} is not what the console's sources make: run `cargo xtask console` and commit {FOLDER}/dist",
            name.display()
        ))),
    }
}

fn check_size(assets: &Path) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure(format!("{}: {error}", assets.display()));
    let entries = fs::read_dir(assets).map_err(failed)?;
    let scripts: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| is_script(path)).collect();
    let mut bytes = 0;
    for script in &scripts {
        bytes += tools::gzip_bytes(script)?;
    }
    println!("xtask: console: {bytes} bytes of script after gzip, of {SCRIPT_BYTES_MAX}");
    if bytes > SCRIPT_BYTES_MAX {
        return Err(Failure(format!("the console has {bytes} bytes of script after gzip: too many")));
    }
    Ok(())
}

fn is_script(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "js")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_missing_left_over_or_different_is_found() {
        let of = |files: &[(&str, &str)]| -> BTreeMap<PathBuf, Vec<u8>> {
            files.iter().map(|(name, text)| (PathBuf::from(name), text.as_bytes().to_owned())).collect()
        };
        let built = of(&[("a.js", "1"), ("index.html", "2")]);
        assert!(compare(&built, &built).is_ok());
        for committed in [
            of(&[("a.js", "1")]),
            of(&[("a.js", "0"), ("index.html", "2")]),
            of(&[("a.js", "1"), ("b.js", "1"), ("index.html", "2")]),
        ] {
            assert!(compare(&built, &committed).unwrap_err().0.contains("cargo xtask console"));
        }
    }
}
