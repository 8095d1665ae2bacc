//! Versions that are compressed for download.

use folkmoot_protocol::{BlobDigest, ErrorCode};
use folkmoot_storage::TaskRepository;
use serde_json::json;

use super::{CLIENTS, World, device};

/// No row names a part, so old ones are deleted. A client that still asks for one gets it all the same.
#[tokio::test]
async fn a_part_that_was_deleted_is_made_again() {
    let keys = json!({
        "selection": { "kind": "uniform" },
        "privacy": { "kind": "none" },
        "downstream": { "whole": "bf16", "change": "bf16", "whole_every": 3 },
    });
    let world = World::training(&[40, 30], keys, &[]).await;
    world.drive(0, CLIENTS).await;
    let coordinator = &world.coordinator;
    let task = coordinator.storage.task_of_any_organisation(world.task).await.unwrap().unwrap();
    let parts = coordinator.parts_of(&task, 0).await.unwrap().expect("they are shorter than float32");
    let drawn = world.cohorts().await.concat();
    let client = world.clients.iter().find(|client| drawn.contains(&client.id)).unwrap();
    for _ in 0..2 {
        coordinator.blobs.delete(parts[0].digest).await.unwrap();
        let (bytes, _) = device::blob(coordinator, client, parts[0].digest).await.unwrap();
        assert_eq!((BlobDigest::of(&bytes), bytes.len() as u64), (parts[0].digest, parts[0].bytes));
    }
    coordinator.blobs.delete(task.model).await.unwrap();
    let error = device::blob(coordinator, client, task.model).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::BlobUnknown, "only parts can be made again");
}
