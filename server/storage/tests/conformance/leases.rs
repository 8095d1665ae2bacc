//! Leases.

use folkmoot_storage::{LeaseRepository, Storage, StorageError};

use super::fixture::{NOW, fresh_name, later};

pub(super) async fn a_lease_has_one_holder(storage: &Storage) -> Result<(), StorageError> {
    let [name, other] = [fresh_name(), fresh_name()];
    assert!(storage.acquire_lease(&name, "one", NOW, later(10)).await?);
    assert!(!storage.acquire_lease(&name, "two", later(9), later(20)).await?, "it is held");
    assert!(storage.acquire_lease(&other, "two", NOW, later(10)).await?, "another one is free");
    assert!(storage.acquire_lease(&name, "one", later(9), later(15)).await?, "its holder renews it");
    assert!(!storage.acquire_lease(&name, "two", later(14), later(20)).await?);
    assert!(storage.acquire_lease(&name, "two", later(15), later(20)).await?, "it has ended");
    storage.release_lease(&name, "one").await?;
    assert!(
        !storage.acquire_lease(&name, "one", later(16), later(30)).await?,
        "it was not one's to give back"
    );
    storage.release_lease(&name, "two").await?;
    storage.release_lease(&name, "two").await?;
    assert!(storage.acquire_lease(&name, "one", later(16), later(30)).await?);
    Ok(())
}
