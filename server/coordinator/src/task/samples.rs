//! A task for tests.

use serde_json::{Value, json};

use super::TaskDescription;

/// Returns a task with synchronous rounds and these changed fields. It is not validated.
pub(crate) fn described(changes: Value) -> TaskDescription {
    let mut description = json!({
        "name": "digits",
        "population": "digits",
        "plan": {
            "loss": "softmax_cross_entropy",
            "optimizer": { "sgd": { "learning_rate": 0.1 } },
            "epochs": 1,
            "batch_size": 16,
        },
        "scheduling": { "kind": "synchronous", "report_goal": 8 },
        "stop": { "rounds": 30 },
    });
    for (key, value) in changes.as_object().expect("changes are an object") {
        description[key] = value.clone();
    }
    serde_json::from_value(description).expect("a description")
}
