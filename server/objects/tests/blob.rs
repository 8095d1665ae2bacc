//! Tests of the blob store, in memory and in a folder.

use std::{fs, path::PathBuf, sync::Arc};

use bytes::Bytes;
use folkmoot_objects::{AsideBlob, BlobStore, BlobStoreError, Inventory};
use folkmoot_protocol::{BlobDigest, OrganisationId, Timestamp};
use object_store::memory::InMemory;

const BLOB: &[u8] = b"weights";

/// Returns the file in which a local store keeps the blob.
fn file_of(folder: &tempfile::TempDir, digest: BlobDigest) -> PathBuf {
    let digits = digest.to_string();
    folder.path().join(&digits[..2]).join(&digits)
}

async fn keeps_what_it_is_given(store: BlobStore) -> Result<(), BlobStoreError> {
    let digest = store.put(Bytes::from_static(BLOB)).await?;
    assert_eq!(digest, BlobDigest::of(BLOB));
    assert_eq!(store.put(Bytes::from_static(BLOB)).await?, digest);
    assert_eq!(store.get(digest).await?, BLOB);
    assert_eq!((store.exists(digest).await?, store.size(digest).await?), (true, 7));
    let empty = store.put(Bytes::new()).await?;
    assert_eq!(store.get(empty).await?, b"".as_slice());
    let missing = BlobDigest::of(b"another");
    assert!(!store.exists(missing).await?);
    assert!(matches!(store.size(missing).await, Err(BlobStoreError::NotFound(digest)) if digest == missing));
    assert!(matches!(store.get(missing).await, Err(BlobStoreError::NotFound(digest)) if digest == missing));
    store.delete(missing).await?;
    store.delete(digest).await?;
    assert!(matches!(store.get(digest).await, Err(BlobStoreError::NotFound(gone)) if gone == digest));
    store.put(Bytes::from_static(BLOB)).await?;
    assert!(store.exists(digest).await?);
    Ok(())
}

#[tokio::test]
async fn every_store_keeps_what_it_is_given() {
    let folder = tempfile::tempdir().unwrap();
    keeps_what_it_is_given(BlobStore::in_memory()).await.unwrap();
    keeps_what_it_is_given(BlobStore::in_memory().with_cache_bytes_max(0)).await.unwrap();
    keeps_what_it_is_given(BlobStore::local(folder.path().join("made/by/it")).unwrap()).await.unwrap();
    keeps_what_it_is_given(BlobStore::local(folder.path()).unwrap().with_cache_bytes_max(0)).await.unwrap();
}

#[tokio::test]
async fn a_blob_outlives_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let digest = BlobStore::local(folder.path()).unwrap().put(Bytes::from_static(BLOB)).await.unwrap();
    let files: Vec<_> = fs::read_dir(file_of(&folder, digest).parent().unwrap()).unwrap().collect();
    assert_eq!(files.len(), 1, "nothing is left of the writing");
    assert_eq!(BlobStore::local(folder.path()).unwrap().get(digest).await.unwrap(), BLOB);
}

#[tokio::test]
async fn a_damaged_blob_is_noticed_and_can_be_put_again() {
    let folder = tempfile::tempdir().unwrap();
    let digest = BlobStore::local(folder.path()).unwrap().put(Bytes::from_static(BLOB)).await.unwrap();
    fs::write(file_of(&folder, digest), b"weightz").unwrap();
    let store = BlobStore::local(folder.path()).unwrap();
    assert!(matches!(store.get(digest).await, Err(BlobStoreError::Damaged(damaged)) if damaged == digest));
    store.put(Bytes::from_static(BLOB)).await.unwrap();
    assert_eq!(BlobStore::local(folder.path()).unwrap().get(digest).await.unwrap(), BLOB);
}

