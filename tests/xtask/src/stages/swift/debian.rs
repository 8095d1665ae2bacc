//! Debian's Swift compiler, in a separate Debian system in the target folder.
//!
//! Most Linux systems have no package for Swift, but Debian 13 has one. Each call has its own mount and process
//! namespaces. Its mounts are visible only to its processes, and all of these end with the call.

use crate::process::{output, run as run_command, succeeds};
use crate::workspace::{Failure, failure, root, target};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

const RELEASE: &str = "trixie";
const PACKAGES: [&str; 4] = ["swiftlang", "libsqlite3-dev", "git", "ca-certificates"];
/// Arguments of `apt-get install`. It waits up to 600 s for another apt-get to finish.
const INSTALL: [&str; 5] = ["-o", "DPkg::Lock::Timeout=600", "install", "--yes", "--no-install-recommends"];
/// A file in the system that lists the installed packages. It exists only when the installation is complete.
const STAMP: &str = "folkmoot-installed";
/// Shell script that runs a command in a Debian system. Arguments: the system's folder, a folder to mount read-only, a
/// folder to mount writable, and the command.
const ENTER: &str = r#"
    mount -t tmpfs tmpfs "$0/tmp" && mount --rbind /dev "$0/dev" &&
    mkdir -p "$0$1" && mount --bind -o ro "$1" "$0$1" &&
    mkdir -p "$0$2" && mount --bind "$2" "$0$2" &&
    shift 2 && exec chroot "$0" "$@"
"#;

/// A Debian system with Swift.
pub struct Debian {
    folder: PathBuf,
}

impl Debian {
    /// Installs the system, unless it is complete.
    ///
    /// # Errors
    /// Returns the reason why it cannot be installed.
    pub fn install(folder: PathBuf) -> Result<Self, Failure> {
        let debian = Self { folder };
        if !succeeds(namespace().arg("true")) {
            return Err(Failure(
                "Swift is missing, and only root on Linux can install Debian's. Install Swift yourself"
                    .to_owned(),
            ));
        }
        let (stamp, recipe) = (debian.folder.join(STAMP), format!("{RELEASE} {}", PACKAGES.join(" ")));
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == recipe) {
            return Ok(debian);
        }
        debian.fill().map_err(|Failure(why)| {
            Failure(format!("Swift is missing, and Debian's could not be installed: {why}"))
        })?;
        fs::write(&stamp, recipe).map_err(|error| failure(&stamp, &error))?;
        Ok(debian)
    }

    /// Prepares a call of a program in the system. It has the checkout and the target folder at the same paths as the
    /// host.
    pub fn command(&self, program: &str) -> Command {
        let mut command = namespace();
        command.arg(format!("--mount-proc={}", self.folder.join("proc").display()));
        command.args(["sh", "-c", ENTER]).arg(&self.folder).args([root(), target()]).arg(program);
        // The Debian system does not have the folders of the host's user.
        command.env("HOME", "/root").env_remove("TMPDIR");
        command
    }

    /// Removes the system if it exists, and installs it.
    fn fill(&self) -> Result<(), Failure> {
        println!(
            "xtask: swift: installing Swift in {}; this happens once and takes some minutes and 3 GB",
            self.folder.display()
        );
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
        step("apt-get update (in Debian)", apt_get().arg("update"))?;
        step("apt-get install (in Debian)", apt_get().args(INSTALL).args(PACKAGES))?;
        step("apt-get clean (in Debian)", apt_get().arg("clean"))
    }

    /// Copies the host's apt connection settings, such as a proxy, so that apt in the system reaches the mirror too.
    fn copy_connection(&self) -> Result<(), Failure> {
        let settings = output(Command::new("apt-config").arg("dump"))?;
        let is_of_connection =
            |line: &&str| ["Acquire::http", "Acquire::Check"].iter().any(|name| line.starts_with(name));
        let copied: Vec<&str> = settings.lines().filter(is_of_connection).collect();
        let file = self.folder.join("etc/apt/apt.conf.d/99connection");
        fs::write(&file, copied.join("\n") + "\n").map_err(|error| failure(&file, &error))
    }
}

/// Prepares a call in new mount and process namespaces. The namespaces end with the call.
fn namespace() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "--kill-child"]);
    command
}

/// Returns the Debian mirror of the host's apt.
fn mirror() -> Result<String, Failure> {
    let mut list = Command::new("apt-get");
    list.args(["indextargets", "--format", "$(LABEL) $(SITE)", "Created-By: Packages"]);
    let listed = output(&mut list)?;
    let mirror = listed.lines().find_map(|line| line.strip_prefix("Debian "));
    mirror.map(str::to_owned).ok_or_else(|| Failure("this system's apt has no Debian mirror".to_owned()))
}

fn step(name: &str, command: &mut Command) -> Result<(), Failure> {
    println!("xtask: swift: {name}");
    let ended = run_command(command.env("DEBIAN_FRONTEND", "noninteractive"));
    ended.map_err(|_| Failure(format!("`{name}` failed; see its output above")))
}
