//! Checks the files for deployment with the programs that read them. The files' settings, metrics and versions are checked
//! by the rule `deployment` of tidy.

mod chart;
mod monitoring;

use crate::outcome::Outcome;
use crate::process::{output, run, spelled, succeeds};
use crate::workspace::{Failure, failure, root, target};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the files.
const FILES: &str = "examples/deploy";
/// The units, each with its program: the coordinator's, a silo's and a small board's.
const UNITS: [(&str, &str); 3] = [
    ("examples/deploy/systemd/folkmoot.service", "/usr/local/bin/folkmoot"),
    ("examples/pytorch-silo/folkmoot-silo.service", "/opt/folkmoot-silo/bin/python"),
    ("examples/raspberry-pi/folkmoot-client.service", "/opt/folkmoot/bin/python"),
];
/// The oldest systemd that rates a unit that is not installed.
const SYSTEMD_WITH_OFFLINE: u32 = 250;
/// The highest exposure that is accepted, in tenths: systemd rates a unit from 0 to 10.
const EXPOSURE_MAX: &str = "20";
/// Values for the variables that the Compose file requires.
const COMPOSE_VARIABLES: [&str; 5] = [
    "COORDINATOR_HOST_NAME",
    "POSTGRES_PASSWORD",
    "OBJECTS_KEY_ID",
    "OBJECTS_SECRET_KEY",
    "OBJECTS_RPC_SECRET",
];

/// The result of a check.
enum Checked {
    Passed,
    /// A program is missing. Even a build server may skip the check, because a package that cannot be downloaded for once
    /// says nothing about the files.
    Unavailable(String),
}

/// A check of files of one kind.
type Check = fn() -> Result<Checked, Failure>;

/// Checks alerts, dashboard, proxy, units, Compose file and chart.
///
/// # Errors
/// Fails if a program rejects a file.
pub fn test() -> Result<Outcome, Failure> {
    let checks: [(&str, Check); 5] = [
        ("alerts and dashboard", monitoring::check),
        ("proxy", proxy),
        ("systemd units", units),
        ("Compose file", compose),
        ("Helm chart", chart::check),
    ];
    let mut outcome = Outcome::done();
    for (name, check) in checks {
        match check()? {
            Checked::Passed => outcome.passed += 1,
            Checked::Unavailable(why) => println!("xtask: deploy: SKIPPED: {name}: {why}"),
        }
    }
    outcome.complete()
}

/// Returns `true` if HAProxy is present.
pub fn has_haproxy() -> bool {
    succeeds(Command::new(haproxy()).arg("-v"))
}

/// Returns the path of HAProxy. Debian installs it to a folder that is in the path of root only.
fn haproxy() -> PathBuf {
    let path = PathBuf::from("/usr/sbin/haproxy");
    if path.is_file() { path } else { "haproxy".into() }
}

/// Checks the configuration of HAProxy with a new certificate.
fn proxy() -> Result<Checked, Failure> {
    if !has_haproxy() {
        return Ok(Checked::Unavailable(
            "HAProxy is missing. Run `cargo xtask test --only install`".to_owned(),
        ));
    }
    if !succeeds(Command::new("openssl").arg("version")) {
        return Ok(Checked::Unavailable("openssl is missing, which creates a certificate for it".to_owned()));
    }
    let pem = folder()?.join("certificate.pem");
    let mut certificate = Command::new("openssl");
    certificate.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]);
    certificate.args(["-nodes", "-days", "1"]);
    certificate.args(["-subj", "/CN=coordinator.example", "-keyout"]).arg(&pem).arg("-out");
    // The certificate and its key belong into one file, in any order.
    let chain = output(certificate.arg("-"))?;
    let key = fs::read_to_string(&pem).map_err(|error| failure(&pem, &error))?;
    write(&pem, &(chain + &key))?;
    let mut check = Command::new(haproxy());
    check.args(["-c", "-f"]).arg(file("compose/haproxy.cfg")).env("CERTIFICATE", &pem);
    call(&mut check)
}

