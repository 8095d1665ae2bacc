use folkmoot_committee::MemberConfigError;
use folkmoot_edge::{ServeError, tls};
use folkmoot_notification::NotificationConfigError;
use folkmoot_objects::{BlobStoreError, ObjectsError};
use folkmoot_round_log::RoundLogError;
use folkmoot_rounds::coordinator::ForgetError;
use folkmoot_sign_in::SignInConfigError;
use folkmoot_storage::StorageError;

use crate::data_folder::DataFolderError;

/// The reason why a coordinator cannot start.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The data folder cannot be used.
    #[error(transparent)]
    Folder(#[from] DataFolderError),
    /// The database cannot be used.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The blobs cannot be used.
    #[error(transparent)]
    Blobs(#[from] BlobStoreError),
    /// The object storage cannot be used.
    #[error(transparent)]
    Objects(#[from] ObjectsError),
    /// Another coordinator uses the same database with another place of blobs.
    #[error(
        "the coordinator {id} uses the same database, but keeps models and updates in {place}, where this one cannot read \
         them; set storage.objects to the same object storage for both, or stop that coordinator"
    )]
    OtherPlace {
        /// The id of the other coordinator.
        id: String,
        /// The place of its blobs and updates.
        place: String,
    },
    /// Old update logs cannot be removed.
    #[error(transparent)]
    Forget(#[from] ForgetError),
    /// The round log cannot be used.
    #[error(transparent)]
    RoundLog(#[from] RoundLogError),
    /// The certificates cannot be used.
    #[error(transparent)]
    Tls(#[from] tls::TlsError),
    /// The socket cannot be used.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// An identity provider's settings, secret or certificate cannot be used.
    #[error(transparent)]
    SignIn(#[from] SignInConfigError),
    /// A secret of a channel for notices cannot be read.
    #[error(transparent)]
    Notification(#[from] NotificationConfigError),
    /// A committee member's settings, token or certificate cannot be used.
    #[error(transparent)]
    Committee(#[from] MemberConfigError),
}
