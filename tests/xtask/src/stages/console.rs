//! The admin console: a single-page app that is part of the `folkmoot` program.
//!
//! The built files are committed, so that building the program with its console needs only Rust. This stage rebuilds
//! them and fails unless they match the committed files byte for byte.

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
/// The folder of the built files, relative to [`FOLDER`].
const BUILT: &str = "dist/app";
/// The sources of the built files.
const SOURCES: [&str; 7] = [
    "src",
    "index.html",
    "package.json",
    "package-lock.json",
    "tsconfig.json",
    "vite.config.ts",
    "../api/openapi.json",
];
/// The maximum size of all scripts after gzip, in bytes.
const SCRIPT_BYTES_MAX: u64 = 300_000;

/// Checks the console and builds it into the folder that the next build of the server embeds.
///
/// # Errors
/// Fails if Node.js is missing, the build fails, or the scripts are too large.
pub fn run() -> Result<(), Failure> {
    if !tools::has_node() {
        return Err(Failure(
            "Node.js with npm is missing; the console needs version 20.19 or newer. \
             Run `cargo xtask test --only install`"
                .into(),
        ));
    }
    build(&root().join(FOLDER).join(BUILT))
}

/// Builds the console in a separate folder, and compares it with the committed files.
///
/// # Errors
/// As for [`run`]. Also fails if a committed file differs from the build, and names the first such file.
pub fn test() -> Result<Outcome, Failure> {
    if !tools::has_node() {
        return Outcome::left_out("console", "Node.js is missing. Run `cargo xtask test --only install`");
    }
    let folder = root().join(FOLDER);
    let mut files: Vec<PathBuf> = SOURCES.iter().map(|source| folder.join(source)).collect();
    files.push(folder.join(BUILT));
    let stamp = Stamp::of("console", &files)?;
    if stamp.is_there() {
        println!("xtask: console: up to date since the last build and comparison");
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

/// Returns the contents of all files in a folder and its subfolders, by relative path.
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
            "{FOLDER}/{BUILT}/{} does not match the console's sources. Run `cargo xtask console` and commit {FOLDER}/dist",
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
    println!("xtask: console: {bytes} bytes of script after gzip, at most {SCRIPT_BYTES_MAX}");
    if bytes > SCRIPT_BYTES_MAX {
        return Err(Failure(format!(
            "the console has {bytes} bytes of script after gzip; at most {SCRIPT_BYTES_MAX} are allowed. \
             Remove code or a dependency"
        )));
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