/// Checks the systemd units: they have no mistakes, and their exposure is low.
fn units() -> Result<Checked, Failure> {
    let Ok(version) = output(Command::new("systemd-analyze").arg("--version")) else {
        return Ok(Checked::Unavailable("systemd-analyze is missing".to_owned()));
    };
    for (path, program) in UNITS {
        unit(&root().join(path), program, systemd_version(&version))?;
    }
    Ok(Checked::Passed)
}

fn unit(source: &Path, program: &str, version: u32) -> Result<(), Failure> {
    let text = fs::read_to_string(source).map_err(|error| failure(source, &error))?;
    let name = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // The program of the unit must exist.
    let unit = folder()?.join(&name);
    write(&unit, &text.replace(program, "/bin/true"))?;
    let mut verify = Command::new("systemd-analyze");
    verify.arg("verify").arg(&unit);
    println!("xtask: deploy: {}", spelled(&verify));
    let verified = verify.output().map_err(|error| failure(&unit, &error))?;
    // systemd ignores keys and values that it does not know, and only prints them. Other units are not checked.
    let complaints = String::from_utf8_lossy(&verified.stderr).into_owned();
    let complaints: Vec<&str> = complaints.lines().filter(|line| line.contains(&name)).collect();
    if !complaints.is_empty() {
        return Err(Failure(format!("systemd rejects the unit: {}", complaints.join("; "))));
    }
    if version < SYSTEMD_WITH_OFFLINE {
        return Ok(());
    }
    let mut rate = Command::new("systemd-analyze");
    rate.args(["security", "--no-pager", "--offline=true", "--threshold", EXPOSURE_MAX]).arg(&unit);
    println!("xtask: deploy: {}", spelled(&rate));
    output(&mut rate).map(drop).map_err(|_| {
        Failure(format!("the exposure of the unit is above {EXPOSURE_MAX} tenths: `{}`", spelled(&rate)))
    })
}

/// Parses the first line of systemd's version: `systemd 252 (252.38-1~deb12u1)`.
fn systemd_version(text: &str) -> u32 {
    text.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// Resolves the Compose file. This starts nothing.
fn compose() -> Result<Checked, Failure> {
    if !succeeds(Command::new("docker").args(["compose", "version"])) {
        return Ok(Checked::Unavailable("Docker Compose is missing".to_owned()));
    }
    let mut resolve = Command::new("docker");
    resolve.args(["compose", "--file"]).arg(file("compose/compose.yaml")).args(["config", "--quiet"]);
    call(resolve.envs(COMPOSE_VARIABLES.map(|name| (name, "value"))))
}

/// Runs a program that fails if it finds a mistake.
fn call(command: &mut Command) -> Result<Checked, Failure> {
    println!("xtask: deploy: {}", spelled(command));
    run(command).map(|()| Checked::Passed)
}

/// Returns the path of a file for deployment.
fn file(name: &str) -> PathBuf {
    root().join(FILES).join(name)
}

/// Returns the folder for copies and results, and creates it.
fn folder() -> Result<PathBuf, Failure> {
    let folder = target().join("deploy");
    fs::create_dir_all(&folder).map_err(|error| failure(&folder, &error))?;
    Ok(folder)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| failure(path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_systemd_is_read() {
        assert_eq!(systemd_version("systemd 252 (252.38-1~deb12u1)\n+PAM +AUDIT"), 252);
        assert_eq!(systemd_version(""), 0);
    }

    #[test]
    fn the_compose_file_requires_the_variables_that_the_check_sets() {
        let text = fs::read_to_string(file("compose/compose.yaml")).unwrap();
        let required = text.split("${").skip(1).filter_map(|rest| rest.split_once(":?"));
        let mut required: Vec<&str> = required.map(|(name, _)| name).collect();
        required.sort_unstable();
        required.dedup();
        let mut set = COMPOSE_VARIABLES.to_vec();
        set.sort_unstable();
        assert_eq!(required, set);
    }
}
