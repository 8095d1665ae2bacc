//! The first stage: installs the missing tools that the tests need. It announces each command before it runs.

use crate::outcome::Outcome;
use crate::process::{announce, run as run_command, succeeds};
use crate::stages::wheel::torch;
use crate::stages::{browser, deploy, kotlin, mobile};
use crate::workspace::{Failure, cargo, is_build_server};
use crate::{python, vulkan, wasm_package};
use std::io::{IsTerminal, stdin};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// A tool that cargo cannot install.
struct Requirement {
    /// The tool's packages on Debian and Ubuntu.
    apt_packages: &'static [&'static str],
    /// The tool's name and purpose, and the commands that install it without apt.
    advice: &'static str,
    /// True if the tests can run without the tool. Tests that need it are then skipped, with a message.
    optional: bool,
    is_present: fn() -> bool,
}

const REQUIREMENTS: [Requirement; 13] = [
    Requirement {
        // gcc cannot link without these headers, but its package only recommends them.
        apt_packages: &["gcc", "libc6-dev"],
        advice: "a C compiler: Xcode's command line tools, `dnf install gcc`, `pacman -S gcc`",
        optional: false,
        is_present: has_c_compiler,
    },
    Requirement {
        apt_packages: &["g++"],
        advice: "a C++ compiler, for the fuzzer: Xcode's command line tools, `dnf install gcc-c++`, `pacman -S gcc`",
        optional: false,
        is_present: has_cpp_compiler,
    },
    Requirement {
        apt_packages: &["pkg-config"],
        advice: "pkg-config: `brew install pkgconf`, `dnf install pkgconf`, `pacman -S pkgconf`",
        optional: true,
        is_present: has_pkg_config,
    },
    Requirement {
        apt_packages: &["postgresql"],
        advice: "PostgreSQL's initdb and pg_ctl: `brew install postgresql`, `dnf install postgresql-server`, \
                 `pacman -S postgresql`",
        optional: true,
        is_present: has_postgres,
    },
    Requirement {
        apt_packages: &["mesa-vulkan-drivers", "libvulkan1"],
        advice: "Mesa's software Vulkan driver, for the GPU tests: \
                 `dnf install mesa-vulkan-drivers vulkan-loader`, `pacman -S vulkan-swrast vulkan-icd-loader`",
        optional: true,
        is_present: || vulkan::has_own_interface() || vulkan::has_software_adapter(),
    },
    Requirement {
        apt_packages: &["python3", "python3-venv"],
        advice: "Python 3 with venv, for the ONNX project's operator tests and the linters of shell scripts: \
                 `brew install python`, `dnf install python3`, `pacman -S python`",
        optional: true,
        is_present: python::is_present,
    },
    Requirement {
        apt_packages: &["python3-torch"],
        advice: "PyTorch for /usr/bin/python3, for the tests that compare results with PyTorch: `dnf install python3-torch`",
        optional: true,
        is_present: torch::is_present,
    },
    Requirement {
        apt_packages: &["haproxy"],
        advice: "HAProxy, to check its configuration: `brew install haproxy`, `dnf install haproxy`, `pacman -S haproxy`",
        optional: true,
        is_present: deploy::has_haproxy,
    },
    Requirement {
        apt_packages: &["nodejs", "npm"],
        advice: "Node 20.19 or newer with npm, for the console and the browser package: `brew install node`, `dnf install nodejs`, \
                 `pacman -S nodejs npm`",
        optional: true,
        is_present: wasm_package::tools::has_node,
    },
    Requirement {
        apt_packages: &["rustc-web", "cargo-web", "rust-web-src", "lld"],
        advice: "a compiler for WebAssembly: `rustup target add wasm32-unknown-unknown` and `rustup component add rust-src`",
        optional: true,
        is_present: wasm_package::toolchain::is_present,
    },
    Requirement {
        apt_packages: &["chromium"],
        advice: "Chromium, for the browser tests: `brew install chromium`, `dnf install chromium`, `pacman -S chromium`",
        optional: true,
        is_present: browser::has_chromium,
    },
    Requirement {
        apt_packages: &["openjdk-17-jdk-headless", "maven"],
        advice: "Java 17 or newer with Maven, for the Kotlin package: `brew install openjdk maven`, \
                 `dnf install java-17-openjdk-devel maven`, `pacman -S jdk-openjdk maven`",
        optional: true,
        is_present: kotlin::is_present,
    },
    Requirement {
        apt_packages: &["clang", "llvm"],
        advice: "clang and llvm-ar, to compile for phones: `brew install llvm`, `dnf install clang llvm`, \
                 `pacman -S clang llvm`",
        optional: true,
        is_present: mobile::is_present,
    },
];

