//! `bench database`: measures the cost of two SQL statements in device requests, by comparing requests with and without
//! them.

mod cost;
mod devices;
mod table;

use folkmoot_protocol::Timestamp;
use folkmoot_rounds::device::Authenticator;
use folkmoot_storage::{
    CheckInRepository, MemoryStorage, SqlOptions, SqlStorage, test_support::TestPostgres,
    test_support::check_in_without_lock,
};
use serde::Serialize;

use self::{
    cost::{Cost, Pair, Postmaster},
    devices::Devices,
};
use crate::{Failure, folder::TemporaryFolder};

/// The extent of the measurement.
#[derive(clap::Args)]
pub struct Arguments {
    /// Requests in a block, with the statement or without it
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(1..))]
    requests: u64,
    /// Blocks of each kind, in turn
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    blocks: u32,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

/// One row of the table.
#[derive(Serialize)]
struct Row {
    database: &'static str,
    /// A description of the request and the statement.
    what: &'static str,
    without: Cost,
    with: Cost,
}

/// Measures both statements and prints the table.
///
/// # Errors
/// If a database cannot be used. If PostgreSQL is not installed, its rows are skipped with a message.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut rows = Vec::new();
    if let Some(postgres) = TestPostgres::start() {
        let url = postgres.database();
        let postmaster = Postmaster::of_url(&url)?;
        runtime.block_on(async {
            let devices = Devices::enrol(connect(&url).await?).await?;
            rows.push(signed_requests(&devices, arguments, &postmaster).await?);
            rows.push(check_ins("PostgreSQL", &devices, arguments, Some(&postmaster)).await?);
            devices.storage.close().await;
            Ok::<_, Failure>(())
        })?;
    }
    let folder = TemporaryFolder::new("database")?;
    let url = format!("sqlite://{}?mode=rwc", folder.path().join("bench.db").display());
    rows.push(runtime.block_on(async {
        let devices = Devices::enrol(connect(&url).await?).await?;
        check_ins("SQLite", &devices, arguments, None).await
    })?);
    table::print(&rows, arguments.json)
}

async fn connect(url: &str) -> Result<SqlStorage, Failure> {
    Ok(SqlStorage::connect(url, SqlOptions::default()).await?)
}

/// Verifies signed requests with a record of nonces in this process, and with a record that several processes share.
async fn signed_requests(
    devices: &Devices,
    arguments: &Arguments,
    postmaster: &Postmaster,
) -> Result<Row, Failure> {
    let coordinator = devices.coordinator();
    let alone = Authenticator::new(Timestamp::default(), &MemoryStorage::new().into());
    let shared = Authenticator::new(Timestamp::default(), &coordinator.storage);
    let mut pair = Pair::new(Some(postmaster));
    for block in 0..=u64::from(arguments.blocks) {
        // Sign the requests before the measurement, because signing is the device's work.
        let requests = devices.signed(block, arguments.requests);
        for (authenticator, side) in [(&alone, 0), (&shared, 1)] {
            let believe = async {
                for request in &requests {
                    authenticator.client(&coordinator, &request.claimed(), request.at()).await?;
                }
                Ok(())
            };
            pair.measure(side, arguments.requests, believe).await?;
        }
    }
    let [without, with] = pair.costs();
    Ok(Row { database: "PostgreSQL", what: "signed request: a nonce that processes share", without, with })
}

/// Checks in without and with the lock of the client's row.
async fn check_ins(
    database: &'static str,
    devices: &Devices,
    arguments: &Arguments,
    postmaster: Option<&Postmaster>,
) -> Result<Row, Failure> {
    let storage = &devices.storage;
    let mut pair = Pair::new(postmaster);
    for block in 0..=u64::from(arguments.blocks) {
        let offers = devices.offers(block, arguments.requests);
        let without = async {
            for offer in &offers {
                check_in_without_lock(storage, offer).await?;
            }
            Ok(())
        };
        pair.measure(0, arguments.requests, without).await?;
        let with = async {
            for offer in &offers {
                storage.check_in(offer).await?;
            }
            Ok(())
        };
        pair.measure(1, arguments.requests, with).await?;
    }
    let [without, with] = pair.costs();
    Ok(Row { database, what: "check-in: a lock against a revocation", without, with })
}
