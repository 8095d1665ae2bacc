use clap::ValueEnum;
use folkmoot_protocol::Role;

use crate::{CliError, connection::ConnectionArgs, output::OutputArgs};

/// What the key is for.
#[derive(clap::Args)]
pub struct Args {
    /// A name for humans: who will use it, and for what.
    name: String,
    /// What it may do.
    #[arg(long, default_value = "viewer")]
    role: RoleChoice,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Clone, Copy, ValueEnum)]
enum RoleChoice {
    /// See.
    Viewer,
    /// Run tasks.
    Operator,
    /// Hand out keys.
    Admin,
}

impl From<RoleChoice> for Role {
    fn from(choice: RoleChoice) -> Self {
        match choice {
            RoleChoice::Viewer => Role::Viewer,
            RoleChoice::Operator => Role::Operator,
            RoleChoice::Admin => Role::Admin,
        }
    }
}

/// Makes an API key. It is printed once, and alone on its line.
///
/// # Errors
/// If the coordinator refuses.
pub async fn run(args: Args) -> Result<(), CliError> {
    let created = args.connection.connect()?.create_api_key(&args.name, args.role.into()).await?;
    args.output.print(&created, |created| created.api_key.clone())
}
