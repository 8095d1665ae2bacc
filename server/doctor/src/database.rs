use std::time::Duration;

use folkmoot_rounds::clock::Clock;
use folkmoot_service::data_folder::sqlite_url;
use folkmoot_settings::Config;
use folkmoot_storage::{DatabasePlace, DatabaseReader, MigrationState, StorageError};
use tokio::time::timeout;

use crate::{
    clock::ClockReading,
    data_folder::FolderState,
    finding::{Finding, all_skipped},
};

const DATABASE: &str = "database";
const MIGRATIONS: &str = "migrations";
const INTEGRITY: &str = "integrity";
pub const CHECKS: [&str; 3] = [DATABASE, MIGRATIONS, INTEGRITY];

/// The longest time to wait for a database.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// The number of faults of a SQLite file that are shown.
const FAULTS_SHOWN: usize = 3;

/// A database that answers, and the facts about it that later checks need.
pub struct Database {
    pub reader: DatabaseReader,
    /// The name of the database program and its version.
    pub version: String,
    /// The clock of the server; `None` for SQLite.
    pub clock: Option<ClockReading>,
    /// `true` if a coordinator has created its tables.
    pub has_tables: bool,
}

/// Checks the connection, the migrations and, if `is_deep`, the structure of a SQLite file.
pub async fn check(
    config: &Config,
    folder: &FolderState,
    is_deep: bool,
    clock: &Clock,
) -> (Vec<Finding>, Option<Database>) {
    let url = config.database.url.clone().unwrap_or_else(|| sqlite_url(&config.server.data));
    // Without a URL in the configuration, there is no password in it.
    let without_password = config.without_secrets().database.url.unwrap_or_else(|| url.clone());
    let place = match DatabasePlace::of(&url) {
        Ok(place) => place,
        Err(error) => return without(unreachable(&without_password, &error.to_string(), false)),
    };
    let shown = match &place {
        DatabasePlace::File(file) => file.display().to_string(),
        _ => without_password,
    };
    if let Some(finding) = absent(&place, config.database.url.is_none() && folder.is_known) {
        return without(finding);
    }
    let opened = timeout(ANSWER_MAX, open(&url, clock));
    let (mut database, state) = match opened.await {
        Ok(Ok(opened)) => opened,
        Ok(Err(error)) => {
            return without(unreachable(&shown, &error.to_string(), place == DatabasePlace::Server));
        }
        Err(_) => {
            let reason = format!("it did not answer within {} s", ANSWER_MAX.as_secs());
            return without(unreachable(&shown, &reason, place == DatabasePlace::Server));
        }
    };
    let findings = vec![
        Finding::ok(DATABASE, format!("{} reads {shown}.", database.version)),
        migrations(&state),
        match (&place, is_deep) {
            (DatabasePlace::File(_), true) => integrity(database.reader.faults().await),
            (DatabasePlace::File(_), false) => {
                Finding::skipped(INTEGRITY, "Not checked; --deep reads the whole SQLite file.")
            }
            _ => Finding::skipped(INTEGRITY, "PostgreSQL checks its files itself."),
        },
    ];
    (findings, Some(database))
}

fn without(finding: Finding) -> (Vec<Finding>, Option<Database>) {
    let others = all_skipped(&CHECKS[1..], "The database cannot be read.");
    ([finding].into_iter().chain(others).collect(), None)
}

/// Judges a database that no connection can reach: SQLite in memory, or a missing file. `is_lost` if a coordinator must
/// have created the file.
fn absent(place: &DatabasePlace, is_lost: bool) -> Option<Finding> {
    match place {
        DatabasePlace::Server => None,
        DatabasePlace::Memory => {
            Some(Finding::skipped(DATABASE, "The database is in the memory of the coordinator."))
        }
        DatabasePlace::File(file) if file.exists() => None,
        DatabasePlace::File(file) if is_lost => Some(Finding::failed(
            DATABASE,
            format!("{} is missing, although a coordinator has used the data folder.", file.display()),
            "restore the file from a backup, or set database.url as it was before; otherwise `folkmoot serve` begins with an \
             empty database",
        )),
        DatabasePlace::File(file) => {
            let message = format!("{} does not exist; `folkmoot serve` creates it.", file.display());
            Some(Finding::skipped(DATABASE, message))
        }
    }
}

fn unreachable(shown: &str, reason: &str, is_server: bool) -> Finding {
    let remedy = match is_server {
        true => {
            "check that PostgreSQL is running, and that database.url has the right host, database, user and password"
        }
        false => "correct database.url, and run this command as the owner of the file",
    };
    Finding::failed(DATABASE, format!("{shown} cannot be used: {reason}."), remedy)
}

async fn open(url: &str, clock: &Clock) -> Result<(Database, MigrationState), StorageError> {
    let mut reader = DatabaseReader::open(url).await?;
    let version = reader.version().await?;
    let before = clock();
    let other = reader.now().await?;
    let after = clock();
    let state = reader.migrations().await?;
    let clock = other.map(|other| ClockReading { before, other, after });
    Ok((Database { reader, version, clock, has_tables: state.applied > 0 }, state))
}

