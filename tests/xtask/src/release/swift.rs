use super::program::{LICENCES, copy, version};
use crate::process::{output, run, spelled};
use crate::stages::swift::{self, FOLDER, MODULE};
use crate::workspace::{Failure, empty, files, root, target, write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The reason why other systems cannot make the package.
pub const MISSING: &str = "only a Mac can build the XCFramework";

/// Makes an archive of the XCFramework, and one of the package that downloads it from the release and checks its digest.
pub fn make(folder: &Path) -> Result<[PathBuf; 2], Failure> {
    let build = root().join(FOLDER).join("build");
    let mut script = Command::new(root().join(FOLDER).join("build-xcframework.sh"));
    println!("xtask: release: {}", spelled(&script));
    run(&mut script)?;
    let library = folder.join(format!("{MODULE}-{}.xcframework.zip", version()));
    let mut pack = Command::new("ditto");
    pack.args(["-c", "-k", "--keepParent"]).arg(build.join(format!("{MODULE}.xcframework"))).arg(&library);
    println!("xtask: release: {}", spelled(&pack));
    run(&mut pack)?;
    let digest = output(Command::new("shasum").args(["--algorithm", "256"]).arg(&library))?;
    let digest = digest.split_whitespace().next().unwrap_or_default();

    let name = format!("folkmoot-swift-{}", version());
    let package = target().join("release-swift").join(&name);
    empty(&package)?;
    write(&package.join("Package.swift"), swift::manifest(digest)?)?;
    for part in ["Sources", "Tests", "build/native"] {
        for file in files(&root().join(FOLDER).join(part))? {
            copy(&format!("{FOLDER}/{part}/{file}"), &package.join(part).join(file))?;
        }
    }
    copy(&format!("{FOLDER}/README.md"), &package.join("README.md"))?;
    for file in LICENCES {
        copy(file, &package.join(file))?;
    }
    let file = folder.join(format!("{name}.zip"));
    let mut pack = Command::new("ditto");
    pack.args(["-c", "-k", "--keepParent"]).arg(&package).arg(&file);
    println!("xtask: release: {}", spelled(&pack));
    run(&mut pack)?;
    Ok([library, file])
}
