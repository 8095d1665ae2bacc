use std::{fmt, fs, io, path::Path, sync::Arc};

use ed25519_dalek::SigningKey;
use folkmoot_protocol::{
    secure::Identity,
    signing::{self, SignedParts},
};
use folkmoot_work::DeviceKey;
use rand::CryptoRng;

use crate::storage::{StorageError, write_private};

/// A storage for the client's secret other than a file, for example a phone's key store.
///
/// Its error texts are for people to read, and become part of [`StorageError::Secrets`].
pub trait SecretStorage: Send + Sync {
    /// Returns the secret, or `None` if none was saved.
    ///
    /// # Errors
    /// A text that says why the secret cannot be read.
    fn load(&self) -> Result<Option<Vec<u8>>, String>;

    /// Saves the secret. It must be durable when this returns.
    ///
    /// # Errors
    /// A text that says why the secret cannot be saved.
    fn save(&self, secret: &[u8]) -> Result<(), String>;

    /// Deletes the secret, if there is one.
    ///
    /// # Errors
    /// A text that says why the secret cannot be deleted.
    fn delete(&self) -> Result<(), String>;
}

/// A client's identity: an Ed25519 key that never leaves the device. Copies share the key.
#[derive(Clone)]
pub struct ClientKey(Arc<SigningKey>);

impl ClientKey {
    /// Generates a random key with `rng`. The key is not stored. Use [`ClientKey::load_or_generate`] to keep an
    /// identity across restarts.
    pub fn generate(rng: &mut impl CryptoRng) -> Self {
        let mut secret = [0; 32];
        rng.fill_bytes(&mut secret);
        Self::from_secret(secret)
    }

    /// Creates the key from its 32 secret bytes.
    pub fn from_secret(secret: [u8; 32]) -> Self {
        Self(Arc::new(SigningKey::from_bytes(&secret)))
    }

    /// Returns a secret under which state of this client can be stored. It is derived from the key and not the key itself.
    pub(crate) fn storage_key(&self) -> DeviceKey {
        DeviceKey(blake3::derive_key("folkmoot client storage key 1", &self.0.to_bytes()))
    }

    /// Signs a text of secure aggregation.
    pub(crate) fn identity(&self, text: &str) -> Identity {
        Identity {
            public_key: signing::encode_public_key(&self.0),
            signature: signing::sign_text(&self.0, text),
        }
    }

    /// Loads the key from this file. If there is none, generates a key and stores it, readable by its owner only.
    ///
    /// # Errors
    /// [`StorageError`] if the file cannot be read or written, or is not 32 bytes long. A damaged key is not replaced,
    /// because a new key would silently turn this install into a different client.
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

    /// Like [`ClientKey::load_or_generate`], with the app's own storage.
    ///
    /// # Errors
    /// [`StorageError::Secrets`] if the storage fails, or does not hold 32 bytes.
    pub fn load_or_generate_in(
        secrets: &dyn SecretStorage,
        rng: &mut impl CryptoRng,
    ) -> Result<Self, StorageError> {
        if let Some(secret) = secrets.load().map_err(StorageError::Secrets)? {
            let wrong = |secret: Vec<u8>| {
                StorageError::Secrets(format!("it holds {} bytes, but a key has 32", secret.len()))
            };
            return <[u8; 32]>::try_from(secret).map(Self::from_secret).map_err(wrong);
        }
        let key = Self::generate(rng);
        secrets.save(&key.0.to_bytes()).map_err(StorageError::Secrets)?;
        Ok(key)
    }

    /// Returns the public key in base64, as enrolment sends it.
    pub fn public_key(&self) -> String {
        signing::encode_public_key(&self.0)
    }

    /// Signs the parts of a request. Returns the signature in base64, the value of the signature header.
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
pub(crate) mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;

    /// A secret storage in memory.
    #[derive(Default)]
    pub(crate) struct Locker(std::sync::Mutex<Option<Vec<u8>>>);

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
