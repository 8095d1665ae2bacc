mod test_notifications;

use std::path::PathBuf;

use clap::Subcommand;
use serde::Serialize;

use super::{
    CliError,
    output::{self, OutputArgs},
};
use folkmoot_settings::{self as settings, Config};

/// The subcommands of `folkmoot config`.
#[derive(Subcommand)]
pub enum Command {
    /// Validate the configuration.
    Check(Args),
    /// Print the effective configuration, with defaults and environment variables but without secrets.
    Show(Args),
    /// Send a test notice through every channel for notices.
    TestNotifications(test_notifications::Args),
}

/// The flags of `folkmoot config`.
#[derive(clap::Args)]
pub struct Args {
    /// The configuration file. The default is ./folkmoot.toml, if it exists.
    #[arg(long, env = "FOLKMOOT_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
struct Checked {
    file: Option<PathBuf>,
    is_right: bool,
}

impl Command {
    /// Runs the command.
    ///
    /// # Errors
    /// If the configuration is invalid: the error names the file, line and key. If a channel for notices fails.
    pub async fn run(self) -> Result<(), CliError> {
        match self {
            Command::Check(args) => check(args),
            Command::Show(args) => show(args),
            Command::TestNotifications(args) => test_notifications::run(args).await,
        }
    }
}

fn check(args: Args) -> Result<(), CliError> {
    load(args.config.as_deref())?;
    let checked = Checked { file: settings::file(args.config.as_deref()), is_right: true };
    args.output.print(&checked, |checked| match &checked.file {
        Some(file) => format!("{} is valid", file.display()),
        None => format!("{} does not exist; the defaults apply", settings::DEFAULT_FILE),
    })
}

fn show(args: Args) -> Result<(), CliError> {
    let config = load(args.config.as_deref())?.without_secrets();
    if args.output.json {
        return output::json_line(&output::json(&config)?);
    }
    let text = toml::to_string(&config)
        .map_err(|error| CliError::new(format!("the configuration cannot be written as TOML: {error}")))?;
    output::line(&text)
}

/// Reads the configuration and the environment variables of the process.
pub(super) fn load(path: Option<&std::path::Path>) -> Result<Config, CliError> {
    Ok(Config::load(path, |name| std::env::var(name).ok())?)
}
