//! Tests how settings of a task reduce its traffic, in a virtual world.

use folkmoot_coordinator::task::TaskDescription;
use folkmoot_engine::{ImportLimits, Model, TrainedPart};
use folkmoot_protocol::update::update_bytes;
use folkmoot_simulation::simulate::Outcome;
use serde_json::{Value, json};

use crate::simulate::{MODEL, bits, run, task, world};

/// Returns a task in which all eight clients of the world take part in every round.
fn task_of_all(changes: &Value) -> TaskDescription {
    let mut changes = changes.clone();
    changes["scheduling"] = json!({ "kind": "synchronous", "report_goal": 8, "over_selection_factor": 1.0 });
    task(&changes)
}

async fn run_all(description: TaskDescription) -> Outcome {
    run(description, world(&json!({ "clients": 8 })), 2).await
}

/// Returns the bytes uploaded and downloaded after the first round, in which clients also download the model.
fn travelled(outcome: &Outcome) -> (u64, u64) {
    let later = || outcome.rounds.iter().skip(1);
    (later().map(|round| round.bytes_up).sum(), later().map(|round| round.bytes_down).sum())
}

/// Returns the bytes of the updates and downloaded versions in rounds 2 to 12 as float32.
fn float32(parameters: usize) -> (u64, u64) {
    let (assignments, parameters) = (11 * 8, parameters as u64);
    (assignments * update_bytes(parameters).expect("there are few"), assignments * 4 * parameters)
}

#[tokio::test]
async fn what_travels_is_what_is_trained() {
    let model = Model::from_onnx(MODEL, &ImportLimits::default()).unwrap();
    let plan = |frozen: Value| {
        json!({
            "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.2 } },
            "epochs": 2, "batch_size": 16, "frozen": frozen,
        })
    };
    // Both directions without codecs, and with codecs. With codecs, versions are sent as deltas.
    let codecs = json!({ "compression": { "codec": "eden:4" }, "downstream": { "whole_every": 4 } });
    for (parts, is_plain) in [(json!({}), true), (codecs, false)] {
        let with = |frozen: Value| {
            let mut changes = parts.clone();
            changes["plan"] = plan(frozen);
            task_of_all(&changes)
        };
        let all = run_all(with(json!([]))).await;
        let description = with(json!(["layer_1.*"]));
        let part = TrainedPart::of(&model, &description.plan).unwrap();
        let some = run_all(description).await;
        assert_eq!((all.version, some.version), (12, 12));
        let (now, before) = (part.pick(&some.weights).unwrap(), part.pick(&model.initial_weights()).unwrap());
        let unchanged = now.iter().zip(&before).filter(|(now, before)| now == before).count();
        assert!(unchanged * 10 < now.len(), "{unchanged} of {} weights were not trained", now.len());
        let whole = part.fill(now).unwrap();
        assert_eq!(bits(&whole), bits(&some.weights), "frozen tensors are the file's, bit for bit");
        assert!(some.last_metric().unwrap() > 0.5, "{:?}", some.last_metric());

        let share = part.parameter_count() as f64 / model.parameter_count() as f64;
        let (of_all, of_some) = (travelled(&all), travelled(&some));
        let (up, down) = (of_some.0 as f64 / of_all.0 as f64, of_some.1 as f64 / of_all.1 as f64);
        println!("trained {:.1} %, up {:.1} %, down {:.1} %", 100.0 * share, 100.0 * up, 100.0 * down);
        if is_plain {
            assert_eq!(of_all, float32(model.parameter_count()));
            assert_eq!(of_some, float32(part.parameter_count()));
        }
        // With codecs, headers and tensor metadata are a larger share.
        assert!(up < 0.25 && down < 0.25, "{share} of the weights: up {up}, down {down}");
    }
}

/// One step on a batch of eight at a usual learning rate, where rounding of the weights is a visible part of the
/// update.
#[tokio::test]
async fn sufficient_factors_save_bytes_at_usual_rates() {
    let with = |codec: &str| {
        let plan = json!({
            "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.01 } },
            "epochs": 1, "steps_max": 1, "batch_size": 8,
        });
        task_of_all(&json!({ "plan": plan, "compression": { "codec": codec } }))
    };
    let plain = run_all(with("none")).await;
    let factors = run_all(with("sufficient_factors:8")).await;
    let ratio = travelled(&factors).0 as f64 / travelled(&plain).0 as f64;
    let start = Model::from_onnx(MODEL, &ImportLimits::default()).unwrap().initial_weights();
    let distance = |left: &[f32], right: &[f32]| {
        left.iter().zip(right).map(|(left, right)| f64::from(left - right).powi(2)).sum::<f64>().sqrt()
    };
    let apart = distance(&plain.weights, &factors.weights) / distance(&plain.weights, &start);
    println!("{:.0} % of the bytes of lossless float32, weights {apart:.1e} apart", 100.0 * ratio);
    // The first layer, 64 by 64, takes a quarter of its bytes; the other tensors are too small to gain much.
    assert!(ratio < 0.5, "{ratio}");
    // Every update has an error of at most 1e-3, which later rounds may increase a little.
    assert!(apart < 2e-3, "{apart}");
}

/// At a small learning rate, rounding of the weights hides the factors of the step in the update, so the recorded
/// factors are sent.
#[tokio::test]
async fn recorded_products_save_bytes_at_any_rate() {
    let with = |codec: &str| {
        let plan = json!({
            "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.0005 } },
            "epochs": 1, "steps_max": 1, "batch_size": 8,
        });
        task_of_all(&json!({ "plan": plan, "compression": { "codec": codec } }))
    };
    let plain = run_all(with("none")).await;
    let start = Model::from_onnx(MODEL, &ImportLimits::default()).unwrap().initial_weights();
    let distance = |left: &[f32], right: &[f32]| {
        left.iter().zip(right).map(|(left, right)| f64::from(left - right).powi(2)).sum::<f64>().sqrt()
    };
    for codec in ["sufficient_factors:8,error=1e-6", "sufficient_factors:8,error=0.0"] {
        let factors = run_all(with(codec)).await;
        let ratio = travelled(&factors).0 as f64 / travelled(&plain).0 as f64;
        let apart = distance(&plain.weights, &factors.weights) / distance(&plain.weights, &start);
        println!(
            "{codec}: {:.0} % of the bytes of lossless float32, weights {apart:.1e} apart",
            100.0 * ratio
        );
        assert!(ratio < 0.5, "{codec}: {ratio}");
        // The difference that rounding of the weights alone causes.
        assert!(apart < 1e-2, "{codec}: {apart}");
    }
}
