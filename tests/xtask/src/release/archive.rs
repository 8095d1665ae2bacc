use super::program::{LICENCES, Program, copy};
use crate::process::{run, spelled};
use crate::workspace::{Failure, empty, target, write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes an archive with the program, the licences and completions for shells.
pub fn make(program: &Program, folder: &Path) -> Result<PathBuf, Failure> {
    let name = format!("folkmoot-{}-{}", program.version, program.triple);
    let stage = target().join("release-archive");
    empty(&stage)?;
    let root = stage.join(&name);
    let executable = program.file.file_name().unwrap_or_default();
    program.copy_to(&root.join(executable))?;
    for file in LICENCES.into_iter().chain(["README.md"]) {
        copy(file, &root.join(file))?;
    }
    for shell in ["bash", "zsh", "fish"] {
        write(&root.join("completions").join(format!("folkmoot.{shell}")), program.completions(shell)?)?;
    }
    let file = folder.join(format!("{name}.{}", if cfg!(windows) { "zip" } else { "tar.gz" }));
    let mut pack = tar();
    // The ending chooses the format.
    pack.args(["-a", "-cf"]).arg(&file).arg("-C").arg(&stage).arg(&name);
    println!("xtask: release: {}", spelled(&pack));
    run(&mut pack)?;
    Ok(file)
}

/// Prepares a call of tar. On Windows, it is the system's tar, which can pack a zip file. Git's tar cannot, and may
/// come first in the path.
pub fn tar() -> Command {
    Command::new(if cfg!(windows) { r"C:\Windows\System32\tar.exe" } else { "tar" })
}
