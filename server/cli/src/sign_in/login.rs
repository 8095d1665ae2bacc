use std::time::Duration;

use folkmoot_api::{
    AdminError,
    session::{DeviceSignInState, DeviceSignInView},
};
use folkmoot_protocol::Disposition;
use serde_json::json;

use crate::{
    CliError,
    connection::AddressArgs,
    output::{OutputArgs, moment},
    sessions::{Sessions, Stored},
};

/// The time by which the interval grows if the provider asks to slow down, in seconds (RFC 8628, section 3.5).
const SLOW_DOWN_SECONDS: u64 = 5;

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
        None => only_provider(client.identity_providers().await?.providers)?,
    };
    let begun = client.begin_device_sign_in(&provider).await?;
    show(&begun, args.output)?;
    let ask = async || client.device_sign_in(&provider, &begun.device_code).await;
    let state = wait(&begun, ask, tokio::time::sleep).await?;
    let DeviceSignInState::SignedIn { session, expires_at, person, role, organisation } = state else {
        unreachable!("the wait ends only with a session");
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

fn only_provider(mut names: Vec<String>) -> Result<String, CliError> {
    match names.len() {
        0 => Err(CliError::with_remedy(
            "the coordinator has no identity provider",
            "use a key with --api-key or FOLKMOOT_API_KEY, or add a provider to sign_in.providers of the coordinator",
        )),
        1 => Ok(names.remove(0)),
        _ => Err(CliError::with_remedy(
            format!("the coordinator has several identity providers: {}", names.join(", ")),
            "choose one with --provider",
        )),
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

/// Asks until the person has finished, and waits in between.
async fn wait<S: Future<Output = ()>>(
    begun: &DeviceSignInView,
    ask: impl AsyncFn() -> Result<DeviceSignInState, AdminError>,
    sleep: impl Fn(Duration) -> S,
) -> Result<DeviceSignInState, CliError> {
    let (mut interval, mut waited) = (begun.interval_seconds, 0);
    while waited < begun.expires_in_seconds {
        match ask().await {
            Ok(DeviceSignInState::Pending) => {}
            Ok(DeviceSignInState::SlowDown) => interval += SLOW_DOWN_SECONDS,
            Err(AdminError::Refused(problem)) if problem.disposition == Disposition::Retry => {
                interval += SLOW_DOWN_SECONDS;
            }
            ended => return Ok(ended?),
        }
        sleep(Duration::from_secs(interval)).await;
        waited += interval;
    }
    Err(CliError::with_remedy("nobody entered the code in time", "start `folkmoot login` again"))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use folkmoot_api::session::PersonView;
    use folkmoot_protocol::{ErrorCode, Problem, Timestamp};

    use super::*;

    fn begun() -> DeviceSignInView {
        DeviceSignInView {
            device_code: "secret".into(),
            user_code: "WDJB".into(),
            verification_uri: "https://login.example".into(),
            verification_uri_complete: None,
            expires_in_seconds: 60,
            interval_seconds: 5,
        }
    }

    fn refusal(code: ErrorCode) -> Result<DeviceSignInState, AdminError> {
        Err(AdminError::Refused(Box::new(Problem::new(code, "a reason"))))
    }

    /// Returns the end of a sign-in with these answers, and the seconds of each pause.
    async fn outcome(
        answers: Vec<Result<DeviceSignInState, AdminError>>,
    ) -> (Result<DeviceSignInState, CliError>, Vec<u64>) {
        let (answers, pauses) = (RefCell::new(answers.into_iter()), RefCell::new(Vec::new()));
        let next = || answers.borrow_mut().next().unwrap_or(Ok(DeviceSignInState::Pending));
        let end = wait(
            &begun(),
            async || next(),
            |pause| {
                pauses.borrow_mut().push(pause.as_secs());
                std::future::ready(())
            },
        )
        .await;
        (end, pauses.into_inner())
    }

    #[tokio::test]
    async fn the_pauses_are_those_of_the_provider() {
        use DeviceSignInState::{Pending, SlowDown};
        let person = PersonView { provider: "example".into(), subject: "ada".into(), name: "Ada".into() };
        let signed_in = DeviceSignInState::SignedIn {
            session: "session".into(),
            expires_at: Timestamp(1),
            person,
            role: "viewer".into(),
            organisation: "default".into(),
        };
        let unavailable = refusal(ErrorCode::IdentityProviderUnavailable);
        let answers = vec![Ok(Pending), Ok(SlowDown), Ok(Pending), unavailable, Ok(signed_in.clone())];
        let (end, pauses) = outcome(answers).await;
        assert!(end.is_ok_and(|end| end == signed_in));
        assert_eq!(pauses, [5, 10, 10, 15]);
    }

    #[tokio::test]
    async fn the_wait_ends_with_the_code_or_a_refusal() {
        let (end, pauses) = outcome(Vec::new()).await;
        assert!(end.err().unwrap().message.contains("in time"));
        assert_eq!(pauses, [5; 12]);
        let (end, pauses) = outcome(vec![refusal(ErrorCode::SignInFailed)]).await;
        assert!(end.err().unwrap().message.contains("sign_in_failed") && pauses.is_empty());
    }

    #[test]
    fn one_provider_is_chosen_and_several_are_listed() {
        assert_eq!(only_provider(vec!["a".into()]).unwrap(), "a");
        assert!(only_provider(Vec::new()).unwrap_err().message.contains("no identity provider"));
        let several = only_provider(vec!["a".into(), "b".into()]).unwrap_err();
        assert!(several.message.ends_with("a, b") && several.remedy.unwrap().contains("--provider"));
    }
}
