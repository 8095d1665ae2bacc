//! Tests of updates in an object storage, in memory.

use folkmoot_objects::{Objects, UpdatePlace, UpdateStore, UpdateStoreError};
use folkmoot_protocol::{AssignmentId, RoundId};
use folkmoot_round_log::RoundLog;

fn round() -> RoundId {
    RoundId::from_random_bytes([1; 16])
}

fn assignment(number: u8) -> AssignmentId {
    AssignmentId::from_random_bytes([number; 16])
}

/// Returns the bytes of an update, which differ for each `number`.
fn update(number: u8, length: usize) -> Vec<u8> {
    (0..length).map(|index| (index % 251) as u8 ^ number).collect()
}

/// Writes an update to a log, and stores it.
async fn put(store: &UpdateStore, log: &RoundLog, number: u8, bytes: &[u8]) -> UpdatePlace {
    log.open(round(), assignment(number)).unwrap().append(bytes).unwrap();
    store.put(round(), log.read(round(), assignment(number)).unwrap()).await.unwrap()
}

fn content(log: &RoundLog, number: u8) -> Vec<u8> {
    let mut reader = log.read(round(), assignment(number)).unwrap();
    let mut bytes = vec![0; reader.len() as usize];
    assert_eq!(reader.read_tile(&mut bytes).unwrap(), bytes.len());
    bytes
}

#[tokio::test(start_paused = true)]
async fn updates_of_one_moment_share_an_object_and_each_is_found_again() {
    let objects = Objects::in_memory();
    let (one, other) = (objects.updates("database", "one"), objects.updates("database", "other"));
    let (log, elsewhere) = (RoundLog::in_memory(), RoundLog::in_memory());
    let sizes: Vec<usize> = (0..20).map(|number| 1_000 + number * 37).collect();
    let puts = sizes.iter().enumerate().map(|(number, size)| {
        let (one, log) = (&one, &log);
        async move { put(one, log, number as u8, &update(number as u8, *size)).await }
    });
    let places = futures::future::join_all(puts).await;
    assert!(places.iter().all(|place| place.object == places[0].object && place.process == "one"));
    let later = put(&one, &log, 20, &update(20, 10)).await;
    assert_ne!(later.object, places[0].object, "the first object has been sent");

    for (number, (place, size)) in (0u8..).zip(places.iter().zip(&sizes)) {
        other.fetch(place, elsewhere.copy(round(), assignment(number)).unwrap()).await.unwrap();
        assert_eq!(content(&elsewhere, number), update(number, *size));
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_full_waits_for_no_more() {
    let objects = Objects::in_memory();
    let (store, log) = (objects.updates("database", "one"), RoundLog::in_memory());
    // The third update fills the object to more than 8 MiB.
    let bytes = update(0, 3 << 20);
    let puts = (0..4).map(|number| put(&store, &log, number, &bytes));
    let places = futures::future::join_all(puts).await;
    let mut offsets: Vec<u64> = places.iter().map(|place| place.offset).collect();
    offsets.sort_unstable();
    assert_eq!(offsets, [0, 0, 3 << 20, 6 << 20]);
}

#[tokio::test]
async fn a_large_update_is_sent_in_pieces() {
    let objects = Objects::in_memory();
    let folder = tempfile::tempdir().unwrap();
    let log = RoundLog::local(folder.path()).unwrap();
    let store = objects.updates("database", "one");
    let bytes = update(7, (20 << 20) + 3);
    let place = put(&store, &log, 1, &bytes).await;
    assert_eq!((place.offset, place.bytes), (0, bytes.len() as u64));
    // The copy replaces the bytes in the log.
    log.open(round(), assignment(1)).unwrap().truncate(5).unwrap();
    store.fetch(&place, log.copy(round(), assignment(1)).unwrap()).await.unwrap();
    assert_eq!(content(&log, 1), bytes);
}

#[tokio::test(start_paused = true)]
async fn a_damaged_update_is_not_copied() {
    let objects = Objects::in_memory();
    let (store, log) = (objects.updates("database", "one"), RoundLog::in_memory());
    let place = put(&store, &log, 1, &update(1, 100)).await;
    let shifted = UpdatePlace { offset: 1, bytes: 99, ..place.clone() };
    let error = store.fetch(&shifted, log.copy(round(), assignment(1)).unwrap()).await.unwrap_err();
    assert!(matches!(error, UpdateStoreError::Damaged(_)), "{error}");
    assert_eq!(content(&log, 1), update(1, 100), "the log is unchanged");
    store.forget_round(round()).await.unwrap();
    let error = store.fetch(&place, log.copy(round(), assignment(1)).unwrap()).await.unwrap_err();
    assert!(matches!(error, UpdateStoreError::Store(_)), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_round_is_forgotten_as_a_whole_and_other_databases_keep_theirs() {
    let objects = Objects::in_memory();
    let (store, neighbour) = (objects.updates("database", "one"), objects.updates("neighbour", "one"));
    let log = RoundLog::in_memory();
    put(&store, &log, 1, b"update").await;
    put(&neighbour, &log, 2, b"update").await;
    log.open(round(), assignment(3)).unwrap().append(b"part").unwrap();
    store.put_parts(round(), assignment(3), log.read(round(), assignment(3)).unwrap(), 0..4).await.unwrap();
    assert_eq!(store.rounds().await.unwrap(), [round()]);
    store.forget_round(round()).await.unwrap();
    store.forget_round(round()).await.unwrap();
    assert_eq!(store.rounds().await.unwrap(), []);
    assert_eq!(neighbour.rounds().await.unwrap(), [round()]);
}

#[tokio::test]
async fn parts_are_joined_up_to_the_first_gap() {
    let objects = Objects::in_memory();
    let (store, here, there) =
        (objects.updates("database", "one"), RoundLog::in_memory(), RoundLog::in_memory());
    let (large, bytes) = (20 << 20, update(1, 21 << 20));
    here.open(round(), assignment(1)).unwrap().append(&bytes).unwrap();
    let put = |range: std::ops::Range<u64>| {
        store.put_parts(round(), assignment(1), here.read(round(), assignment(1)).unwrap(), range)
    };
    // The first part is replaced by a longer one, which covers the second. A byte is missing before the last part.
    put(0..4).await.unwrap();
    put(4..8).await.unwrap();
    put(0..large).await.unwrap();
    put(large..large + 10).await.unwrap();
    put(large + 11..large + 20).await.unwrap();
    let mut segment = there.open(round(), assignment(1)).unwrap();
    store.fetch_parts(round(), assignment(1), &mut segment).await.unwrap();
    assert_eq!(segment.len(), large + 10);
    assert!(content(&there, 1) == bytes[..20 * 1024 * 1024 + 10], "they are the bytes that arrived");

    let mut segment = there.open(round(), assignment(2)).unwrap();
    store.fetch_parts(round(), assignment(2), &mut segment).await.unwrap();
    assert!(segment.is_empty(), "nothing was stored of it");
}
