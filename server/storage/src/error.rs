/// The error of a storage operation.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// The row does not exist, or it belongs to another organisation.
    #[error("no such {0}")]
    NotFound(&'static str),
    /// Another row already has this name or id.
    #[error("a {0} with this name already exists")]
    NameTaken(&'static str),
    /// The API key is the organisation's last admin key.
    #[error("this is the organisation's last admin key; create another one first")]
    LastAdminKey,
    /// The organisation is closed, so it gets no new credentials.
    #[error("the organisation is closed")]
    OrganisationClosed,
    /// The client's key was revoked.
    #[error("this client's key was revoked; ask the operator whether it may enrol again")]
    ClientRevoked,
    /// The row was changed concurrently. Read it again and retry.
    #[error("the {0} was changed concurrently; read it again and retry")]
    RevisionConflict(&'static str),
    /// The population's settings, ledger or running tasks changed concurrently. Check again whether the operation
    /// is permitted, then retry.
    #[error("the population's settings, ledger or tasks changed since the check; check again and retry")]
    LeaveConflict,
    /// Statistics need a database, but this storage is in memory.
    #[error("this coordinator keeps all data in memory; start it with a database, which statistics need")]
    NoDatabase,
    /// A number exceeds 2^63 - 1, the largest integer in the database.
    #[error("{0} is above 2^63 - 1, the largest number that the database can store; use a smaller number")]
    OutOfRange(u64),
    /// A stored row cannot be decoded: an internal invariant is broken.
    #[error("the stored {what} cannot be read: {detail}")]
    Corrupt {
        /// The kind of row.
        what: &'static str,
        /// The problem.
        detail: String,
    },
    /// The database returned an error or could not be reached.
    #[error("the database failed: {0}")]
    Database(#[from] sqlx::Error),
    /// The schema migration failed.
    #[error("the database could not be migrated: {0}; use a build that is at least as new as the database")]
    Migrate(#[from] sqlx::migrate::MigrateError),
}

impl StorageError {
    /// Returns whether the database cannot be reached, or cannot work now, for example because its disk is full.
    pub fn is_unavailable(&self) -> bool {
        use sqlx::Error::{Database, Io, PoolTimedOut, Protocol};
        match self {
            Self::Database(Io(_) | PoolTimedOut | Protocol(_)) => true,
            Self::Database(Database(error)) => error.code().is_some_and(|code| match code.len() {
                // PostgreSQL: no connection, no resources, an operator's intervention, or an idle transaction.
                5 => ["08", "53", "57"].contains(&&code[..2]) || code == "25P03",
                // SQLite: busy, locked, an I/O error, a full disk, or a file that cannot be opened.
                _ => code.parse::<u32>().is_ok_and(|code| matches!(code & 0xff, 5 | 6 | 10 | 13 | 14)),
            }),
            _ => false,
        }
    }
}
