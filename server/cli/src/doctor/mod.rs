//! `folkmoot doctor`: the flags, the configuration, and the report of the checks in `folkmoot-doctor`.

mod configuration;

use folkmoot_doctor::{Finding, VERSION, Verdict, examine};
use folkmoot_rounds::clock::system_clock;
use serde::Serialize;

use crate::{CliError, output::OutputArgs, serve::SettingsArgs};

/// The flags of `folkmoot doctor`. The settings of `folkmoot serve` apply.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    settings: SettingsArgs,
    /// Also read the whole SQLite database, and verify the digests of the newest blobs.
    #[arg(long)]
    deep: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// The findings of all checks.
#[derive(Serialize)]
struct Report {
    /// The version of this program.
    version: &'static str,
    /// `true` if no check failed.
    is_healthy: bool,
    findings: Vec<Finding>,
}

/// Checks an installation before or while a coordinator runs, and prints one line for each check. Give it the flags of
/// `folkmoot serve`.
///
/// # Errors
/// If a check failed.
pub async fn run(args: Args) -> Result<(), CliError> {
    let (mut findings, config) = configuration::check(args.settings);
    findings.extend(examine(config.as_ref(), args.deep, &system_clock()).await);
    let failed = count(&findings, Verdict::Failed);
    let report = Report { version: VERSION, is_healthy: failed == 0, findings };
    args.output.print(&report, text)?;
    if failed == 0 {
        return Ok(());
    }
    let message = format!("{failed} of {} checks failed", report.findings.len());
    Err(CliError::with_remedy(
        message,
        "follow the remedies of these checks, then run `folkmoot doctor` again",
    ))
}

fn count(findings: &[Finding], verdict: Verdict) -> usize {
    findings.iter().filter(|finding| finding.verdict == verdict).count()
}

fn text(report: &Report) -> String {
    let mut lines = Vec::new();
    for finding in &report.findings {
        // A message can quote several lines, for example of a parser.
        let message = finding.message.replace('\n', " ");
        lines.push(format!("{:8} {:19} {message}", finding.verdict.name(), finding.check));
        lines.extend(finding.remedy.as_ref().map(|remedy| format!("{:28} remedy: {remedy}", "")));
    }
    let counts = [Verdict::Ok, Verdict::Warning, Verdict::Failed, Verdict::Skipped]
        .map(|verdict| format!("{} {}", count(&report.findings, verdict), verdict.name()));
    lines.push(String::new());
    lines.push(counts.join(", "));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_finding_is_a_line_and_a_remedy_is_below_it() {
        let findings = vec![
            Finding::ok("disk", "There is room."),
            Finding::failed("database", "It\nfailed.", "repair it"),
            Finding::skipped("blobs", "There are none."),
        ];
        let report = Report { version: VERSION, is_healthy: false, findings };
        let expected = "\
ok       disk                There is room.
failed   database            It failed.
                             remedy: repair it
skipped  blobs               There are none.

1 ok, 0 warning, 1 failed, 1 skipped";
        assert_eq!(text(&report), expected);
    }
}
