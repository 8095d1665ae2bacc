use folkmoot_api::session::CallerView;

use crate::{CliError, connection::CoordinatorArgs, output::moment};

/// Shows the holder of the API key or session.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the key or session.
pub async fn run(args: CoordinatorArgs) -> Result<(), CliError> {
    let me = args.connection.connect()?.me().await?;
    args.output.print(&me, text)
}

fn text(me: &CallerView) -> String {
    let who = match (&me.person, &me.api_key_id) {
        (Some(person), _) => format!("{} ({}:{})", person.name, person.provider, person.subject),
        (None, Some(id)) => format!("{} (key {id})", me.api_key_name.as_deref().unwrap_or("-")),
        (None, None) => "-".into(),
    };
    let end = me.expires_at.map_or_else(|| "it is revoked".into(), moment);
    format!("{who}, {} of {}, until {end}", me.role, me.organisation)
}
