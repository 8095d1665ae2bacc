//! Compares rounds that ask their stragglers with rounds that wait for them or drop them.

use folkmoot_simulation::simulate::Outcome;
use serde_json::{Value, json};

use crate::simulate::{run, task, world};

/// One client of ten takes six times as long. Rounds that ask it for a partial update are fast and waste no training.
#[tokio::test]
async fn a_straggler_that_is_asked_holds_nobody_and_loses_nothing() {
    let compute = json!({
        "kind": "log_normal", "median_seconds_per_example": 0.05, "spread": 0.0, "round_spread": 0.0,
    });
    let devices = json!({ "compute": compute, "slow": { "clients": [0], "factor": 6.0 } });
    let outcome = async |scheduling: Value| {
        let description = task(&json!({ "scheduling": scheduling }));
        run(description, world(&json!({ "clients": 10, "devices": devices })), 2).await
    };
    let all = json!({ "kind": "synchronous", "report_goal": 10, "over_selection_factor": 1.0 });
    let nine = json!({ "kind": "synchronous", "report_goal": 9, "over_selection_factor": 1.1 });
    let (waiting, dropping) = (outcome(all).await, outcome(nine).await);
    let asking = outcome(json!({ "kind": "aggressive_synchronous", "cohort": 10, "ask_at": 9 })).await;
    let used = |one: &Outcome| one.rounds.iter().map(|row| row.reported).sum::<u64>();
    let per_hour = |one: &Outcome| one.version as f64 * 3600.0 / one.virtual_seconds;
    assert_eq!([&waiting, &dropping, &asking].map(|one| one.version), [12, 12, 12]);
    assert_eq!(used(&asking), asking.client_rounds, "each training that was begun is in a version");
    assert!(used(&dropping) < dropping.client_rounds, "its straggler works in vain");
    assert!(per_hour(&asking) > 2.0 * per_hour(&waiting), "{} and {}", per_hour(&asking), per_hour(&waiting));
}
