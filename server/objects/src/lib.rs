#![doc = include_str!("../README.md")]

mod blob;
mod blob_aside;
mod blob_cache;
mod updates;

use std::{ffi::OsString, sync::Arc, time::Duration};

use object_store::{
    ClientOptions, ObjectStore, ObjectStoreScheme, RetryConfig,
    aws::{AmazonS3Builder, AmazonS3ConfigKey},
    azure::{AzureConfigKey, MicrosoftAzureBuilder},
    gcp::{GoogleCloudStorageBuilder, GoogleConfigKey},
    memory::InMemory,
    path::Path,
    prefix::PrefixStore,
};
use url::Url;

pub use self::{
    blob::{BlobStore, BlobStoreError},
    blob_aside::{AsideBlob, Inventory, StoredBlob},
    updates::{UpdatePlace, UpdateStore, UpdateStoreError},
};

/// The maximum number of repetitions of a failed request.
const RETRIES_MAX: usize = 4;
/// The time after which a failed request is not repeated any more. Clients wait meanwhile.
const RETRY_TIMEOUT: Duration = Duration::from_secs(10);
/// The time limit for connecting to the store.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The time limit for sending a request and for the next bytes of its answer. Whole answers have no limit.
const READ_TIMEOUT: Duration = Duration::from_secs(120);

/// The reason why an object storage cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ObjectsError {
    /// The text is not a URL.
    #[error("`{url}` is not a URL: {source}; set storage.objects to a URL such as s3://bucket/prefix")]
    NotUrl {
        /// The text.
        url: String,
        /// The parser's error.
        source: url::ParseError,
    },
    /// There is no client for such a URL.
    #[error(
        "`{0}` is not an object storage; use s3://bucket/prefix, gs://bucket/prefix or az://container/prefix"
    )]
    Unsupported(String),
    /// The client cannot be created, for example because its credentials are missing.
    #[error("the object storage {url} cannot be used: {source}")]
    Client {
        /// The URL.
        url: String,
        /// The client's error.
        source: object_store::Error,
    },
}

/// Creates a provider's client. The three builders have the same methods, but no trait.
macro_rules! client {
    ($builder:ty, $key:ty, $prefix:literal, $url:expr, $variables:expr) => {{
        let builder = <$builder>::new().with_url($url).with_retry(retries()).with_client_options(limits());
        let options = $variables.into_iter().filter_map(|(name, value)| {
            let name = name.to_ascii_lowercase();
            let key = name.starts_with($prefix).then(|| name.parse::<$key>().ok());
            Some((key.flatten()?, value))
        });
        let builder = options.fold(builder, |builder, (key, value)| builder.with_config(key, value));
        builder.build().map(|client| Arc::new(client) as Arc<dyn ObjectStore>)
    }};
}

/// The object storage that several coordinators share: blobs, and updates until they are combined.
#[derive(Clone)]
pub struct Objects {
    store: Arc<dyn ObjectStore>,
}

impl Objects {
    /// Creates a client of the storage at `url`: `s3://bucket/prefix`, `gs://bucket/prefix` or
    /// `az://container/prefix`. Sends no request yet.
    ///
    /// `variables` are environment variables. Those that begin with `AWS_`, `GOOGLE_` or `AZURE_` are the credentials
    /// and options of the provider, with the names that its own tools use, for example `AWS_ACCESS_KEY_ID` and
    /// `AWS_ENDPOINT_URL`.
    ///
    /// # Errors
    /// [`ObjectsError`] if the URL cannot be used, or an option is invalid.
    pub fn open<T: Into<OsString>>(
        url: &str,
        variables: impl IntoIterator<Item = (T, T)>,
    ) -> Result<Self, ObjectsError> {
        let variables = variables.into_iter().filter_map(|(name, value)| {
            Some((name.into().into_string().ok()?, value.into().into_string().ok()?))
        });
        let (scheme, prefix) = Self::parse(url)?;
        // The clients use the cryptography that the process has chosen. An error means that it has chosen already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = match scheme {
            ObjectStoreScheme::AmazonS3 => {
                client!(AmazonS3Builder, AmazonS3ConfigKey, "aws_", url, variables)
            }
            ObjectStoreScheme::GoogleCloudStorage => {
                client!(GoogleCloudStorageBuilder, GoogleConfigKey, "google_", url, variables)
            }
            ObjectStoreScheme::MicrosoftAzure => {
                client!(MicrosoftAzureBuilder, AzureConfigKey, "azure_", url, variables)
            }
            _ => return Err(ObjectsError::Unsupported(url.into())),
        };
        let store = client.map_err(|source| ObjectsError::Client { url: url.into(), source })?;
        Ok(Self { store: Arc::new(PrefixStore::new(store, prefix)) })
    }

    /// Checks that there is a client for such a URL. Sends no request.
    ///
    /// # Errors
    /// [`ObjectsError`] if the URL cannot be used.
    pub fn check(url: &str) -> Result<(), ObjectsError> {
        Self::parse(url).map(drop)
    }

    fn parse(url: &str) -> Result<(ObjectStoreScheme, Path), ObjectsError> {
        use ObjectStoreScheme::{AmazonS3, GoogleCloudStorage, MicrosoftAzure};
        let parsed = Url::parse(url).map_err(|source| ObjectsError::NotUrl { url: url.into(), source })?;
        match ObjectStoreScheme::parse(&parsed) {
            Ok((scheme @ (AmazonS3 | GoogleCloudStorage | MicrosoftAzure), prefix)) => Ok((scheme, prefix)),
            _ => Err(ObjectsError::Unsupported(url.into())),
        }
    }

    /// Creates a storage in memory, for tests.
    pub fn in_memory() -> Self {
        Self { store: Arc::new(InMemory::new()) }
    }

    /// Returns the blob store in this storage.
    pub fn blobs(&self) -> BlobStore {
        BlobStore::new(Arc::new(PrefixStore::new(self.store.clone(), Path::from("blobs"))))
    }

    /// Returns the store of the updates of one database, so that two databases never delete each other's updates. See
    /// [`UpdateStore::new`].
    pub fn updates(&self, database: &str, process: &str) -> UpdateStore {
        let prefix = Path::from_iter(["updates", database]);
        UpdateStore::new(Arc::new(PrefixStore::new(self.store.clone(), prefix)), process)
    }
}

fn retries() -> RetryConfig {
    RetryConfig { max_retries: RETRIES_MAX, retry_timeout: RETRY_TIMEOUT, ..RetryConfig::default() }
}

fn limits() -> ClientOptions {
    ClientOptions::new()
        .with_connect_timeout(CONNECT_TIMEOUT)
        .with_timeout_disabled()
        .with_read_timeout(READ_TIMEOUT)
}
