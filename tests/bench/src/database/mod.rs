//! `bench database`: measures the cost of an SQL statement in device requests, by comparing requests with and without it.

mod cost;
mod devices;
mod table;

use folkmoot_protocol::Timestamp;
use folkmoot_rounds::device::Authenticator;
use folkmoot_storage::{MemoryStorage, SqlOptions, SqlStorage};
use folkmoot_test_postgres::TestPostgres;
use serde::Serialize;

use self::{
    cost::{Cost, Pair, Postmaster},
    devices::Devices,
};
use crate::Failure;

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

/// Measures the statement and prints the table.
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
            devices.storage.close().await;
            Ok::<_, Failure>(())
        })?;
    }
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
