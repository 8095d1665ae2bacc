use serde_json::json;

use crate::{CliError, connection::AddressArgs, output::OutputArgs, sessions::Sessions};

/// The flags of `folkmoot logout`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    address: AddressArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Ends the stored session at the coordinator, and deletes it here.
///
/// # Errors
/// Fails if there is no session, if the coordinator cannot be reached, or if the file of sessions cannot be written.
pub async fn run(args: Args) -> Result<(), CliError> {
    let (url, sessions) = (&args.address.url, Sessions::open()?);
    let Some(stored) = sessions.get(url)? else {
        let message = format!("there is no session for {url}");
        return Err(CliError::with_remedy(
            message,
            "check --url; it must be the same as for `folkmoot login`",
        ));
    };
    let client = args.address.connect(&stored.session)?;
    let provider_url = client.sign_out().await?.map(|signed_out| signed_out.provider_url);
    sessions.set(url, None)?;
    args.output.print(&json!({ "signed_out": url, "provider_url": provider_url }), |_| match &provider_url {
        Some(page) => format!("Signed out of {url}\nTo sign out at the identity provider too, open {page}"),
        None => format!("Signed out of {url}"),
    })
}
