use super::find;
use crate::{CliError, connection::ConnectionArgs, output::OutputArgs};

/// The flags of `folkmoot organisation close`.
#[derive(clap::Args)]
pub struct Args {
    /// The name or the id of the organisation.
    organisation: String,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Closes an organisation forever. Its data stays in the database.
///
/// # Errors
/// Fails if there is no such organisation, or if the coordinator cannot be reached or refuses the request.
pub async fn run(args: Args) -> Result<(), CliError> {
    let admin = args.connection.connect()?;
    let organisation = find(&admin, &args.organisation).await?;
    let closed = admin.close_organisation(organisation.id).await?;
    args.output.print(&closed, |closed| {
        format!(
            "organisation {} is closed; revoked: API keys {}, tokens {}, clients {}; cancelled: tasks {}",
            organisation.name,
            closed.api_keys_revoked,
            closed.tokens_revoked,
            closed.clients_revoked,
            closed.tasks_cancelled
        )
    })
}
