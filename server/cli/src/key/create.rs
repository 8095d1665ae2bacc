use clap::ValueEnum;
use folkmoot_protocol::Role;

use crate::{CliError, connection::ConnectionArgs, output::OutputArgs};

/// The flags of `folkmoot key create`.
#[derive(clap::Args)]
pub struct Args {
    /// A display name. Say who uses the key and for what.
    name: String,
    /// The role of the key.
    #[arg(long, default_value = "viewer")]
    role: RoleChoice,
    /// The lifetime of the key in seconds. Without it, the key is valid until it is revoked.
    #[arg(long, value_name = "SECONDS")]
    expires_in: Option<u64>,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Clone, Copy, ValueEnum)]
enum RoleChoice {
    /// May read.
    Viewer,
    /// May also run tasks.
    Operator,
    /// May read, and raise privacy budgets. While there is a privacy officer, nobody else may raise them.
    PrivacyOfficer,
    /// May do what operators may, and manage API keys, clients and privacy settings.
    Admin,
    /// May sum the updates of clients, as an edge aggregator.
    Aggregator,
}

impl From<RoleChoice> for Role {
    fn from(choice: RoleChoice) -> Self {
        match choice {
            RoleChoice::Viewer => Role::Viewer,
            RoleChoice::Operator => Role::Operator,
            RoleChoice::PrivacyOfficer => Role::PrivacyOfficer,
            RoleChoice::Admin => Role::Admin,
            RoleChoice::Aggregator => Role::Aggregator,
        }
    }
}

/// Creates an API key and prints it alone on one line. It is shown only once.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request.
pub async fn run(args: Args) -> Result<(), CliError> {
    let admin = args.connection.connect()?;
    let created = admin.create_api_key_for(&args.name, args.role.into(), args.expires_in).await?;
    args.output.print(&created, |created| created.api_key.clone())
}
