//! The transparency log of a round, and the storage of a client's key.

use std::sync::Arc;

use super::{
    fake::{Fake, Trouble},
    story::{builder, never},
};
use crate::{LogAction, SecretStorage, key::tests::Locker};

#[tokio::test]
async fn a_round_is_in_the_log_to_the_byte() {
    let fake = Arc::new(Fake::new(2, Trouble::default()));
    let directory = tempfile::tempdir().unwrap();
    let mut client = builder(&fake, directory.path()).await.build().unwrap();
    let log = client.transparency_log().clone();
    log.consent_given("version 1");
    client.run_rounds(1, never()).await.unwrap();
    let entries = log.entries().unwrap();
    let actions: Vec<LogAction> = entries.iter().map(|entry| entry.action).collect();
    use LogAction::{Asked, Consent, Enrolled, Fetched, Reported, Sent, Trained};
    let round = [Consent, Enrolled, Asked, Fetched, Fetched, Fetched, Trained, Sent, Reported];
    assert_eq!(actions, round);
    let bodies: usize = fake.seen().requests.iter().map(|request| request.body.len()).sum();
    let update = fake.seen().update.len();
    let sent: u64 = entries.iter().map(|entry| entry.bytes_sent).sum();
    let of_updates: usize =
        fake.seen().requests.iter().filter(|r| r.line.starts_with("PUT")).map(|r| r.body.len()).sum();
    assert_eq!(sent as usize, bodies - of_updates + update);
    assert!(entries[3..8].iter().all(|entry| entry.task_id.is_some() && entry.round_number.is_some()));
    assert!(entries[3].detail.as_deref() == Some("plan") && entries[3].bytes_received > 0);

    client.forget().unwrap();
    log.consent_withdrawn();
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_key_in_the_apps_storage_is_in_no_file_and_goes_with_the_client() {
    let fake = Arc::new(Fake::new(1, Trouble::default()));
    let directory = tempfile::tempdir().unwrap();
    let locker = Arc::new(Locker::default());
    for _ in 0..2 {
        let builder = builder(&fake, directory.path()).await.secrets(locker.clone());
        let mut client = builder.build().unwrap();
        client.run_rounds(1, never()).await.unwrap();
        assert_eq!(locker.load().unwrap().unwrap().len(), 32);
        assert!(!directory.path().join("client.key").exists());
        fake.next_assignment();
    }
    let client = builder(&fake, directory.path()).await.secrets(locker.clone()).build().unwrap();
    client.forget().unwrap();
    assert_eq!(locker.load().unwrap(), None);
}
