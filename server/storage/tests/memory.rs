//! Runs the conformance suite on the storage in memory.

use folkmoot_storage::MemoryStorage;

use crate::conformance;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn memory_conforms() {
    conformance::run(MemoryStorage::new()).await;
}
