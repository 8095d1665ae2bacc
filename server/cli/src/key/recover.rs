use std::path::PathBuf;

use folkmoot_api::api_keys::{ApiKeyView, CreatedApiKey};
use folkmoot_protocol::{OrganisationId, Role};
use folkmoot_rounds::{
    clock::{system_chance, system_clock},
    credential::Credential,
};
use folkmoot_service::{data_folder::DataFolder, host::DEFAULT_ORGANISATION};
use folkmoot_storage::{
    ApiKeyRecord, ApiKeyRepository, PopulationRepository, SYSTEM_ORGANISATION, SqlStorage,
    audit::{Actor, on_behalf_of},
};
use rand::Rng;

use crate::{CliError, config, output::OutputArgs};

/// The flags of `folkmoot key recover`. Flags override environment variables, and those override the configuration
/// file.
#[derive(clap::Args)]
pub struct Args {
    /// The coordinator's configuration file. The default is ./folkmoot.toml, if it exists.
    #[arg(long, env = "FOLKMOOT_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// The coordinator's data folder.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The coordinator's database: postgres://… or sqlite://…. The default is SQLite in the data folder.
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// The role of the key: `admin` or `privacy-officer` of the coordinator's first organisation, or `system`, which
    /// creates and closes organisations.
    #[arg(long, default_value = "admin")]
    role: RoleChoice,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum RoleChoice {
    /// An admin of the first organisation.
    Admin,
    /// A privacy officer of the first organisation.
    PrivacyOfficer,
    /// A system administrator.
    System,
}

/// Creates a key of an admin, a privacy officer or the system in the database of a stopped coordinator, and prints it
/// alone on one line. Other keys do not change.
///
/// # Errors
/// Fails if a coordinator is running on the data folder, if there is no database, or if the configuration or the
/// database cannot be used.
pub async fn run(args: Args) -> Result<(), CliError> {
    let config = config::load(args.config.as_deref())?;
    let data = args.data.unwrap_or(config.server.data);
    let failed = |error: &dyn std::fmt::Display| CliError::new(error.to_string());
    let folder = DataFolder::open_alone(&data).map_err(|error| failed(&error))?;
    let database = match args.database.or(config.database.url) {
        Some(database) => database,
        None if folder.has_sqlite() => folder.sqlite_url(),
        None => {
            let message = format!("{} has no database; give its URL with --database", data.display());
            return Err(CliError::new(message));
        }
    };
    let storage = SqlStorage::connect(&database, Default::default()).await.map_err(|error| failed(&error))?;
    let (mut chance, now) = (system_chance(), system_clock()());
    let mut draw = || {
        let mut bytes = [0; 64];
        chance.fill_bytes(&mut bytes);
        bytes
    };
    let id_if_new = OrganisationId::from_random_bytes(*draw().first_chunk().expect("it is longer"));
    let (role, organisation) = match args.role {
        RoleChoice::Admin => (Role::Admin, DEFAULT_ORGANISATION),
        RoleChoice::PrivacyOfficer => (Role::PrivacyOfficer, DEFAULT_ORGANISATION),
        RoleChoice::System => (Role::System, SYSTEM_ORGANISATION),
    };
    let organisation = storage.ensure_organisation(organisation, id_if_new, now).await;
    let organisation_id = organisation.map_err(|error| failed(&error))?;
    let (id, secret) = (draw(), draw());
    let key = Credential::from_random_bytes(
        *id.first_chunk().expect("it is longer"),
        *secret.first_chunk().expect("it is longer"),
    );
    let record = ApiKeyRecord {
        id: key.id.clone(),
        organisation_id,
        name: "recovered".into(),
        role,
        secret_hash: key.secret_hash(),
        created_at: now,
        expires_at: None,
        revoked_at: None,
        rotation: None,
        used_at: None,
    };
    let actor = Actor { by: "folkmoot key recover".into(), from: None, at: now };
    on_behalf_of(actor, storage.create_api_key(&record)).await.map_err(|error| failed(&error))?;
    storage.close().await;
    let ApiKeyRecord { id, name, role, expires_at, revoked_at, created_at, .. } = record;
    let record = ApiKeyView {
        id,
        name,
        role,
        expires_at,
        revoked_at,
        created_at,
        last_used_at: None,
        rotated_at: None,
        previous_valid_until: None,
    };
    let created = CreatedApiKey { api_key: key.to_string(), record };
    args.output.print(&created, |created| created.api_key.clone())
}