/// Judges the migrations. A coordinator refuses a database with migrations that it does not know.
fn migrations(state: &MigrationState) -> Finding {
    let MigrationState { applied, known, pending, unknown, changed, unfinished } = state;
    if !unknown.is_empty() {
        return Finding::failed(
            MIGRATIONS,
            format!(
                "The database is newer than this program: it has run {applied} migrations, and this program knows {known}. \
                 Unknown: {}.",
                listed(unknown)
            ),
            "use a program at least as new as the one that last ran on this database, or restore a backup from before its \
             first start",
        );
    }
    let broken = [("Changed", changed), ("Unfinished", unfinished)];
    if let Some((name, versions)) = broken.iter().find(|(_, versions)| !versions.is_empty()) {
        return Finding::failed(
            MIGRATIONS,
            format!(
                "The migrations of the database are not those of this program. {name}: {}.",
                listed(versions)
            ),
            "restore the database from a backup",
        );
    }
    match (*applied, pending.len()) {
        (0, _) => Finding::ok(MIGRATIONS, "The database is empty; `folkmoot serve` creates its tables."),
        (_, 0) => Finding::ok(MIGRATIONS, format!("All {known} migrations have run.")),
        (_, count) => Finding::warning(
            MIGRATIONS,
            format!(
                "{applied} of {known} migrations have run; `folkmoot serve` runs the other {count} when it starts."
            ),
            "back up the database, then restart the coordinator with this program",
        ),
    }
}

fn listed(versions: &[i64]) -> String {
    versions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn integrity(faults: Result<Vec<String>, StorageError>) -> Finding {
    let remedy = "stop the coordinator, and restore the database from a backup";
    match faults {
        Ok(faults) if faults.is_empty() => Finding::ok(INTEGRITY, "SQLite finds no fault in the file."),
        Ok(faults) => {
            let shown = faults.iter().take(FAULTS_SHOWN).cloned().collect::<Vec<_>>().join("; ");
            Finding::failed(
                INTEGRITY,
                format!("The SQLite file has {} faults: {shown}.", faults.len()),
                remedy,
            )
        }
        Err(error) => Finding::failed(INTEGRITY, format!("The SQLite file cannot be read: {error}."), remedy),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Verdict;

    #[test]
    fn migrations_are_complete_or_pending_or_newer_or_broken() {
        let state = |change: &dyn Fn(&mut MigrationState)| {
            let mut state = MigrationState { applied: 17, known: 17, ..MigrationState::default() };
            change(&mut state);
            migrations(&state)
        };
        assert_eq!(state(&|_| {}).verdict, Verdict::Ok);
        let new = state(&|state| (state.applied, state.pending) = (0, (1..=17).collect()));
        assert_eq!(new.verdict, Verdict::Ok);
        let pending = state(&|state| (state.applied, state.pending) = (15, vec![16, 17]));
        assert_eq!(pending.verdict, Verdict::Warning);
        assert!(pending.message.starts_with("15 of 17 migrations have run"), "{pending:?}");
        let newer = state(&|state| (state.applied, state.unknown) = (19, vec![18, 19]));
        assert_eq!(newer.verdict, Verdict::Failed);
        assert!(
            newer.message.contains("newer than this program") && newer.message.ends_with("18, 19."),
            "{newer:?}"
        );
        assert_eq!(state(&|state| state.changed = vec![3]).verdict, Verdict::Failed);
        assert_eq!(state(&|state| state.unfinished = vec![3]).verdict, Verdict::Failed);
    }

    #[test]
    fn a_missing_file_is_lost_if_a_coordinator_has_created_it() {
        let folder = tempfile::tempdir().unwrap();
        let place = DatabasePlace::File(folder.path().join("folkmoot.db"));
        assert_eq!(absent(&place, false).unwrap().verdict, Verdict::Skipped);
        assert_eq!(absent(&place, true).unwrap().verdict, Verdict::Failed);
        assert_eq!(absent(&DatabasePlace::Memory, true).unwrap().verdict, Verdict::Skipped);
        assert!(absent(&DatabasePlace::Server, true).is_none());
        assert!(absent(&DatabasePlace::File(folder.path().to_owned()), true).is_none());
    }

    #[test]
    fn faults_are_counted_and_the_first_are_shown() {
        assert_eq!(integrity(Ok(Vec::new())).verdict, Verdict::Ok);
        let finding = integrity(Ok(["a", "b", "c", "d"].map(str::to_owned).into()));
        assert_eq!(finding.verdict, Verdict::Failed);
        assert!(finding.message.contains("4 faults: a; b; c."), "{finding:?}");
    }

    #[tokio::test]
    async fn a_server_that_cannot_be_reached_is_named_without_its_password() {
        let clock: Clock = std::sync::Arc::new(|| folkmoot_protocol::Timestamp(0));
        let mut config = Config::default();
        config.database.url = Some("postgres://ada:secret@127.0.0.1:1/x".into());
        let (findings, database) = check(&config, &FolderState::default(), false, &clock).await;
        assert!(database.is_none());
        assert_eq!(findings[0].verdict, Verdict::Failed);
        let message = &findings[0].message;
        assert!(message.contains("ada:***@127.0.0.1") && !message.contains("secret"), "{message}");
        config.database.url = Some("mysql://ada@127.0.0.1/x".into());
        assert_eq!(
            check(&config, &FolderState::default(), false, &clock).await.0[0].verdict,
            Verdict::Failed
        );
    }
}
