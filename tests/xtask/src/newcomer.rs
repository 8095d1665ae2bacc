//! `cargo xtask bench newcomer`: the time from the installation of a release's packages to a first training with them.

use crate::coordinator::Coordinator;
use crate::process::{Stopwatch, output, spelled};
use crate::stages::browser;
use crate::workspace::{Failure, empty, failure, read, root, target, write};
use clap::Parser;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const GUIDE: &str = "docs/guides/python.md";
const CHAPTER: &str = "## Train your first round";
const EXAMPLE: &str = "examples/digits";
/// The last round of the guide's program.
const LAST: &str = "round 10";

/// The steps of a run in order, each with its seconds.
type Steps = Vec<(&'static str, f64)>;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench newcomer", no_binary_name = true)]
struct Options {
    /// The coordinator's program. The default is `release/folkmoot` in the target folder
    #[arg(long)]
    program: Option<PathBuf>,
    /// The number of measurements of each kind
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    times: u32,
    /// Print all measurements as JSON
    #[arg(long)]
    json: bool,
}

/// Installs the wheel and the npm package, each with empty caches in an empty folder, trains with them, and prints the seconds of each step.
///
/// # Errors
/// Fails if a package, the program or a tool is missing, or if a package does not train.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let Options { program, times, json } = Options::parse_from(arguments);
    let program = program.unwrap_or_else(|| target().join("release/folkmoot"));
    let program = program.canonicalize().map_err(|error| {
        Failure(format!("{}: {error}. Run `cargo build --release`, or set --program", program.display()))
    })?;
    let (wheel, archive) = (packed("whl")?, packed("tgz")?);
    let (mut python, mut browser) = (Vec::new(), Vec::new());
    for _ in 0..times {
        python.push(with_wheel(&wheel, &program)?);
        browser.push(with_archive(&archive, &program)?);
    }
    match json {
        true => println!("{}", json!({"python": objects(&python), "browser": objects(&browser)})),
        false => print!("{}{}", table("python", &python), table("browser", &browser)),
    }
    Ok(())
}

/// Returns the package of a release whose name has this extension.
fn packed(extension: &str) -> Result<PathBuf, Failure> {
    let folder = target().join("release-files");
    let files = fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut packages = files.filter(|path| path.extension().is_some_and(|one| one == extension));
    let package = packages.next().ok_or_else(|| {
        Failure(format!(
            "{} has no file `*.{extension}`. Run `cargo xtask release --only wheel,npm`",
            folder.display()
        ))
    })?;
    package.canonicalize().map_err(|error| failure(&package, &error))
}

/// Follows the guide: makes an environment, installs the wheel and NumPy, and takes part in ten rounds.
fn with_wheel(wheel: &Path, program: &Path) -> Result<Steps, Failure> {
    let folder = fresh("python")?;
    let coordinator = Coordinator::start(program, &folder.join("coordinator"), &[])?;
    let example = |name: &str| root().join(EXAMPLE).join(name).display().to_string();
    let (task, model) = (example("task.toml"), example("model.onnx"));
    coordinator.ask(&["task", "create", &task, "--model", &model, "--activate"])?;
    let token = coordinator.ask(&["token", "create", "digits"])?;
    let token = token["token"].as_str().unwrap_or_default();
    let certificate = coordinator.certificate.display().to_string();
    let values = [
        ("https://127.0.0.1:8443", coordinator.url.as_str()),
        ("…", token),
        ("folkmoot-data/ca.pem", &certificate),
        ("examples/digits/digits.csv", &example("digits.csv")),
    ];
    write(&folder.join("first.py"), first_program(&values)?)?;

    let mut steps = Steps::new();
    let mut make = Command::new("python3");
    timed(&mut steps, "venv", make.args(["-m", "venv", "venv"]).current_dir(&folder))?;
    let python = folder.join(if cfg!(windows) { "venv/Scripts/python.exe" } else { "venv/bin/python" });
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-cache-dir"]);
    timed(&mut steps, "pip install", install.arg("numpy").arg(wheel).current_dir(&folder))?;
    let mut train = Command::new(&python);
    let said = timed(&mut steps, "ten rounds", train.arg("first.py").current_dir(&folder))?;
    match said.lines().any(|line| line == LAST) {
        true => Ok(steps),
        false => Err(Failure(format!("the guide's program did not reach {LAST}: {said}"))),
    }
}