/// Installs the missing tools.
///
/// # Errors
/// Names each tool that cannot be installed automatically, with the command that installs it.
pub fn run() -> Result<Outcome, Failure> {
    install_rust_components()?;
    let missing: Vec<&Requirement> =
        REQUIREMENTS.iter().filter(|requirement| !(requirement.is_present)()).collect();
    match apt_get() {
        _ if missing.is_empty() => println!("xtask: install: nothing is missing"),
        Some(apt_get) => install_with_apt(&apt_get, &missing)?,
        None => name_missing(&missing)?,
    }
    match python::install_packages() {
        // On a developer's machine, the tests and linters that need these packages are optional.
        Err(failure) if !is_build_server() => {
            println!("xtask: install: MISSING, the tests that need it will be skipped: {failure}");
        }
        outcome => outcome?,
    }
    Ok(Outcome::done())
}

fn install_rust_components() -> Result<(), Failure> {
    if succeeds(&mut cargo(&["fmt", "--version"])) && succeeds(&mut cargo(&["clippy", "--version"])) {
        return Ok(());
    }
    let mut rustup = Command::new("rustup");
    rustup.args(["component", "add", "rustfmt", "clippy"]);
    announce(&rustup);
    run_command(&mut rustup)
}

/// Returns the command line for apt-get with root rights; `None` if apt-get is missing or root rights are unavailable.
fn apt_get() -> Option<Vec<&'static str>> {
    if !in_path("apt-get") {
        return None;
    }
    let with_sudo = vec!["sudo", "DEBIAN_FRONTEND=noninteractive", "apt-get"];
    let as_root = vec!["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"];
    match is_root() {
        true => Some(as_root),
        // sudo works if a person can type the password, or if no password is needed.
        false
            if in_path("sudo")
                && (stdin().is_terminal() || succeeds(Command::new("sudo").args(["-n", "true"]))) =>
        {
            Some(with_sudo)
        }
        false => None,
    }
}

fn install_with_apt(apt_get: &[&str], missing: &[&Requirement]) -> Result<(), Failure> {
    let packages = missing.iter().flat_map(|requirement| requirement.apt_packages);
    let mut update = Command::new(apt_get[0]);
    update.args(&apt_get[1..]).arg("update");
    let mut install = Command::new(apt_get[0]);
    install.args(&apt_get[1..]).args(["install", "--yes", "--no-install-recommends"]).args(packages);
    announce(&update);
    run_command(&mut update)?;
    announce(&install);
    if run_command(&mut install).is_err() {
        // apt-get installs nothing if one package is unknown, so install the packages of each tool separately.
        for requirement in missing {
            let mut install = Command::new(apt_get[0]);
            install.args(&apt_get[1..]).args(["install", "--yes", "--no-install-recommends"]);
            let _ = run_command(install.args(requirement.apt_packages));
        }
    }
    name_missing(
        &missing.iter().copied().filter(|requirement| !(requirement.is_present)()).collect::<Vec<_>>(),
    )
}

/// Reports missing tools. On a build server all are required; elsewhere, optional tools may be missing.
fn name_missing(missing: &[&Requirement]) -> Result<(), Failure> {
    let mut indispensable = Vec::new();
    for requirement in missing {
        if requirement.optional && !is_build_server() {
            println!(
                "xtask: install: MISSING, the tests that need it will be skipped: {}",
                requirement.advice
            );
        } else {
            indispensable.push(requirement.advice);
        }
    }
    if indispensable.is_empty() {
        Ok(())
    } else {
        Err(Failure(format!("some tools are missing: {}", indispensable.join("; "))))
    }
}

fn has_c_compiler() -> bool {
    env::var_os("CC").is_some() || ["cc", "gcc", "clang"].iter().any(|name| in_path(name))
}

fn has_cpp_compiler() -> bool {
    env::var_os("CXX").is_some() || ["c++", "g++", "clang++"].iter().any(|name| in_path(name))
}

fn has_pkg_config() -> bool {
    in_path("pkg-config") || in_path("pkgconf")
}

fn has_postgres() -> bool {
    let has_both = |folder: &Path| ["initdb", "pg_ctl"].iter().all(|name| folder.join(name).is_file());
    path_folders().iter().chain(&postgres_folders()).any(|folder| has_both(folder))
}

/// Returns the folders of PostgreSQL's server programs. Debian has one folder for each version, and none of them is in
/// the path.
fn postgres_folders() -> Vec<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    versions.map(|version| version.path().join("bin")).collect()
}

fn path_folders() -> Vec<PathBuf> {
    env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default()
}

fn in_path(program: &str) -> bool {
    path_folders().iter().any(|folder| folder.join(program).is_file())
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_the_path_by_their_whole_name() {
        assert!(in_path("cargo"));
        assert!(!in_path("no-such-program"));
    }

    #[test]
    fn the_indispensable_is_always_an_error() {
        let requirement =
            Requirement { apt_packages: &["a"], advice: "get a", optional: false, is_present: || false };
        assert_eq!(name_missing(&[&requirement]).unwrap_err().0, "some tools are missing: get a");
        assert!(name_missing(&[]).is_ok());
    }
}
