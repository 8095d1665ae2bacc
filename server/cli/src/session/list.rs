use folkmoot_api::session::OpenSessionView;

use crate::{
    CliError,
    connection::CoordinatorArgs,
    output::{moment, or_dash, table},
};

/// Lists the open sessions of the organisation's people and keys.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request.
pub async fn run(args: CoordinatorArgs) -> Result<(), CliError> {
    let sessions = args.connection.connect()?.sessions().await?;
    args.output.print(sessions.as_slice(), text)
}

fn text(sessions: &[OpenSessionView]) -> String {
    let rows = sessions.iter().map(|session| {
        [
            session.id.clone(),
            who(session),
            session.role.clone(),
            moment(session.created_at),
            or_dash(session.last_used_at.map(moment)),
            moment(session.expires_at),
        ]
    });
    table(["SESSION", "WHO", "ROLE", "SIGNED IN", "LAST USED", "EXPIRES"], rows)
}

fn who(session: &OpenSessionView) -> String {
    match &session.person {
        Some(person) => format!("{} ({}:{})", person.name, person.provider, person.subject),
        None => format!("key {}", or_dash(session.api_key_name.as_ref())),
    }
}
