use std::{fmt, fs, io, path::Path, sync::Arc};

use ed25519_dalek::SigningKey;
use folkmoot_protocol::signing::{self, SignedParts};
use rand::CryptoRng;

use crate::storage::{StorageError, write_private};

/// Where a client's secret is kept, if not in a file: a phone's key store, say.
///
/// Its errors are words for humans, which go into [`StorageError::Secrets`].
pub trait SecretStorage: Send + Sync {
    /// Returns the secret, or `None` if none was saved.
    ///
    /// # Errors
    /// Why it cannot be known.
    fn load(&self) -> Result<Option<Vec<u8>>, String>;

    /// Keeps the secret, durably when it returns.
    ///
    /// # Errors
    /// Why it cannot be kept.
    fn save(&self, secret: &[u8]) -> Result<(), String>;

    /// Deletes the secret, if there is one.
    ///
    /// # Errors
    /// Why it cannot be deleted.
    fn delete(&self) -> Result<(), String>;
}

/// A client's identity: an Ed25519 key that never leaves the device. Copies share it.
#[derive(Clone)]
pub struct ClientKey(Arc<SigningKey>);

impl ClientKey {
    /// Draws a new key.
    pub fn generate(rng: &mut impl CryptoRng) -> Self {
        let mut secret = [0; 32];
        rng.fill_bytes(&mut secret);
        Self::from_secret(secret)
    }

    /// Makes the key of 32 secret bytes.
    pub fn from_secret(secret: [u8; 32]) -> Self {
        Self(Arc::new(SigningKey::from_bytes(&secret)))
    }

    /// Reads the key of this file, or draws one and stores it there, readable for its owner only.
    ///
    /// # Errors
    /// [`StorageError`] if the file cannot be read or written, or is not 32 bytes long. A damaged key is not
    /// replaced: that would make this install another client without anyone's wish.
    pub fn load_or_generate(path: &Path, rng: &mut impl CryptoRng) -> Result<Self, StorageError> {
        match fs::read(path) {
            Ok(bytes) => {
                let secret =
                    <[u8; 32]>::try_from(bytes).map_err(|_| StorageError::DamagedKey(path.into()))?;
                Ok(Self::from_secret(secret))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let key = Self::generate(rng);
                write_private(path, &key.0.to_bytes())?;
                Ok(key)
            }
            Err(error) => Err(StorageError::at(path, error)),
        }
    }

    /// As [`ClientKey::load_or_generate`], in a storage of the app's.
    ///
    /// # Errors
    /// [`StorageError::Secrets`] if the storage fails, or holds something else.
    pub fn load_or_generate_in(
        secrets: &dyn SecretStorage,
        rng: &mut impl CryptoRng,
    ) -> Result<Self, StorageError> {
        if let Some(secret) = secrets.load().map_err(StorageError::Secrets)? {
            let wrong = |secret: Vec<u8>| {
                StorageError::Secrets(format!("it holds {} bytes where a key has 32", secret.len()))
            };
            return <[u8; 32]>::try_from(secret).map(Self::from_secret).map_err(wrong);
        }
        let key = Self::generate(rng);
        secrets.save(&key.0.to_bytes()).map_err(StorageError::Secrets)?;
        Ok(key)
    }

    /// Returns the public key in base64, as an enrolment states it.
    pub fn public_key(&self) -> String {
        signing::encode_public_key(&self.0)
    }

    /// Signs the parts of a request.
    pub fn sign(&self, parts: &SignedParts<'_>) -> String {
        signing::sign(&self.0, parts)
    }
}

impl fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientKey({})", self.public_key())
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;

    #[derive(Default)]
    struct Locker(std::sync::Mutex<Option<Vec<u8>>>);

    impl SecretStorage for Locker {
        fn load(&self) -> Result<Option<Vec<u8>>, String> {
            Ok(self.0.lock().unwrap().clone())
        }

        fn save(&self, secret: &[u8]) -> Result<(), String> {
            *self.0.lock().unwrap() = Some(secret.to_vec());
            Ok(())
        }

        fn delete(&self) -> Result<(), String> {
            *self.0.lock().unwrap() = None;
            Ok(())
        }
    }

    #[test]
    fn a_storage_keeps_the_key_it_was_given() {
        let locker = Locker::default();
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        let first = ClientKey::load_or_generate_in(&locker, &mut rng).unwrap();
        let second = ClientKey::load_or_generate_in(&locker, &mut rng).unwrap();
        assert_eq!(first.public_key(), second.public_key());
        locker.save(b"short").unwrap();
        let error = ClientKey::load_or_generate_in(&locker, &mut rng).unwrap_err();
        assert!(error.to_string().contains("holds 5 bytes"), "{error}");
    }

    #[test]
    fn a_key_is_drawn_once_and_private() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("client.key");
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let first = ClientKey::load_or_generate(&path, &mut rng).unwrap();
        let second = ClientKey::load_or_generate(&path, &mut rng).unwrap();
        assert_eq!(first.public_key(), second.public_key());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        fs::write(&path, b"short").unwrap();
        assert!(matches!(ClientKey::load_or_generate(&path, &mut rng), Err(StorageError::DamagedKey(_))));
    }
}
