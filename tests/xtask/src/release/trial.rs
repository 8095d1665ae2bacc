//! Installs a package in an empty environment, and trains with it.

use super::archive::tar;
use crate::process::{output, run, spelled, without_environment};
use crate::workspace::{Failure, empty, failure, read, target, write};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The least accuracy on held-out examples after the rounds below. It begins at a tenth.
const ACCURACY_MIN: f64 = 0.8;
/// Arguments of the program. The folder for its files follows them.
const DEMO: [&str; 7] = ["demo", "--rounds", "4", "--clients", "4", "--json", "--out"];

/// Unpacks an archive into an empty folder, and trains with its program. A static program trains in a system that has nothing else.
pub fn archive(file: &Path, is_static: bool) -> Result<(), Failure> {
    let folder = fresh("archive")?;
    let mut unpack = tar();
    unpack.arg("-xf").arg(file).arg("-C").arg(&folder);
    println!("xtask: release: {}", spelled(&unpack));
    run(&mut unpack)?;
    let unpacked = fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()).next();
    let unpacked = unpacked.ok_or_else(|| Failure(format!("{} is empty", file.display())))?;
    for name in ["README.md", "LICENSE-MIT", "completions/folkmoot.bash"] {
        read(&unpacked.join(name))?;
    }
    let name = format!("folkmoot{}", env::consts::EXE_SUFFIX);
    if !is_static {
        return trains(&unpacked.join(name));
    }
    let system = fresh("static")?;
    fs::copy(unpacked.join(&name), system.join(&name)).map_err(|error| failure(&system, &error))?;
    let mut demo = alone_in(&system);
    demo.arg("/folkmoot").args(DEMO).arg("/demo");
    learns(&mut demo)
}

/// Prepares a program in a system of its own, also for users who are not root.
fn alone_in(system: &Path) -> Command {
    let mut command = match output(Command::new("id").arg("-u")).is_ok_and(|user| user.trim() == "0") {
        true => Command::new("chroot"),
        false => {
            let mut command = Command::new("unshare");
            command.args(["--map-root-user", "chroot"]);
            command
        }
    };
    command.arg(system).env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command
}

/// Installs a package into an empty system, trains with its program, and removes it.
pub fn deb(file: &Path) -> Result<(), Failure> {
    let system = fresh("debian")?;
    for name in ["status", "available"] {
        write(&system.join("var/lib/dpkg").join(name), "")?;
    }
    for name in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers", "etc"] {
        let path = system.join(name);
        fs::create_dir_all(&path).map_err(|error| failure(&path, &error))?;
    }
    let dpkg = |arguments: &[&str]| {
        let mut dpkg = Command::new("dpkg");
        // The system has no libraries. The scripts respect DPKG_ROOT, so they need no chroot.
        dpkg.arg(format!("--root={}", system.display()));
        dpkg.args([
            "--force-depends",
            "--force-script-chrootless",
            "--force-not-root",
            "--force-bad-path",
            "--log=/dev/null",
        ]);
        dpkg.args(arguments);
        println!("xtask: release: {}", spelled(&dpkg));
        run(&mut dpkg)
    };
    dpkg(&["--install", &file.display().to_string()])?;
    let users = read(&system.join("etc/passwd"))?;
    if !users.lines().any(|line| line.starts_with("folkmoot:")) {
        return Err(Failure(format!("the package made no user `folkmoot`: {users}")));
    }
    let unit = read(&system.join("usr/lib/systemd/system/folkmoot.service"))?;
    let started = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/")?.split(' ').next());
    let program = system.join(started.ok_or_else(|| Failure("the unit starts no program".to_owned()))?);
    trains(&program)?;
    write(&system.join("var/lib/folkmoot/data"), "a key")?;
    dpkg(&["--purge", "folkmoot"])?;
    read(&system.join("var/lib/folkmoot/data"))?;
    match program.exists() {
        true => Err(Failure(format!("the package was removed, but {} is still there", program.display()))),
        false => Ok(()),
    }
}

/// Installs a wheel into a new environment, and imports it.
pub fn wheel(file: &Path) -> Result<(), Failure> {
    let folder = fresh("wheel")?;
    let mut make = Command::new("python3");
    run(make.args(["-m", "venv"]).arg(&folder))?;
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]).arg(file);
    println!("xtask: release: {}", spelled(&install));
    run(&mut install)?;
    let mut import = Command::new(&python);
    run(import.args(["-c", "import folkmoot; print(folkmoot.Device)"]).current_dir(&folder))
}

/// Runs a short demo with nothing in the environment, and checks that its model has learned.
fn trains(program: &Path) -> Result<(), Failure> {
    let folder = fresh("demo")?;
    let mut demo = Command::new(program);
    demo.args(DEMO).arg(folder.join("demo"));
    without_environment(&mut demo).env("HOME", &folder).current_dir(&folder);
    learns(&mut demo)
}

fn learns(demo: &mut Command) -> Result<(), Failure> {
    println!("xtask: release: {}", spelled(demo));
    let said = output(demo)?;
    let last: Value =
        said.lines().last().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default();
    let accuracy = last["accuracy"].as_f64().unwrap_or_default();
    println!("xtask: release: accuracy {accuracy:.3} after {} rounds", last["rounds"]);
    match last["event"] == "finished" && accuracy >= ACCURACY_MIN {
        true => Ok(()),
        false => Err(Failure(format!("the packaged program does not learn: {last}"))),
    }
}

fn fresh(name: &str) -> Result<PathBuf, Failure> {
    let folder = target().join("release-trial").join(name);
    empty(&folder)?;
    folder.canonicalize().map_err(|error| failure(&folder, &error))
}
