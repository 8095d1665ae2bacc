/// The moment at which a transaction is acknowledged. As an option it applies only to SQLite; for PostgreSQL, set
/// `synchronous_commit` on the server. Check-ins are `Normal` on both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// After the transaction was synced to disk. An acknowledged transaction then survives a power failure.
    #[default]
    Full,
    /// After the operating system has received the transaction. An acknowledged transaction then survives a crash of
    /// the process. A power failure may lose the last transactions, but never a part of one. On slow disks, this is
    /// several times as fast as `Full`.
    Normal,
}
