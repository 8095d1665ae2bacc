//! Compares the storage in memory with a database: the test makes the same random calls to both, and both must give the
//! same answers.
//!
//! Ids come from small sets, so that calls meet earlier data, and many calls are rejected for various reasons. All
//! reading methods are called to compare the stored data.

mod chance;
mod rounds;
mod same;
mod settings;
mod stored;
mod world;

use chance::Chance;
use world::World;

/// The number of random histories, one per seed.
const SEEDS: u64 = 24;
/// The number of calls in one history.
const CALLS: usize = 600;

/// Runs one history, and occasionally compares all stored data.
async fn history(seed: u64) -> Result<World, String> {
    let mut world = World::new(Chance::new(seed)).await;
    world.begin().await?;
    for call in 0..CALLS {
        world.call().await.map_err(|difference| format!("seed {seed}, call {call}: {difference}"))?;
        if call % 100 == 99 {
            world
                .read_all()
                .await
                .map_err(|difference| format!("seed {seed}, after {call}: {difference}"))?;
        }
    }
    Ok(world)
}

#[tokio::test]
async fn every_history_is_the_same_in_both() {
    let mut reached = world::Reached::default();
    for seed in 0..SEEDS {
        let world = Box::pin(history(seed)).await.unwrap_or_else(|difference| panic!("{difference}"));
        reached.add(&world.reached);
    }
    // Comparing only rejections would prove little, so require a minimum number of successes.
    let world::Reached { assigned, accepted, closed, committed, waiting } = reached;
    assert!(assigned > 500 && accepted > 200 && closed > 100 && committed > 50, "{reached:?}");
    assert!(waiting > 1000, "{reached:?}");
}
