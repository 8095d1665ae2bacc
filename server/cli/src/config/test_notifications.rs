use std::path::PathBuf;

use folkmoot_edge::near;
use folkmoot_notification::{Channels, Event, Notice};
use folkmoot_rounds::clock::system_clock;
use futures::future::join_all;
use serde::Serialize;

use crate::{
    CliError,
    output::{OutputArgs, table},
};

/// The flags of `folkmoot config test-notifications`.
#[derive(clap::Args)]
pub struct Args {
    /// The configuration file. The default is ./folkmoot.toml, if it exists.
    #[arg(long, env = "FOLKMOOT_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// The name of the only channel to test. By default, all are tested.
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

/// The result for one channel.
#[derive(Serialize)]
struct Tested {
    channel: String,
    kind: &'static str,
    /// The reason why the notice was not delivered; `None` if it was.
    error: Option<String>,
}

/// Sends a test notice through every channel for notices.
///
/// # Errors
/// If a channel did not deliver the notice, or there is no channel.
pub async fn run(args: Args) -> Result<(), CliError> {
    let config = super::load(args.config.as_deref())?;
    let host = config.host_config();
    let scheme = if host.has_tls { "https" } else { "http" };
    let url = config.sign_in.url.clone().unwrap_or_else(|| format!("{scheme}://{}", near(host.listen)));
    let channels = Channels::new(&config.notifications, &url, &|name| std::env::var(name).ok())
        .map_err(|error| CliError::new(error.to_string()))?;
    let is_chosen = |name: &str| args.channel.as_deref().is_none_or(|chosen| chosen == name);
    let chosen: Vec<_> = channels.all.iter().filter(|channel| is_chosen(&channel.name)).collect();
    if chosen.is_empty() {
        let message = match &args.channel {
            Some(name) => format!("the configuration has no channel `{name}` for notices"),
            None => "the configuration has no channel for notices".to_owned(),
        };
        let remedy = "add one to [[notifications.webhooks]] or [[notifications.emails]]; docs/guides/coordinator.md shows how";
        return Err(CliError::with_remedy(message, remedy));
    }
    let now = system_clock()();
    let sent = chosen.into_iter().map(async |channel| {
        let notice = Notice {
            id: format!("test-{}", now.0),
            event: Event::Test,
            at: now,
            organisation: channel.organisation.clone(),
            population: None,
            task: None,
            title: "Notices arrive here".into(),
            cause: "Somebody tests the coordinator's channels. Nothing has happened.".into(),
            remedy: None,
            link: format!("{}/console/", channels.url),
        };
        let error = channel.send(&notice, now).await.err().map(|error| error.to_string());
        Tested { channel: channel.name.clone(), kind: channel.kind(), error }
    });
    let tested = join_all(sent).await;
    args.output.print(&tested, |tested| {
        let rows = tested.iter().map(|one| {
            let state = one.error.clone().unwrap_or_else(|| "delivered".into());
            [one.channel.clone(), one.kind.to_owned(), state]
        });
        table(["CHANNEL", "KIND", "RESULT"], rows)
    })?;
    let failed = tested.iter().filter(|one| one.error.is_some()).count();
    if failed == 0 {
        return Ok(());
    }
    let message = format!("{failed} of {} channels did not deliver the notice", tested.len());
    Err(CliError::with_remedy(
        message,
        "correct these channels in [notifications], then run the command again",
    ))
}
