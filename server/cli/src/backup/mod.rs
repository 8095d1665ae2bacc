//! `folkmoot backup`, `restore` and `prune`: save a coordinator, restore it, also into other places, and delete what nothing
//! needs.

pub mod prune;
pub mod restore;
pub mod save;

use std::path::PathBuf;

use folkmoot_backup::{BackupError, BackupSummary, Places};

use crate::{CliError, config};

/// The places of a coordinator's data. Flags override environment variables, and those override the configuration file.
#[derive(clap::Args)]
pub struct PlacesArgs {
    /// The coordinator's configuration file. The default is ./folkmoot.toml, if it exists.
    #[arg(long, env = "FOLKMOOT_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// The coordinator's data folder.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The coordinator's database: postgres://… or sqlite://…. The default is SQLite in the data folder.
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// The object storage for models and updates: s3://…, gs://… or az://…. The default is the data folder.
    #[arg(long, value_name = "URL")]
    objects: Option<String>,
}

impl PlacesArgs {
    fn places(self) -> Result<Places, CliError> {
        let config = config::load(self.config.as_deref())?;
        Ok(Places {
            data: self.data.unwrap_or(config.server.data),
            database: self.database.or(config.database.url),
            objects: self.objects.or(config.storage.objects),
            variables: std::env::vars_os().collect(),
        })
    }
}

impl From<BackupError> for CliError {
    fn from(error: BackupError) -> Self {
        Self { remedy: error.remedy(), message: error.to_string() }
    }
}

fn text(verb: &str, summary: &BackupSummary) -> String {
    let mib = summary.bytes.div_ceil(1 << 20);
    let BackupSummary { rows, tables, blobs, updates, .. } = summary;
    format!(
        "{verb} {rows} rows of {tables} tables, {blobs} models and weights, and {updates} updates of open rounds ({mib} MiB)"
    )
}
