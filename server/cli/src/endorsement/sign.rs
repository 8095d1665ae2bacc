use std::path::PathBuf;

use folkmoot_protocol::endorsement::Endorsement;

use super::{folder, key};
use crate::{CliError, output::OutputArgs};

/// The flags of `folkmoot endorsement sign`.
#[derive(clap::Args)]
pub struct Args {
    /// The folder that `folkmoot endorsement prepare` wrote.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The signing key.
    #[arg(long, value_name = "FILE.pem")]
    key: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

/// Signs the statement in a folder.
///
/// # Errors
/// Fails if a file cannot be read or written, or if the plans differ from the statement's.
pub fn run(args: Args) -> Result<(), CliError> {
    let key = key::read(&args.key)?;
    let (text, statement) = folder::statement(&args.folder)?;
    let endorsement = Endorsement::sign(text, &key).map_err(|error| CliError::new(error.to_string()))?;
    let path = folder::write_endorsement(&args.folder, &endorsement)?;
    args.output.print(&endorsement, |endorsement| {
        let described = folder::described(&statement);
        format!("{described}\nsigned by    {}\n\nwrote {}", endorsement.public_key, path.display())
    })
}
