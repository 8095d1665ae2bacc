//! All optimizers. The engine's tests include this file too.

use folkmoot_protocol::LocalOptimizer;

pub fn optimizers() -> Vec<LocalOptimizer> {
    let plans = [
        r#"{"sgd":{"learning_rate":0.1}}"#,
        r#"{"sgd":{"learning_rate":0.1,"momentum":0.9,"weight_decay":0.01}}"#,
        r#"{"sgd":{"learning_rate":0.1,"momentum":0.9,"nesterov":true,"weight_decay":0.01}}"#,
        r#"{"adam":{"learning_rate":0.1,"weight_decay":0.01}}"#,
        r#"{"adamw":{"learning_rate":0.1}}"#,
        r#"{"adagrad":{"learning_rate":0.1,"weight_decay":0.01}}"#,
        r#"{"rmsprop":{"learning_rate":0.1,"weight_decay":0.01}}"#,
        r#"{"rmsprop":{"learning_rate":0.1,"momentum":0.5}}"#,
        r#"{"lion":{"learning_rate":0.001,"weight_decay":0.01}}"#,
    ];
    plans.iter().map(|plan| serde_json::from_str(plan).expect("it is a plan's")).collect()
}
