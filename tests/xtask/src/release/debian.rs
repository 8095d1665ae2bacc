use super::program::{LICENCES, Program, copy};
use crate::process::{output, run, spelled, succeeds};
use crate::workspace::{Failure, empty, failure, read, root, target, write};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the scripts that dpkg runs.
const SCRIPTS: &str = "examples/deploy/debian";
const UNIT: &str = "examples/deploy/systemd/folkmoot.service";
/// The path of the program in the unit, and in the package.
const PATHS: (&str, &str) = ("/usr/local/bin/folkmoot", "/usr/bin/folkmoot");

/// The reason why this machine cannot make a package.
pub const MISSING: &str = "dpkg-deb, dpkg-shlibdeps (of dpkg-dev) or systemd-sysusers is missing";

/// Returns `true` if this machine has the programs that make and try a package.
pub fn is_possible() -> bool {
    ["dpkg-deb", "dpkg-shlibdeps", "systemd-sysusers"]
        .into_iter()
        .all(|name| succeeds(Command::new(name).arg("--version")))
}

/// Makes a package with the program, its systemd unit, and the user of the service.
pub fn make(program: &Program, folder: &Path) -> Result<PathBuf, Failure> {
    let stage = target().join("release-debian");
    empty(&stage)?;
    let package = stage.join("package");
    program.copy_to(&package.join("usr/bin/folkmoot"))?;
    let unit = read(&root().join(UNIT))?;
    if !unit.contains(PATHS.0) {
        return Err(Failure(format!("{UNIT} does not start {}", PATHS.0)));
    }
    // The first lines say how to install the unit by hand.
    let unit: Vec<&str> = unit.lines().skip_while(|line| line.starts_with('#')).collect();
    let unit = unit.join("\n").replace(PATHS.0, PATHS.1) + "\n";
    write(&package.join("usr/lib/systemd/system/folkmoot.service"), unit)?;
    copy(&format!("{SCRIPTS}/folkmoot.sysusers"), &package.join("usr/lib/sysusers.d/folkmoot.conf"))?;
    let licences = LICENCES.map(|name| read(&root().join(name)));
    let [apache, mit] = licences;
    let copyright =
        format!("Folkmoot has two licences. Choose one: MIT, or Apache 2.0.\n\n{}\n{}", mit?, apache?);
    write(&package.join("usr/share/doc/folkmoot/copyright"), copyright)?;
    for (shell, path) in [
        ("bash", "bash-completion/completions/folkmoot"),
        ("zsh", "zsh/vendor-completions/_folkmoot"),
        ("fish", "fish/vendor_completions.d/folkmoot.fish"),
    ] {
        write(&package.join("usr/share").join(path), program.completions(shell)?)?;
    }
    let architecture = output(Command::new("dpkg").arg("--print-architecture"))?.trim().to_owned();
    write(&package.join("DEBIAN/control"), control(program, &architecture, &libraries(&stage, program)?))?;
    for script in ["postinst", "prerm", "postrm"] {
        let path = package.join("DEBIAN").join(script);
        copy(&format!("{SCRIPTS}/{script}.sh"), &path)?;
        make_executable(&path)?;
    }
    let file = folder.join(format!("folkmoot_{}_{architecture}.deb", program.version));
    let mut pack = Command::new("dpkg-deb");
    pack.args(["--build", "--root-owner-group"]);
    // A large debug build would be compressed for minutes.
    pack.args(if program.is_debug { ["-Zgzip", "-z1"] } else { ["-Zxz", "-z6"] });
    println!("xtask: release: {}", spelled(&pack));
    run(pack.arg(&package).arg(&file))?;
    Ok(file)
}

fn control(program: &Program, architecture: &str, libraries: &str) -> String {
    let Program { version, .. } = program;
    format!(
        "Package: folkmoot\nVersion: {version}\nArchitecture: {architecture}\n\
         Maintainer: Folkmoot <folkmoot@users.noreply.github.com>\n\
         Homepage: {}\nSection: net\nPriority: optional\n\
         Depends: {libraries}, systemd | systemd-standalone-sysusers\n\
         Description: federated learning: coordinator, clients and simulator\n \
         Trains one model over data that never leave their owners. The package has the\n \
         program folkmoot, and a systemd unit for a coordinator, which it does not start.\n",
        env!("CARGO_PKG_REPOSITORY")
    )
}

/// Returns the packages with the libraries that the program needs, as `dpkg-shlibdeps` finds them.
fn libraries(stage: &Path, program: &Program) -> Result<String, Failure> {
    write(&stage.join("debian/control"), "Source: folkmoot\n\nPackage: folkmoot\nArchitecture: any\n")?;
    let mut find = Command::new("dpkg-shlibdeps");
    find.arg("-O").arg(&program.file).current_dir(stage);
    let said = output(&mut find)?;
    let found = said.lines().find_map(|line| line.strip_prefix("shlibs:Depends="));
    found.map(str::to_owned).ok_or_else(|| Failure(format!("dpkg-shlibdeps found no libraries: {said}")))
}

#[cfg(unix)]
fn make_executable(path: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::PermissionsExt;
    let set = fs::set_permissions(path, fs::Permissions::from_mode(0o755));
    set.map_err(|error| failure(path, &error))
}

#[cfg(not(unix))]
fn make_executable(path: &Path) -> Result<(), Failure> {
    fs::metadata(path).map(|_| ()).map_err(|error| failure(path, &error))
}