/// Returns the program of the guide's chapter, with these values in place of the guide's.
fn first_program(values: &[(&str, &str)]) -> Result<String, Failure> {
    let guide = read(&root().join(GUIDE))?;
    let block = guide.split_once(CHAPTER).and_then(|(_, chapter)| chapter.split_once("```python\n"));
    let program = block.and_then(|(_, rest)| rest.split_once("```")).map(|(program, _)| program.to_owned());
    let program = program.ok_or_else(|| Failure(format!("{GUIDE} has no program in `{CHAPTER}`")))?;
    values.iter().try_fold(program, |program, (shown, value)| {
        let (shown, value) = (format!("\"{shown}\""), format!("{:?}", Path::new(value)));
        match program.contains(&shown) {
            true => Ok(program.replace(&shown, &value)),
            false => Err(Failure(format!("the first program in {GUIDE} has no {shown}"))),
        }
    })
}

/// Installs the npm package and Vite, and takes part in a round with a page.
fn with_archive(archive: &Path, program: &Path) -> Result<Steps, Failure> {
    browser::install()?;
    let mut bench = browser::node(&["benches/newcomer.bench.mjs"])?;
    bench.arg(archive).arg(fresh("browser")?).env("FOLKMOOT_BIN", program);
    let said = output(&mut bench)?;
    let seconds: Option<Value> = said.lines().last().and_then(|line| serde_json::from_str(line).ok());
    let step = |name| Some((name, seconds.as_ref()?[name].as_f64()?));
    let steps: Option<Steps> = ["npm install", "first round"].map(step).into_iter().collect();
    steps.ok_or_else(|| Failure(format!("`{}` printed no result: {said}", spelled(&bench))))
}

/// Runs a command and returns its output. Adds its duration to the steps.
fn timed(steps: &mut Steps, name: &'static str, command: &mut Command) -> Result<String, Failure> {
    let stopwatch = Stopwatch::start();
    let said = output(command)?;
    steps.push((name, stopwatch.read().elapsed.as_secs_f64()));
    Ok(said)
}

fn fresh(name: &str) -> Result<PathBuf, Failure> {
    let folder = target().join("newcomer").join(name);
    empty(&folder)?;
    folder.canonicalize().map_err(|error| failure(&folder, &error))
}

/// Formats a line for each run, and the total of the slowest.
fn table(name: &str, runs: &[Steps]) -> String {
    let together = |steps: &Steps| steps.iter().map(|(_, seconds)| seconds).sum::<f64>();
    let line = |steps: &Steps| {
        let parts: Vec<String> =
            steps.iter().map(|(step, seconds)| format!("{step} {seconds:.1} s")).collect();
        format!("{name}: {}, together {:.1} s\n", parts.join(", "), together(steps))
    };
    let slowest = runs.iter().map(together).fold(0.0, f64::max);
    let lines: String = runs.iter().map(line).collect();
    format!("{lines}{name}: the slowest of {} took {slowest:.1} s\n", runs.len())
}

/// Returns an object for each run, with the seconds of each step.
fn objects(runs: &[Steps]) -> Vec<Value> {
    let object =
        |steps: &Steps| steps.iter().map(|(step, seconds)| ((*step).to_owned(), json!(seconds))).collect();
    runs.iter().map(object).map(Value::Object).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guides_program_gets_the_values_of_the_run() {
        let values = [("https://127.0.0.1:8443", "https://127.0.0.1:1"), ("…", "a-token")];
        let program = first_program(&values).unwrap();
        assert!(program.contains("\"https://127.0.0.1:1\", state_directory=\"first-client\""), "{program}");
        assert!(program.contains("enrolment_token=\"a-token\""), "{program}");
        assert!(program.contains("run(rounds=10)"), "{program}");
        assert!(first_program(&[("elsewhere", "x")]).unwrap_err().0.contains("has no \"elsewhere\""));
    }

    #[test]
    fn the_table_ends_with_the_slowest_run() {
        let run = |install: f64| vec![("npm install", install), ("first round", 1.0)];
        let lines = table("browser", &[run(2.0), run(2.5), run(1.0)]);
        assert!(lines.contains("browser: npm install 2.5 s, first round 1.0 s, together 3.5 s\n"), "{lines}");
        assert!(lines.ends_with("browser: the slowest of 3 took 3.5 s\n"), "{lines}");
        assert_eq!(objects(&[run(2.0)]), [json!({"npm install": 2.0, "first round": 1.0})]);
    }
}
