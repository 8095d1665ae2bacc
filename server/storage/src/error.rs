/// Why the storage could not do something.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// There is no such row, or it belongs to another organisation.
    #[error("no such {0}")]
    NotFound(&'static str),
    /// Something of this name exists already.
    #[error("a {0} of this name exists already")]
    NameTaken(&'static str),
    /// The API key is the organisation's last one with the role of an admin.
    #[error("this is the last API key of an admin")]
    LastAdminKey,
    /// The client's key was revoked.
    #[error("this client's key was revoked")]
    ClientRevoked,
    /// Somebody else changed the row meanwhile: read it again.
    #[error("the {0} was changed meanwhile")]
    RevisionConflict(&'static str),
    /// The population was set otherwise, or another task began or released a version in it: see whether the leave still
    /// holds.
    #[error("another task of the population was faster, or its settings were changed")]
    LeaveConflict,
    /// What happened is counted in a database only, and all is in memory.
    #[error("this coordinator keeps all in memory: what happened is not counted")]
    NoDatabase,
    /// A number is above 2^63 - 1, the largest integer of a database.
    #[error("{0} is above the largest number that can be stored (2^63 - 1)")]
    OutOfRange(u64),
    /// A row that was read is not what was written: an invariant of ours is broken.
    #[error("the stored {what} cannot be read: {detail}")]
    Corrupt {
        /// Which row.
        what: &'static str,
        /// What is wrong.
        detail: String,
    },
    /// The database refused or could not be reached.
    #[error("the database failed: {0}")]
    Database(#[from] sqlx::Error),
    /// The schema could not be brought up to date.
    #[error("the database could not be migrated: {0}")]
    Migrate(#[from] sqlx::migrate::MigrateError),
}
