//! An app with nothing but the packages of a Maven repository.

use super::{DEPENDENCIES, define, maven, pom_property, url};
use crate::coordinator::Coordinator;
use crate::process::{run, run_reading, spelled, without_environment};
use crate::workspace::{Failure, empty, failure, read, root, target, write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const POM: &str = "tests/xtask/jvm-app/pom.xml";
/// The first program of the guide. It trains ten rounds, and prints the share of right predictions.
const SOURCE: &str = "mobile-bindings/kotlin/core/src/test/kotlin/guide/FirstRound.kt";
const EXAMPLE: &str = "examples/digits";
/// The least share of right predictions after ten rounds. It begins at a tenth.
const RIGHT_MIN: f64 = 0.9;

/// Compiles the app with the packages, and trains with it against a coordinator.
///
/// # Errors
/// Fails if a package is incomplete, or if the app does not learn.
pub fn train(repository: &Path, platform: &str, program: &Path) -> Result<(), Failure> {
    let folder = target().join("kotlin").join("app");
    empty(&folder)?;
    write(&folder.join("pom.xml"), read(&root().join(POM))?)?;
    write(&folder.join("src/FirstRound.kt"), read(&root().join(SOURCE))?)?;
    let classes = compile(&folder, repository, platform)?;

    let coordinator = Coordinator::start(program, &folder.join("coordinator"), &[])?;
    let task = folder.join("task.toml");
    // At the example's own rate, the last step sometimes makes the model worse.
    write(
        &task,
        read(&root().join(EXAMPLE).join("task.toml"))?.replace("learning_rate = 0.1", "learning_rate = 0.05"),
    )?;
    let example = |name: &str| root().join(EXAMPLE).join(name).display().to_string();
    let task = task.display().to_string();
    coordinator.ask(&["task", "create", &task, "--model", &example("model.onnx"), "--activate"])?;
    let token = coordinator.ask(&["token", "create", "digits"])?;
    let token = token["token"].as_str().map(str::to_owned);
    let token = token.ok_or_else(|| Failure("`folkmoot token create` printed no token".to_owned()))?;

    let mut app = Command::new("java");
    app.args(["-Xmx512m", "-cp"]).arg(classes).arg("FirstRoundKt").args([&coordinator.url, &token]);
    app.arg(&coordinator.certificate).arg(example("digits.csv"));
    // No variable of this process shows the app where a library is.
    without_environment(&mut app).env("PATH", env::var_os("PATH").unwrap_or_default()).current_dir(&folder);
    println!("xtask: kotlin: {}", spelled(&app));
    let mut right = 0.0;
    run_reading(&mut app, |line| {
        right = line.strip_prefix("right: ").and_then(|share| share.parse().ok()).unwrap_or(right);
    })?;
    match right >= RIGHT_MIN {
        true => Ok(()),
        false => Err(Failure(format!(
            "the app with the Maven packages does not learn: {right} of its predictions are right"
        ))),
    }
}

/// Returns the class path of the compiled app.
fn compile(folder: &Path, repository: &Path, platform: &str) -> Result<String, Failure> {
    let kotlin = pom_property("kotlin.version")?;
    let mut compile = maven(&folder.join("pom.xml"));
    compile.arg(format!("org.jetbrains.kotlin:kotlin-maven-plugin:{kotlin}:compile"));
    compile.arg(format!("{DEPENDENCIES}:build-classpath"));
    compile.arg(define("maven.repo.local", &local_repository(folder)?.display()));
    compile.arg(define("app.repository", &url(repository)));
    // The compiler's daemon would outlive this call, although nothing else uses it.
    compile.arg(define("kotlin.compiler.daemon", &false));
    compile.arg(define("app.version", &env!("CARGO_PKG_VERSION"))).arg(define("app.platform", &platform));
    compile.arg(define("app.kotlin", &kotlin));
    println!("xtask: kotlin: {}", spelled(&compile));
    run(&mut compile)?;
    let built = folder.join("target");
    let packages = read(&built.join("classpath.txt"))?;
    Ok(format!(
        "{}{}{}",
        built.join("classes").display(),
        if cfg!(windows) { ";" } else { ":" },
        packages.trim()
    ))
}

/// Makes a local repository for the app alone, so that it cannot have a package of an earlier run. Other packages are those that the user
/// has downloaded before.
fn local_repository(folder: &Path) -> Result<PathBuf, Failure> {
    let own = folder.join("repository");
    empty(&own.join("org"))?;
    let home = env::var_os("HOME").unwrap_or_default();
    let users = PathBuf::from(home).join(".m2").join("repository");
    for (from, to) in [(&users, &own), (&users.join("org"), &own.join("org"))] {
        for entry in fs::read_dir(from).into_iter().flatten().flatten() {
            let link = to.join(entry.file_name());
            if entry.file_name() != "org" && entry.file_name() != "folkmoot" {
                link_to(&entry.path(), &link).map_err(|error| failure(&link, &error))?;
            }
        }
    }
    Ok(own)
}

#[cfg(unix)]
fn link_to(folder: &Path, link: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(folder, link)
}

/// Does nothing: on other systems, Maven downloads all packages.
#[cfg(not(unix))]
fn link_to(_folder: &Path, _link: &Path) -> std::io::Result<()> {
    Ok(())
}
