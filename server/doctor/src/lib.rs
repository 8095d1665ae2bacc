#![doc = include_str!("../README.md")]

mod blobs;
mod certificate;
mod clock;
mod coordinator;
mod data_folder;
mod database;
mod finding;
mod identity_providers;
mod notifications;

use folkmoot_rounds::clock::Clock;
use folkmoot_settings::Config;

use self::finding::all_skipped;
pub use self::finding::{Finding, Verdict};

/// The version of this program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Checks an installation before or while a coordinator runs. Without a valid configuration, most checks are skipped. If
/// `is_deep`, reads the whole SQLite database, and verifies the digests of the newest blobs.
pub async fn examine(config: Option<&Config>, is_deep: bool, clock: &Clock) -> Vec<Finding> {
    let Some(config) = config else {
        let skipped = [
            &data_folder::CHECKS[..],
            &database::CHECKS,
            &blobs::CHECKS,
            &[clock::CHECK],
            &certificate::CHECKS,
            &coordinator::CHECKS,
            &[identity_providers::CHECK, notifications::CHECK],
        ];
        let mut findings: Vec<Finding> =
            all_skipped(&skipped.concat(), "The configuration is not valid.").collect();
        findings.push(version(None));
        return findings;
    };
    let (mut findings, database_version) = examine_with(config, is_deep, clock).await;
    findings.push(version(database_version.as_deref()));
    findings
}

/// Makes the checks that need a valid configuration. Also returns the version of the database, if it answers.
async fn examine_with(config: &Config, is_deep: bool, clock: &Clock) -> (Vec<Finding>, Option<String>) {
    let (mut findings, folder) = data_folder::check(&config.server.data, clock);
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
    findings.push(notifications::check(config, &|name| std::env::var(name).ok()));
    (findings, database_version)
}

fn version(database: Option<&str>) -> Finding {
    let with = database.map(|version| format!(", and the database is {version}")).unwrap_or_default();
    Finding::ok("version", format!("This program is folkmoot {VERSION}{with}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_names_the_database() {
        assert!(version(None).message.ends_with(&format!("folkmoot {VERSION}.")));
        assert!(version(Some("SQLite 3.50")).message.ends_with("the database is SQLite 3.50."));
    }
}
