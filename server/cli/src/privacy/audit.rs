use std::{
    io::{Write, stderr},
    path::{Path, PathBuf},
};

use folkmoot_privacy::audit::Audit;
use folkmoot_simulation::{
    audit::{AuditPlan, AuditReport, audit},
    record::RoundRow,
    simulate::Progress,
};

use crate::{CliError, output::OutputArgs, task::check::read_for};

/// The flags of `folkmoot privacy audit`.
#[derive(clap::Args)]
pub struct Args {
    /// The task file. It must have privacy.kind = "central".
    #[arg(value_name = "TASK.toml")]
    file: PathBuf,
    /// The number of canaries in each of two groups: with updates within the clipping norm, and with updates above it.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    canaries: usize,
    /// The number of versions; every canary takes part in each version.
    #[arg(long, value_name = "N", default_value_t = 5)]
    rounds: u64,
    /// The probability that an honest build passes the audit.
    #[arg(long, value_name = "SHARE", default_value_t = 0.95)]
    confidence: f64,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs a private task with canaries in this process, and bounds what the released versions reveal about them.
///
/// # Errors
/// Fails if the file has faults, the task has no central privacy, the simulation fails, or the audit contradicts the
/// claimed privacy.
pub async fn run(args: Args) -> Result<(), CliError> {
    let description = description(&args.file)?;
    let Args { canaries, rounds, confidence, .. } = args;
    let plan = AuditPlan { description, canaries, rounds, confidence, sabotage: None };
    // Progress goes to stderr, so that it does not mix with the report.
    let announcement = plan.announcement().map_err(|error| CliError::new(error.to_string()))?;
    note(&announcement);
    let report = Box::pin(audit(&plan, &mut Versions { rounds })).await;
    let report = report.map_err(|error| CliError::new(error.to_string()))?;
    args.output.print(&report, text)?;
    if report.noise_is_broken || report.clipping_is_broken {
        return Err(CliError::with_remedy(
            "the released versions reveal more than the task claims: this build does not keep its privacy guarantee",
            "do not release versions with this build; report the audit and the build's version",
        ));
    }
    Ok(())
}

/// Prints every committed version.
struct Versions {
    rounds: u64,
}

impl Progress for Versions {
    fn round(&mut self, row: &RoundRow) {
        if let Some(version) = row.version {
            note(&format!("version {version} of {}", self.rounds));
        }
    }
}

/// Writes a line to stderr, if it can be written.
fn note(line: &str) {
    let _ = writeln!(stderr(), "{line}");
}

fn description(path: &Path) -> Result<folkmoot_coordinator::task::TaskDescription, CliError> {
    Ok(read_for(path, None)??)
}

fn text(report: &AuditReport) -> String {
    let found = |name: &str, audit: &Audit, is_broken: bool| {
        format!(
            "{name:<26} at least mu {:.3}, epsilon {:.3}: {}",
            audit.independent_mu_lower,
            audit.epsilon_of_independent_mu_lower.get(),
            if is_broken { "MORE THAN CLAIMED" } else { "within the claim" }
        )
    };
    format!(
        "claimed                    at most mu {:.3} by {} versions with noise of {:.3} times the norm\n{}\n{}\n\n\
         In each group of {} canaries, a coin decided for each canary whether it took part. All bounds together hold with \
         a probability of {:.3}; \
         epsilon is at delta {:e}.",
        report.claimed_mu,
        report.rounds,
        report.noise_multiplier,
        found("updates within the norm", &report.keeping, report.noise_is_broken),
        found("updates above the norm", &report.longer, report.clipping_is_broken),
        report.keeping.canaries,
        1.0 - 2.0 * (1.0 - report.keeping.confidence),
        report.keeping.delta.get()
    )
}
