//! The secrets of a member, in its data folder.

use std::{
    fs::{self, File},
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    sync::Mutex,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use ed25519_dalek::SigningKey;
use folkmoot_client::private_folder;
use folkmoot_secure_aggregation::CommitteeSecret;
use rand::{TryRng, rngs::SysRng};
use zeroize::Zeroizing;

use crate::{
    MemberFileError,
    answers::Answers,
    files::{private, sync_folder},
};

/// The file with both secret keys: 64 bytes in base64. It marks the folder as a member's.
const SECRET_FILE: &str = "member-key";
/// The file with the access token.
const TOKEN_FILE: &str = "token";
const LOCK_FILE: &str = "lock";

/// The secrets and the memory of a member.
pub struct Secrets {
    /// Decrypts seeds.
    pub channel: CommitteeSecret,
    /// Signs lists of clients.
    pub identity: SigningKey,
    /// The access token for coordinators.
    pub token: String,
    /// The answers that the member has given.
    pub answers: Mutex<Answers>,
    /// Held for as long as the member runs.
    pub _lock: File,
}

/// Reads the secrets from `folder`, or creates them if the folder has none.
///
/// # Errors
/// [`MemberFileError`] if a file cannot be used, or another process uses the folder.
pub fn open(folder: &Path) -> Result<Secrets, MemberFileError> {
    private_folder(folder, SECRET_FILE).map_err(MemberFileError::at(folder))?;
    let lock_path = folder.join(LOCK_FILE);
    let lock = private().create(true).truncate(false).open(&lock_path);
    let lock = lock.map_err(MemberFileError::at(&lock_path))?;
    if lock.try_lock().is_err() {
        return Err(MemberFileError::InUse(folder.to_owned()));
    }
    let path = folder.join(SECRET_FILE);
    // The answers come first: a member with keys but without answers has lost its memory.
    let answers = Answers::open(folder, !path.exists())?;
    let bytes = read_or_create::<64>(&path)?;
    let (channel, identity) = bytes.split_at(32);
    let half = |half: &[u8]| <[u8; 32]>::try_from(half).expect("half of 64 bytes");
    let token = read_or_create::<32>(&folder.join(TOKEN_FILE))?;
    Ok(Secrets {
        channel: CommitteeSecret::new(half(channel)),
        identity: SigningKey::from_bytes(&half(identity)),
        token: STANDARD.encode(*token),
        answers: Mutex::new(answers),
        _lock: lock,
    })
}

/// Reads random bytes in base64, or creates them.
fn read_or_create<const N: usize>(path: &Path) -> Result<Zeroizing<[u8; N]>, MemberFileError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => Zeroizing::new(text),
        Err(error) if error.kind() == ErrorKind::NotFound => return create(path),
        Err(error) => return Err(MemberFileError::at(path)(error)),
    };
    let bytes = STANDARD.decode(text.trim()).ok().map(Zeroizing::new);
    let bytes = bytes.and_then(|bytes| Some(Zeroizing::new(<[u8; N]>::try_from(bytes.as_slice()).ok()?)));
    bytes.ok_or_else(|| MemberFileError::Damaged {
        path: path.to_owned(),
        detail: format!("it must be base64 of {N} bytes; start a new member in an empty folder"),
    })
}

fn create<const N: usize>(path: &Path) -> Result<Zeroizing<[u8; N]>, MemberFileError> {
    let mut bytes = Zeroizing::new([0; N]);
    SysRng.try_fill_bytes(bytes.as_mut()).map_err(|error| MemberFileError::Random(error.to_string()))?;
    let mut file = private().create_new(true).open(path).map_err(MemberFileError::at(path))?;
    let text = Zeroizing::new(format!("{}\n", STANDARD.encode(*bytes)));
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    written.map_err(MemberFileError::at(path))?;
    sync_folder(path)?;
    Ok(bytes)
}

/// Returns the file with the access token.
pub fn token_file(folder: &Path) -> PathBuf {
    folder.join(TOKEN_FILE)
}
