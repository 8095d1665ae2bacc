use std::path::PathBuf;

use clap::Subcommand;
use serde::Serialize;

use super::{
    CliError,
    output::{self, OutputArgs},
};
use crate::settings::{self, Config};

/// Looks at the configuration.
#[derive(Subcommand)]
pub enum Command {
    /// Say whether the configuration can be used.
    Check(Args),
    /// Print the configuration with all defaults and variables, without secrets.
    Show(Args),
}

/// Which configuration.
#[derive(clap::Args)]
pub struct Args {
    /// The file; ./folkmoot.toml if it is there and this is not given.
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
    /// Names the file, line and key that are wrong.
    pub fn run(self) -> Result<(), CliError> {
        match self {
            Command::Check(args) => check(args),
            Command::Show(args) => show(args),
        }
    }
}

fn check(args: Args) -> Result<(), CliError> {
    load(args.config.as_deref())?;
    let checked = Checked { file: settings::file(args.config.as_deref()), is_right: true };
    args.output.print(&checked, |checked| match &checked.file {
        Some(file) => format!("{} is right", file.display()),
        None => format!("there is no {}; the defaults are used", settings::DEFAULT_FILE),
    })
}

fn show(args: Args) -> Result<(), CliError> {
    let config = load(args.config.as_deref())?.without_secrets();
    if args.output.json {
        return output::json_line(&output::json(&config)?);
    }
    let text = toml::to_string(&config)
        .map_err(|error| CliError::new(format!("the configuration has no form in TOML: {error}")))?;
    output::line(&text)
}

/// Reads the configuration with the process's environment.
pub(super) fn load(path: Option<&std::path::Path>) -> Result<Config, CliError> {
    Ok(Config::load(path, |name| std::env::var(name).ok())?)
}
