use std::collections::BTreeSet;

use folkmoot_api::AdminClient;
use serde_json::json;

use crate::{CliError, connection::ConnectionArgs, output::OutputArgs};

/// The arguments of `folkmoot session end`.
#[derive(clap::Args)]
pub struct Args {
    /// The session's id, or the beginning of its id.
    #[arg(required_unless_present = "person", conflicts_with = "person")]
    session: Option<String>,
    /// End all sessions of this person: their name, or their id at the identity provider. `folkmoot session list` shows
    /// both.
    #[arg(long, value_name = "WHO")]
    person: Option<String>,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Ends one session, or all sessions of a person.
///
/// # Errors
/// Fails if there is no such session or person, or if the coordinator cannot be reached or refuses the request.
pub async fn run(args: Args) -> Result<(), CliError> {
    let admin = args.connection.connect()?;
    if let Some(who) = &args.person {
        let (provider, subject) = person(&admin, who).await?;
        let ended = admin.end_sessions_of(&provider, &subject).await?;
        return args.output.print(&ended, |ended| format!("{} sessions of {who} have ended", ended.ended));
    }
    let session = args.session.unwrap_or_default();
    admin.end_session(&session).await?;
    args.output.print(&json!({ "ended": session }), |_| format!("session {session} has ended"))
}

/// Finds a person with an open session. Returns the provider and the id at the provider.
async fn person(admin: &AdminClient, who: &str) -> Result<(String, String), CliError> {
    let people = admin.sessions().await?.into_iter().filter_map(|session| session.person);
    let matching = people.filter(|person| person.subject == who || person.name == who);
    let matching: BTreeSet<_> = matching.map(|person| (person.provider, person.subject)).collect();
    let mut found = matching.iter().cloned();
    match (found.next(), found.next()) {
        (Some(person), None) => Ok(person),
        (None, _) => Err(CliError::with_remedy(
            format!("no person called `{who}` has a session"),
            "list the sessions with `folkmoot session list`",
        )),
        (Some(_), Some(_)) => {
            let listed: Vec<String> =
                matching.iter().map(|(provider, subject)| format!("{provider}:{subject}")).collect();
            Err(CliError::with_remedy(
                format!("several people are called `{who}`: {}", listed.join(", ")),
                "give the id at the identity provider, the part after the colon",
            ))
        }
    }
}
