use folkmoot_api::session::{DeviceSignInState, DeviceSignInView};
use serde_json::json;

use crate::{
    CliError,
    connection::AddressArgs,
    output::{OutputArgs, moment},
    sessions::{Sessions, Stored},
};

/// The flags of `folkmoot login`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    address: AddressArgs,
    /// The name of the identity provider. Needed only if the coordinator has several.
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Prints an address and a code that a person enters in a browser on any machine, waits, and stores the session.
///
/// # Errors
/// Fails if nobody enters the code, if the person has no role, if the coordinator or the provider cannot be reached, or
/// if the session cannot be stored.
pub async fn run(args: Args) -> Result<(), CliError> {
    let url = &args.address.url;
    let (client, sessions) = (args.address.connect("")?, Sessions::open()?);
    let provider = match args.provider {
        Some(provider) => provider,
        None => only_provider(&client.identity_providers().await?.providers)?,
    };
    let begun = client.begin_device_sign_in(&provider).await?;
    show(&begun, args.output)?;
    let state = client.await_device_sign_in(&provider, &begun, tokio::time::sleep).await?;
    let DeviceSignInState::SignedIn { session, expires_at, person, role, organisation } = state else {
        return Err(CliError::with_remedy("nobody entered the code in time", "start `folkmoot login` again"));
    };
    if let Err(error) = sessions.set(url, Some(Stored { session: session.clone(), expires_at })) {
        // Nobody could use this session, so it must not stay open.
        let _ = args.address.connect(&session)?.sign_out().await;
        return Err(error);
    }
    let text =
        format!("Signed in as {}, {role} of {organisation}, until {}", person.name, moment(expires_at));
    let event = json!({
        "event": "signed_in",
        "person": person,
        "role": role,
        "organisation": organisation,
        "expires_at": expires_at,
    });
    args.output.print(&event, |_| text)
}

fn only_provider(names: &[String]) -> Result<String, CliError> {
    match names {
        [] => Err(CliError::with_remedy(
            "the coordinator has no identity provider",
            "use a key with --api-key or FOLKMOOT_API_KEY, or add a provider to sign_in.providers of the coordinator",
        )),
        [only] => Ok(only.clone()),
        _ => {
            let message = format!("the coordinator has several identity providers: {}", names.join(", "));
            Err(CliError::with_remedy(message, "choose one with --provider"))
        }
    }
}

fn show(begun: &DeviceSignInView, output: OutputArgs) -> Result<(), CliError> {
    let DeviceSignInView { user_code, verification_uri, verification_uri_complete, .. } = begun;
    let event = json!({
        "event": "code",
        "user_code": user_code,
        "verification_uri": verification_uri,
        "verification_uri_complete": verification_uri_complete,
        "expires_in_seconds": begun.expires_in_seconds,
    });
    output.print(&event, |_| {
        let short =
            verification_uri_complete.as_ref().map(|uri| format!("Or open {uri}\n")).unwrap_or_default();
        format!(
            "Open {verification_uri} in a browser on any machine, and enter the code {user_code}\n{short}\
             The code is valid for {} seconds.",
            begun.expires_in_seconds
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_provider_is_chosen_and_several_are_listed() {
        assert_eq!(only_provider(&["a".into()]).unwrap(), "a");
        assert!(only_provider(&[]).unwrap_err().message.contains("no identity provider"));
        let several = only_provider(&["a".into(), "b".into()]).unwrap_err();
        assert!(several.message.ends_with("a, b") && several.remedy.unwrap().contains("--provider"));
    }
}