#[tokio::test]
async fn a_verified_blob_is_handed_out_without_a_copy() {
    let folder = tempfile::tempdir().unwrap();
    let digest = BlobStore::local(folder.path()).unwrap().put(Bytes::from_static(BLOB)).await.unwrap();
    let store = BlobStore::local(folder.path()).unwrap();
    let first = store.get(digest).await.unwrap();
    fs::remove_file(file_of(&folder, digest)).unwrap();
    let clones = futures::future::join_all((0..100).map(|_| store.get(digest))).await;
    assert!(clones.into_iter().all(|blob| blob.unwrap().as_ptr() == first.as_ptr()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_puts_and_gets_at_once_agree() {
    let folder = tempfile::tempdir().unwrap();
    let store = BlobStore::local(folder.path()).unwrap().with_cache_bytes_max(300_000);
    let runners = (0..64u8).map(|number| {
        let store = store.clone();
        tokio::spawn(async move {
            let blob = Bytes::from(vec![number % 8; 100_000]);
            let digest = store.put(blob.clone()).await.unwrap();
            assert_eq!(store.get(digest).await.unwrap(), blob);
        })
    });
    for runner in runners.collect::<Vec<_>>() {
        runner.await.unwrap();
    }
}

#[tokio::test]
async fn what_a_crash_left_of_a_blob_is_deleted_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = BlobStore::local(folder.path()).unwrap();
    let digest = store.put(Bytes::from_static(BLOB)).await.unwrap();
    let staged = file_of(&folder, digest).with_file_name(format!("{digest}#1"));
    fs::write(&staged, b"wei").unwrap();
    store.delete(digest).await.unwrap();
    assert!(!staged.exists() && !file_of(&folder, digest).exists());
}

/// A time after everything that a test stores.
const LATER: Timestamp = Timestamp(9_000_000_000_000_000);

async fn gives_back_what_was_set_aside(store: BlobStore, other: BlobStore) -> Result<(), BlobStoreError> {
    let digest = store.put(Bytes::from_static(BLOB)).await?;
    assert_eq!(other.get(digest).await?, BLOB, "it is in the cache");
    assert!(store.set_aside(digest, LATER).await? && !store.set_aside(digest, LATER).await?);
    let inventory = store.inventory().await?;
    assert_eq!((inventory.stored.len(), inventory.aside.len()), (0, 1));
    assert_eq!(inventory.aside[0], AsideBlob { digest, bytes: 7, since: LATER });
    assert_eq!(store.size(digest).await?, 7);
    assert_eq!(store.inventory().await?, inventory, "to ask for the size changes nothing");
    assert_eq!(store.get(digest).await?, BLOB);
    assert_eq!(store.inventory().await?.stored[0].digest, digest);

    assert!(store.set_aside(digest, LATER).await?);
    assert!(other.exists(digest).await?, "it comes back");
    assert_eq!(store.inventory().await?.stored.len(), 1);
    store.delete_aside(digest, LATER).await?;
    store.delete_aside(digest, LATER).await?;
    assert!(store.inventory().await?.aside.is_empty() && store.exists(digest).await?);

    assert!(store.set_aside(digest, LATER).await?);
    store.put(Bytes::from_static(BLOB)).await?;
    store.delete(digest).await?;
    assert_eq!(store.inventory().await?, Inventory::default(), "nothing secret is left aside");
    assert!(!other.exists(digest).await?, "the cache does not answer for the store");
    assert!(!store.bring_back(digest).await?);
    let database = OrganisationId::from_random_bytes([7; 16]);
    store.note_database(database).await?;
    store.note_database(database).await?;
    assert_eq!(store.inventory().await?.databases, [database].into());
    Ok(())
}

#[tokio::test]
async fn every_store_gives_back_what_was_set_aside() {
    let folder = tempfile::tempdir().unwrap();
    let local = || BlobStore::local(folder.path()).unwrap();
    gives_back_what_was_set_aside(local(), local()).await.unwrap();
    let store = Arc::new(InMemory::new());
    let shared = || BlobStore::new(store.clone());
    gives_back_what_was_set_aside(shared(), shared()).await.unwrap();
}

#[tokio::test]
async fn old_partial_files_are_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let store = BlobStore::local(folder.path()).unwrap();
    let digest = store.put(Bytes::from_static(BLOB)).await.unwrap();
    let staged = file_of(&folder, digest).with_file_name(format!("{digest}#1"));
    fs::write(&staged, b"wei").unwrap();
    assert_eq!(store.delete_partial(Timestamp(0), false).await.unwrap(), (0, 0), "it may still be written");
    assert_eq!(store.delete_partial(LATER, true).await.unwrap(), (1, 3));
    assert!(staged.exists());
    assert_eq!(store.delete_partial(LATER, false).await.unwrap(), (1, 3));
    assert!(!staged.exists() && file_of(&folder, digest).exists());
    assert_eq!(BlobStore::in_memory().delete_partial(LATER, false).await.unwrap(), (0, 0));
}
