use std::str::FromStr;

use folkmoot_api::usage::QuotasView;

use super::find;
use crate::{
    CliError,
    connection::ConnectionArgs,
    output::{OutputArgs, or_dash, table},
};

/// The flags of `folkmoot organisation set`. A quota without a flag stays as it is; `none` removes one.
#[derive(clap::Args)]
pub struct Args {
    /// The name or the id of the organisation.
    organisation: String,
    /// The largest number of clients that are not revoked.
    #[arg(long, value_name = "COUNT|none")]
    clients_max: Option<Quota<u64>>,
    /// The largest number of tasks that have not ended.
    #[arg(long, value_name = "COUNT|none")]
    tasks_max: Option<Quota<u64>>,
    /// The largest size of all models and versions, in bytes.
    #[arg(long, value_name = "BYTES|none")]
    stored_bytes_max: Option<Quota<u64>>,
    /// The bytes that clients may send and receive on one day (UTC). If they are used up, clients wait for the next day.
    #[arg(long, value_name = "BYTES|none")]
    bytes_per_day_max: Option<Quota<u64>>,
    /// The rate of all clients' requests together, for each process of the coordinator. Faster requests are refused.
    #[arg(long, value_name = "RATE|none")]
    requests_per_second_max: Option<Quota<u32>>,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// A number, or no limit.
#[derive(Clone, Copy)]
struct Quota<T>(Option<T>);

impl<T: FromStr> FromStr for Quota<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self(None)),
            number => number
                .parse()
                .map(|number| Self(Some(number)))
                .map_err(|_| "it must be a whole number from 0 on, or none for no limit".to_owned()),
        }
    }
}

impl<T> Quota<T> {
    fn replace(given: Option<Self>, quota: &mut Option<T>) {
        if let Some(Self(new)) = given {
            *quota = new;
        }
    }
}

/// Changes the given quotas of an organisation, and prints all of them.
///
/// # Errors
/// Fails if there is no such organisation, or if the coordinator cannot be reached or refuses the request.
pub async fn run(args: Args) -> Result<(), CliError> {
    let admin = args.connection.connect()?;
    let organisation = find(&admin, &args.organisation).await?;
    let mut quotas = organisation.quotas;
    Quota::replace(args.clients_max, &mut quotas.clients_max);
    Quota::replace(args.tasks_max, &mut quotas.tasks_max);
    Quota::replace(args.stored_bytes_max, &mut quotas.stored_bytes_max);
    Quota::replace(args.bytes_per_day_max, &mut quotas.bytes_per_day_max);
    Quota::replace(args.requests_per_second_max, &mut quotas.requests_per_second_max);
    args.output.print(&admin.set_quotas(organisation.id, &quotas).await?, text)
}

fn text(quotas: &QuotasView) -> String {
    let row = |name: &str, quota: String| [name.to_owned(), quota];
    table(
        ["", "QUOTA"],
        [
            row("clients", or_dash(quotas.clients_max)),
            row("tasks that have not ended", or_dash(quotas.tasks_max)),
            row("stored bytes", or_dash(quotas.stored_bytes_max)),
            row("bytes per day", or_dash(quotas.bytes_per_day_max)),
            row("requests per second", or_dash(quotas.requests_per_second_max)),
        ],
    )
}
