//! Debian's compiler for Swift, in a system of its own in the target folder.
//!
//! Swift has no packages for most Linux systems, and Debian 13 has one. What is mounted for a call is mounted for its
//! processes only, and all of them end with it: nothing stays behind, however the call ends.

use crate::process::{output, run as run_command, succeeds};
use crate::workspace::{Failure, root, target};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const RELEASE: &str = "trixie";
const PACKAGES: [&str; 4] = ["swiftlang", "libsqlite3-dev", "git", "ca-certificates"];
/// Waits for another apt-get that runs.
const INSTALL: [&str; 5] = ["-o", "DPkg::Lock::Timeout=600", "install", "--yes", "--no-install-recommends"];
/// Lies in a system that is complete, and says what was installed.
const STAMP: &str = "folkmoot-installed";
/// Runs a command in the system of the first argument, which sees the folder of the second, and may write to that of the
/// third.
const ENTER: &str = r#"
    mount -t tmpfs tmpfs "$0/tmp" && mount --rbind /dev "$0/dev" &&
    mkdir -p "$0$1" && mount --bind -o ro "$1" "$0$1" &&
    mkdir -p "$0$2" && mount --bind "$2" "$0$2" &&
    shift 2 && exec chroot "$0" "$@"
"#;

/// The system.
pub struct Debian {
    folder: PathBuf,
}

impl Debian {
    /// Installs the system, unless it is there.
    ///
    /// # Errors
    /// Returns why it cannot be installed here.
    pub fn install(folder: PathBuf) -> Result<Self, Failure> {
        let debian = Self { folder };
        if !succeeds(namespace().arg("true")) {
            return Err(Failure("there is no Swift, and only root on Linux can install Debian's".to_owned()));
        }
        let (stamp, recipe) = (debian.folder.join(STAMP), format!("{RELEASE} {}", PACKAGES.join(" ")));
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == recipe) {
            return Ok(debian);
        }
        debian.fill().map_err(|Failure(why)| {
            Failure(format!("there is no Swift, and Debian's cannot be installed: {why}"))
        })?;
        fs::write(&stamp, recipe).map_err(|error| failure(&stamp, &error))?;
        Ok(debian)
    }

    /// Prepares a call of a program in the system. It sees the checkout and the target folder where they are here.
    pub fn command(&self, program: &str) -> Command {
        let mut command = namespace();
        command.arg(format!("--mount-proc={}", self.folder.join("proc").display()));
        command.args(["sh", "-c", ENTER]).arg(&self.folder).args([root(), target()]).arg(program);
        // The folders of this system's user are not there.
        command.env("HOME", "/root").env_remove("TMPDIR");
        command
    }

    /// Installs all of it anew.
    fn fill(&self) -> Result<(), Failure> {
        println!("xtask: swift: installing Swift in {}: some minutes and 3 GB, once", self.folder.display());
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).map_err(|error| failure(&self.folder, &error))?;
        }
        let apt_get = || Command::new("apt-get");
        step("apt-get update", apt_get().arg("update"))?;
        step("apt-get install", apt_get().args(INSTALL).args(["debootstrap", "debian-archive-keyring"]))?;
        let mut debootstrap = namespace();
        debootstrap.args(["debootstrap", "--force-check-gpg", "--variant=minbase", RELEASE]);
        step("debootstrap", debootstrap.arg(&self.folder).arg(mirror()?))?;
        self.copy_connection()?;
        let apt_get = || self.command("apt-get");
        step("apt-get update, in it", apt_get().arg("update"))?;
        step("apt-get install, in it", apt_get().args(INSTALL).args(PACKAGES))?;
        step("apt-get clean, in it", apt_get().arg("clean"))
    }

    /// Has the system's apt reach the mirror as this one's does: by the same proxy, for example.
    fn copy_connection(&self) -> Result<(), Failure> {
        let settings = output(Command::new("apt-config").arg("dump"))?;
        let is_of_connection =
            |line: &&str| ["Acquire::http", "Acquire::Check"].iter().any(|name| line.starts_with(name));
        let copied: Vec<&str> = settings.lines().filter(is_of_connection).collect();
        let file = self.folder.join("etc/apt/apt.conf.d/99connection");
        fs::write(&file, copied.join("\n") + "\n").map_err(|error| failure(&file, &error))
    }
}

/// A call in processes and mounts of its own, which end with it.
fn namespace() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "--kill-child"]);
    command
}

/// Returns the mirror of Debian that apt uses here.
fn mirror() -> Result<String, Failure> {
    let mut list = Command::new("apt-get");
    list.args(["indextargets", "--format", "$(LABEL) $(SITE)", "Created-By: Packages"]);
    let listed = output(&mut list)?;
    let mirror = listed.lines().find_map(|line| line.strip_prefix("Debian "));
    mirror.map(str::to_owned).ok_or_else(|| Failure("apt has no mirror of Debian here".to_owned()))
}

fn step(name: &str, command: &mut Command) -> Result<(), Failure> {
    println!("xtask: swift: {name}");
    let ended = run_command(command.env("DEBIAN_FRONTEND", "noninteractive"));
    ended.map_err(|_| Failure(format!("`{name}` did not succeed")))
}

fn failure(path: &Path, error: &std::io::Error) -> Failure {
    Failure(format!("{}: {error}", path.display()))
}
