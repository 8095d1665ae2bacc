//! A client that declines assignments outside the app's budget.

use std::sync::Arc;

use folkmoot_protocol::messages::{AbortReason, AbortRequest, ProtectionLevel};

use super::{
    fake::{Fake, Trouble},
    story::{builder, never},
    until,
};
use crate::{Budget, LogAction, LogEntry};

/// Runs a client with this budget until it has given up an assignment, and returns its log.
async fn declined(fake: Fake, budget: Budget) -> (Arc<Fake>, Vec<LogEntry>) {
    let fake = Arc::new(fake);
    let directory = tempfile::tempdir().unwrap();
    let mut client = builder(&fake, directory.path()).await.budget(budget).build().unwrap();
    let log = client.transparency_log().clone();
    client.run(until("an abort", || !fake.seen().aborts.is_empty())).await.unwrap();
    (fake, log.entries().unwrap())
}

fn fetches(fake: &Fake) -> usize {
    fake.seen().requests.iter().filter(|request| request.line.starts_with("GET /v1/blobs")).count()
}

#[tokio::test]
async fn every_limit_declines_without_a_word_and_tells_the_user_which_it_was() {
    let cases = [
        (Budget { model_bytes_max: 4000, ..Budget::default() }, "model_bytes_max is 4000"),
        (Budget { memory_bytes_max: 4000, ..Budget::default() }, "memory_bytes_max is 4000"),
        (Budget { parameters_max: 3, ..Budget::default() }, "parameters_max is 3"),
        (Budget { cohort_min: 3, ..Budget::default() }, "cohort_min is 3"),
        (
            Budget { protection_min: ProtectionLevel::Central, ..Budget::default() },
            "protection_min is central",
        ),
    ];
    for (budget, words) in cases {
        let (fake, entries) =
            declined(Fake { cohort_min: Some(2), parts: vec![vec![0; 4000]], ..fake() }, budget).await;
        let expected = AbortRequest { reason: AbortReason::Declined, detail: String::new() };
        assert_eq!(fake.seen().aborts, [expected], "{words}");
        assert_eq!(fetches(&fake), 1, "{words}: the plan alone was fetched");
        let told: Vec<_> = entries.iter().filter(|entry| entry.action == LogAction::Declined).collect();
        let [entry] = told[..] else { panic!("{words}: {entries:?}") };
        assert!(entry.detail.as_deref().is_some_and(|detail| detail.starts_with(words)), "{entry:?}");
        assert_eq!((entry.round_number, entry.bytes_sent), (Some(3), 0));
        let sent = format!("{:?}", fake.seen().requests);
        assert!(!sent.contains(words), "the coordinator learns nothing of it");
    }
}

fn fake() -> Fake {
    Fake::new(1, Trouble::default())
}

#[tokio::test]
async fn a_plan_that_is_too_large_is_not_fetched() {
    let (fake, _) = declined(fake(), Budget { model_bytes_max: 10, ..Budget::default() }).await;
    assert_eq!(fetches(&fake), 0);
    assert_eq!(fake.seen().aborts[0].reason, AbortReason::Declined);
}

#[tokio::test]
async fn what_is_within_the_budget_is_done() {
    let fake = Arc::new(Fake { cohort_min: Some(3), ..fake() });
    let directory = tempfile::tempdir().unwrap();
    let budget = Budget { cohort_min: 3, parameters_max: 4, ..Budget::default() };
    let mut client = builder(&fake, directory.path()).await.budget(budget).build().unwrap();
    client.run_rounds(1, never()).await.unwrap();
    assert!(fake.seen().is_accepted && fake.seen().aborts.is_empty());
}

#[tokio::test]
async fn a_training_ends_when_the_apps_seconds_are_over_and_is_sent() {
    // The clock advances by a second at each reading.
    let fake = Arc::new(Fake::new(1_000_000, Trouble::default()));
    let directory = tempfile::tempdir().unwrap();
    let budget = Budget { training_seconds_max: 60, ..Budget::default() };
    let mut client = builder(&fake, directory.path()).await.budget(budget).build().unwrap();
    client.run_rounds(1, never()).await.unwrap();
    assert!(fake.seen().is_accepted);
}

#[test]
fn a_budget_with_which_nothing_could_be_done_is_refused() {
    let budget = Budget { model_bytes_max: 0, ..Budget::default() };
    let error = crate::Client::builder("http://127.0.0.1:1").budget(budget).build().unwrap_err();
    assert!(error.to_string().contains("model_bytes_max is 0"), "{error}");
}
