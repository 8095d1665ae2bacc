//! The sessions of `folkmoot login`, one for each coordinator, in a file that only its owner can read.

use std::{
    collections::BTreeMap,
    env,
    fs::{self, DirBuilder, OpenOptions},
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};

use folkmoot_api::AdminError;
use folkmoot_client::parse_coordinator;
use folkmoot_protocol::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{CliError, output::moment};

/// A session at one coordinator.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// The session as `ID.SECRET`.
    pub session: String,
    /// When the coordinator ends it.
    pub expires_at: Timestamp,
}

/// The stored sessions by the coordinator's address.
pub struct Sessions {
    path: PathBuf,
    by_url: BTreeMap<String, Stored>,
}

/// Returns the session for a coordinator.
///
/// # Errors
/// If there is none, it has expired, or the file cannot be read.
pub fn usable(url: &str, now: Timestamp) -> Result<String, CliError> {
    Sessions::open()?.usable(url, now)
}

impl Sessions {
    /// Reads the file in the folder of this user's configuration. A missing file has no sessions.
    ///
    /// # Errors
    /// If there is no such folder, or the file cannot be read.
    pub fn open() -> Result<Self, CliError> {
        let variable = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let base = variable("XDG_CONFIG_HOME")
            .or_else(|| variable("APPDATA"))
            .or_else(|| env::home_dir().map(|home| home.join(".config")));
        let missing = || CliError::with_remedy("there is no home folder for sessions", "set XDG_CONFIG_HOME");
        Self::open_in(&base.ok_or_else(missing)?.join("folkmoot"))
    }

    fn open_in(folder: &Path) -> Result<Self, CliError> {
        let path = folder.join("sessions.json");
        let by_url = match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).map_err(|error| {
                let message = format!("{} is not a file of sessions: {error}", path.display());
                CliError::with_remedy(message, "delete it, and sign in again with `folkmoot login`")
            })?,
            Err(error) if error.kind() == ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(CliError::read(&path)(error)),
        };
        Ok(Self { path, by_url })
    }

    /// Returns the session for a coordinator, even if it has expired.
    ///
    /// # Errors
    /// If the URL is invalid.
    pub fn get(&self, url: &str) -> Result<Option<&Stored>, CliError> {
        Ok(self.by_url.get(&key(url)?))
    }

    fn usable(&self, url: &str, now: Timestamp) -> Result<String, CliError> {
        let login = format!("`folkmoot login --url {url}`");
        let Some(stored) = self.get(url)? else {
            let message = format!("there is no API key, and no session for {url}");
            let remedy = format!("sign in with {login}, or give a key with --api-key or FOLKMOOT_API_KEY");
            return Err(CliError::with_remedy(message, remedy));
        };
        if stored.expires_at <= now {
            let message = format!("the session for {url} ended at {}", moment(stored.expires_at));
            return Err(CliError::with_remedy(message, format!("sign in again with {login}")));
        }
        Ok(stored.session.clone())
    }

    /// Stores a session in place of the coordinator's former one; `None` deletes it.
    ///
    /// # Errors
    /// If the URL is invalid, or the file cannot be written. Then the old file is kept.
    pub fn set(mut self, url: &str, session: Option<Stored>) -> Result<(), CliError> {
        match session {
            Some(session) => self.by_url.insert(key(url)?, session),
            None => self.by_url.remove(&key(url)?),
        };
        let text = serde_json::to_vec_pretty(&self.by_url).expect("sessions are plain data");
        let partial = self.path.with_extension(format!("{}.partial", std::process::id()));
        let written = private(&self.path, &partial, &text);
        written.map_err(|error| {
            // It may not exist; the first error says more.
            let _ = fs::remove_file(&partial);
            CliError::write(&self.path)(error)
        })
    }
}

/// Writes `partial` for its owner only, and renames it to `path`.
fn private(path: &Path, partial: &Path, text: &[u8]) -> std::io::Result<()> {
    let (mut folder, mut file) = (DirBuilder::new(), OpenOptions::new());
    #[cfg(unix)]
    {
        std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
        std::os::unix::fs::OpenOptionsExt::mode(&mut file, 0o600);
    }
    folder.recursive(true).create(path.parent().expect("it is in a folder"))?;
    let mut file = file.write(true).create_new(true).open(partial)?;
    file.write_all(text)?;
    file.sync_all()?;
    fs::rename(partial, path)
}

/// Returns the canonical form of a coordinator's address.
fn key(url: &str) -> Result<String, CliError> {
    Ok(parse_coordinator(url.trim()).map_err(|_| AdminError::Address(url.to_owned()))?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "https://coordinator.example";

    fn stored(session: &str) -> Option<Stored> {
        Some(Stored { session: session.into(), expires_at: Timestamp(1_000) })
    }

    #[test]
    fn a_session_is_kept_for_its_coordinator_until_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("folkmoot");
        let open = || Sessions::open_in(&folder).unwrap();
        let missing = open().usable(URL, Timestamp(0)).unwrap_err();
        let remedy = missing.remedy.unwrap();
        assert!(remedy.contains("`folkmoot login") && remedy.contains("--api-key"), "{remedy}");
        open().set(URL, stored("one")).unwrap();
        open().set("http://localhost:1", stored("two")).unwrap();
        open().set("https://COORDINATOR.example:443/", stored("three")).unwrap();
        assert_eq!(open().usable(URL, Timestamp(999)).unwrap(), "three");
        assert_eq!(open().usable("http://localhost:1/", Timestamp(0)).unwrap(), "two");
        let ended = open().usable(URL, Timestamp(1_000)).unwrap_err();
        assert!(ended.remedy.unwrap().starts_with("sign in again with `folkmoot login"));
        open().set(URL, None).unwrap();
        assert!(open().get(URL).unwrap().is_none());
        assert!(open().get("http://localhost:1").unwrap().is_some());
        assert!(open().set("http://coordinator.example", stored("plain")).is_err());
        fs::write(folder.join("sessions.json"), "no JSON").unwrap();
        assert!(Sessions::open_in(&folder).err().unwrap().message.contains("is not a file of sessions"));
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_the_file() {
        use std::os::unix::fs::PermissionsExt;
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("folkmoot");
        let file = folder.join("sessions.json");
        for session in ["one", "two"] {
            Sessions::open_in(&folder).unwrap().set(URL, stored(session)).unwrap();
            for (path, wanted) in [(&folder, 0o700), (&file, 0o600)] {
                assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, wanted);
            }
            fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no partial file is left");
    }
}
