//! `folkmoot doctor`: checks an installation, with one file for each group of checks.
//!
//! Each group returns its findings, and the facts that later groups need. Nothing is changed, except for one file that
//! is created in the data folder and removed.

mod blobs;
mod certificate;
mod clock;
mod configuration;
mod coordinator;
mod data_folder;
mod database;
mod finding;
mod identity_providers;

use folkmoot_rounds::clock::{Clock, system_clock};
use folkmoot_settings::Config;
use serde::Serialize;

use self::finding::{Finding, Verdict, all_skipped};
use crate::{CliError, output::OutputArgs, serve::SettingsArgs};

/// The version of this program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The flags of `folkmoot doctor`. The settings are those of `folkmoot serve`.
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
    let findings = examine(args.settings, args.deep, &system_clock()).await;
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

async fn examine(settings: SettingsArgs, is_deep: bool, clock: &Clock) -> Vec<Finding> {
    let (mut findings, config) = configuration::check(settings);
    let mut database_version = None;
    match config {
        Some(config) => database_version = examine_with(&config, is_deep, clock, &mut findings).await,
        None => {
            let later = [
                &data_folder::CHECKS[..],
                &database::CHECKS,
                &blobs::CHECKS,
                &[clock::CHECK],
                &certificate::CHECKS,
                &coordinator::CHECKS,
                &[identity_providers::CHECK],
            ];
            findings.extend(all_skipped(&later.concat(), "The configuration is not valid."));
        }
    }
    findings.push(version(database_version.as_deref()));
    findings
}

/// Makes the checks that need a valid configuration. Returns the version of the database, if it answers.
async fn examine_with(
    config: &Config,
    is_deep: bool,
    clock: &Clock,
    findings: &mut Vec<Finding>,
) -> Option<String> {
    let (found, folder) = data_folder::check(&config.server.data, clock);
    findings.extend(found);
    let (found, mut database) = database::check(config, &folder, is_deep, clock).await;
    findings.extend(found);
    findings.extend(blobs::check(config, &folder, database.as_mut(), is_deep).await);
    let (database_version, database_clock) = match database {
        Some(database) => {
            database.reader.close().await;
            (Some(database.version), database.clock)
        }
        None => (None, None),
    };
    findings.push(clock::check(clock(), folder.clock, database_clock));
    findings.extend(certificate::check(&config.host_config(), clock()));
    findings.extend(coordinator::check(&config.host_config(), folder.used_by).await);
    findings.extend(identity_providers::check(&config.host_config(), clock()).await);
    database_version
}

fn version(database: Option<&str>) -> Finding {
    let with = database.map(|version| format!(", and the database is {version}")).unwrap_or_default();
    Finding::ok("version", format!("This program is folkmoot {VERSION}{with}."))
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

    #[test]
    fn the_version_names_the_database() {
        assert!(version(None).message.ends_with(&format!("folkmoot {VERSION}.")));
        assert!(version(Some("SQLite 3.50")).message.ends_with("the database is SQLite 3.50."));
    }
}
