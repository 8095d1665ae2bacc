use folkmoot_coordinator::task::{Fault, TaskDescription};
use folkmoot_engine::Model;
use folkmoot_protocol::Loss;

/// Lists what does not fit between a description and its model, or nothing.
pub fn faults(description: &TaskDescription, model: &Model) -> Vec<Fault> {
    let output = model.output_shape();
    let mut faults = Vec::new();
    match description.plan.loss {
        // One class alone is always right: nothing would be learned.
        Loss::SoftmaxCrossEntropy if output.first().is_none_or(|&classes| classes < 2) => {
            let message =
                format!("softmax_cross_entropy needs one logit for each class, the output is {output:?}");
            let remedy = "end the model with a row of two logits or more, or choose mean_squared_error";
            faults.push(Fault::new("plan.loss", message, remedy));
        }
        Loss::SoftmaxCrossEntropy | Loss::MeanSquaredError => {}
    }
    faults
}

#[cfg(test)]
mod tests {
    use folkmoot_engine::{ImportLimits, onnx::build::mlp};

    use super::*;

    fn fields(loss: &str, widths: &[usize]) -> Vec<String> {
        let description: TaskDescription = serde_json::from_value(serde_json::json!({
            "name": "digits",
            "population": "digits",
            "plan": { "loss": loss, "optimizer": { "sgd": { "learning_rate": 0.1 } }, "epochs": 1, "batch_size": 16 },
            "scheduling": { "kind": "synchronous", "report_goal": 8 },
            "stop": { "rounds": 30 },
        }))
        .unwrap();
        let model = Model::from_onnx(&mlp(widths, 1), &ImportLimits::default()).unwrap();
        faults(&description, &model).into_iter().map(|fault| fault.field).collect()
    }

    #[test]
    fn cross_entropy_needs_classes() {
        assert!(fields("softmax_cross_entropy", &[4, 3]).is_empty());
        assert_eq!(fields("softmax_cross_entropy", &[4, 1]), ["plan.loss"]);
        assert!(fields("mean_squared_error", &[4, 1]).is_empty());
    }
}
