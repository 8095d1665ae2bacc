//! `cargo xtask campaign`: the tests that take too long for every commit. Run it before a release and after a larger
//! change.

use crate::outcome::Outcome;
use crate::process::{Stopwatch, run as run_command, run_reading, spelled};
use crate::stages::{browser, fuzz, mobile};
use crate::suite::harness::{Settings, programs, run as run_programs};
use crate::suite::summary::Summary;
use crate::workspace::{Failure, cargo, root};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::process::Command;

/// The task whose privacy guarantee is audited.
const AUDITED: &str = "examples/digits/private-task.toml";
/// The size and confidence of the audit. One in a thousand audits rejects a correct build by chance.
const AUDIT: [&str; 6] = ["--canaries", "5000", "--rounds", "20", "--confidence", "0.999"];

/// The extent of the campaign.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Run only this part; may be given several times
    #[arg(long, value_name = "PART")]
    only: Vec<Part>,
    /// Number of new seeds for each simulation
    #[arg(long, default_value_t = 10_000)]
    seeds: u64,
    /// First seed
    #[arg(long, default_value_t = 300)]
    first_seed: u64,
    /// Run time of each fuzz target, in seconds
    #[arg(long, default_value_t = 300)]
    fuzz_seconds: u32,
    /// Mutate only the lines changed in this output of `git diff` (.diff or .patch), or the lines of this source file
    #[arg(long, value_name = "FILE")]
    mutate: Option<PathBuf>,
    /// Number of faults of the chaos test
    #[arg(long, default_value_t = 200)]
    faults: u32,
    /// Print the summary as JSON on the last line
    #[arg(long)]
    json: bool,
}

/// One part of the campaign. If a part fails, the others still run, and the summary names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Simulates a coordinator and its clients under faults
    Simulation,
    /// Simulates all privacy mechanisms
    Privacy,
    /// Kills, pauses and disconnects real coordinators, their database and their object storage
    Chaos,
    /// Searches for bytes that make a decoder panic or exceed its memory limit
    Fuzz,
    /// Audits the privacy of a release build with more canaries and model versions than a test
    Audit,
    /// Measures the memory of a browser page over 200 rounds
    Memory,
    /// Generates machine code for iOS and Android
    Mobile,
    /// Searches for code changes that no test notices, with cargo-mutants; needs `--mutate`
    Mutants,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Self::Simulation => "simulation",
            Self::Privacy => "privacy",
            Self::Chaos => "chaos",
            Self::Fuzz => "fuzz",
            Self::Audit => "audit",
            Self::Memory => "memory",
            Self::Mobile => "mobile",
            Self::Mutants => "mutants",
        }
    }
}

/// Runs all parts, or the chosen ones.
///
/// # Errors
/// Names the part that failed first, and the reason.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut summary = Summary::default();
    let all = Part::value_variants().iter().copied();
    for part in all.filter(|part| arguments.only.is_empty() || arguments.only.contains(part)) {
        let stopwatch = Stopwatch::start();
        let outcome = part.run(arguments);
        println!("xtask: campaign: {}", summary.add(part.name(), stopwatch.read(), outcome));
    }
    print!("{}", summary.timings());
    if arguments.json {
        println!("{}", summary.json());
    }
    summary.end()
}

impl Part {
    fn run(self, arguments: &Arguments) -> Result<Outcome, Failure> {
        match self {
            Self::Simulation => simulation("every_world", arguments),
            Self::Privacy => simulation("every_charge", arguments),
            Self::Chaos => chaos(arguments),
            Self::Fuzz => {
                fuzz::run(&fuzz::Arguments::for_seconds(arguments.fuzz_seconds)).map(|()| Outcome::done())
            }
            Self::Audit => audit(),
            Self::Memory => browser::campaign(),
            Self::Mobile => mobile::generate(),
            Self::Mutants => mutants(arguments),
        }
    }
}

/// Runs one test of the simulations with new seeds.
fn simulation(test: &str, arguments: &Arguments) -> Result<Outcome, Failure> {
    let seeds = [("FOLKMOOT_SEEDS", arguments.seeds), ("FOLKMOOT_FIRST_SEED", arguments.first_seed)];
    one_test("simulation", test, seeds)
}

/// Runs the chaos test with a new seed and more faults.
fn chaos(arguments: &Arguments) -> Result<Outcome, Failure> {
    let numbers =
        [("FOLKMOOT_FAULTS", arguments.faults.into()), ("FOLKMOOT_FIRST_SEED", arguments.first_seed)];
    one_test("e2e", "no_fault_loses_or_doubles", numbers)
}

/// Runs one test of a program with these numbers as environment variables.
fn one_test(program: &str, test: &str, numbers: [(&str, u64); 2]) -> Result<Outcome, Failure> {
    let mut settings = Settings { names: vec![test.to_owned()], is_told: true, ..Settings::default() };
    settings.environment.extend(numbers.map(|(name, value)| (name.to_owned(), value.to_string())));
    // 100,000 seeds take hours on two cores, so the limit is long.
    settings.limit = std::time::Duration::from_hours(12);
    let suffix = format!(" {program}");
    let chosen = programs()?.into_iter().filter(|program| program.name.ends_with(&suffix));
    run_programs(&chosen.collect::<Vec<_>>(), &settings)
}

fn audit() -> Result<Outcome, Failure> {
    let mut audit = cargo(&["run", "--locked", "--release", "--", "privacy", "audit"]);
    audit.args(AUDIT).arg(AUDITED);
    println!("xtask: audit: {}", spelled(&audit));
    run_command(&mut audit).map(|()| Outcome::done())
}

/// Runs cargo-mutants, which changes the sources in place and makes its own builds.
fn mutants(arguments: &Arguments) -> Result<Outcome, Failure> {
    let Some(file) = &arguments.mutate else {
        return Outcome::left_out("mutants", "`--mutate FILE` is missing. It names the lines to mutate");
    };
    if !crate::process::succeeds(&mut cargo(&["mutants", "--version"])) {
        let why = "cargo-mutants is missing. Run `cargo install --locked cargo-mutants`";
        return Outcome::left_out("mutants", why);
    }
    let is_diff = file.extension().is_some_and(|extension| extension == "diff" || extension == "patch");
    let mut mutants = Command::new("cargo");
    mutants.args(["mutants", "--in-place", "--no-shuffle", "--test-workspace=true"]);
    mutants.arg(if is_diff { "--in-diff" } else { "--file" }).arg(file).current_dir(root());
    println!("xtask: mutants: {}", spelled(&mutants));
    let mut caught = 0;
    run_reading(&mut mutants, |line| caught += usize::from(line.starts_with("caught")))?;
    Ok(Outcome { passed: caught, ..Outcome::done() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_the_command_line_takes() {
        for part in Part::value_variants() {
            assert_eq!(Part::from_str(part.name(), false), Ok(*part));
        }
    }

    #[test]
    fn what_is_audited_is_there() {
        assert!(root().join(AUDITED).is_file());
    }
}
