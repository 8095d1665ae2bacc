//! Checks that a task's table schema fits its model.

use folkmoot_coordinator::task::{Fault, SchemaSource, TaskData, TaskDescription};
use folkmoot_engine::{Examples, Labels, Model};
use folkmoot_protocol::{TableLabel, TableSchema};

/// Finds the first conflict between a description's schema and the model: the number of features, the kind of the label,
/// or the number of classes.
pub(super) fn fault(description: &TaskDescription, model: &Model) -> Option<Fault> {
    let fault = |message: String, remedy: &str| Some(Fault::new(TaskData::SCHEMA_FIELD, message, remedy));
    let schema = match &description.data.as_ref()?.schema {
        // The schema's own faults are listed with those of the description.
        SchemaSource::Table(schema) if schema.check_for_plan().is_err() => return None,
        SchemaSource::Table(schema) => schema,
        SchemaSource::File(path) => {
            let message = format!("it names the file {path:?}, which the coordinator cannot read");
            return fault(message, "create the task with `folkmoot task create`, or give the schema itself");
        }
    };
    let features = schema.feature_count();
    let loss = description.plan.loss;
    if let Err(error) = fitting(schema)
        .and_then(|example| model.check_examples(&example, loss).map_err(|error| error.to_string()))
    {
        let message = format!("its columns become {features} features; {error}");
        let remedy =
            "train a model with as many inputs as the schema has features, and an output for its label";
        return fault(message, remedy);
    }
    let outputs = model.output_shape().last().copied().unwrap_or(1);
    match &schema.label {
        TableLabel::Class { classes, .. } if loss.is_cross_entropy() && classes.len() != outputs => {
            let message = format!("it has {} classes, but the model has {outputs} outputs", classes.len());
            fault(message, "give the model one output for each class")
        }
        _ => None,
    }
}

/// Returns an example of gaps with the last class, or with the target 0.
fn fitting(schema: &TableSchema) -> Result<Examples, String> {
    let features = schema.feature_count();
    let labels = match &schema.label {
        TableLabel::Class { classes, .. } => {
            Labels::Classes(vec![u32::try_from(classes.len() - 1).unwrap_or(u32::MAX)])
        }
        TableLabel::Target { .. } => Labels::Targets(vec![0.0], 1),
    };
    Examples::new(vec![0.0; features], vec![features], labels).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use folkmoot_engine::{ImportLimits, onnx::build::mlp};
    use serde_json::{Value, json};

    use super::*;

    /// Checks a schema of one number and one category of two texts, which become four features.
    fn fault_of(schema: Value, loss: &str, widths: &[usize]) -> Option<Fault> {
        let description: TaskDescription = serde_json::from_value(json!({
            "name": "visits",
            "population": "visits",
            "data": { "schema": schema },
            "plan": { "loss": loss, "optimizer": { "sgd": { "learning_rate": 0.1 } }, "epochs": 1, "batch_size": 16 },
            "scheduling": { "kind": "synchronous", "report_goal": 8 },
            "stop": { "rounds": 30 },
        }))
        .unwrap();
        fault(&description, &Model::from_onnx(&mlp(widths, 1), &ImportLimits::default()).unwrap())
    }

    fn schema(label: Value) -> Value {
        json!({
            "columns": [
                { "kind": "number", "name": "age", "mean": 51.0, "deviation": 8.5, "missing": "mean" },
                { "kind": "category", "name": "ward", "values": ["north", "south"] },
            ],
            "label": label,
        })
    }

    #[test]
    fn a_schema_must_have_the_features_and_the_classes_of_the_model() {
        let classes = || schema(json!({ "kind": "class", "name": "outcome", "classes": ["a", "b", "c"] }));
        let target = || schema(json!({ "kind": "target", "name": "days" }));
        assert_eq!(fault_of(classes(), "softmax_cross_entropy", &[4, 3]), None);
        assert_eq!(fault_of(target(), "mean_squared_error", &[4, 1]), None);
        let message = |fault: Option<Fault>| fault.map(|fault| fault.to_string()).unwrap_or_default();
        let features = message(fault_of(classes(), "softmax_cross_entropy", &[5, 3]));
        assert!(features.starts_with("data.schema: its columns become 4 features; "), "{features}");
        let few = message(fault_of(classes(), "softmax_cross_entropy", &[4, 2]));
        assert!(few.starts_with("data.schema: "), "{few}");
        let many = message(fault_of(classes(), "softmax_cross_entropy", &[4, 5]));
        assert!(many.contains("it has 3 classes, but the model has 5 outputs"), "{many}");
        assert!(fault_of(target(), "softmax_cross_entropy", &[4, 3]).is_some());
    }

    #[test]
    fn the_name_of_a_file_is_not_a_schema() {
        let fault = fault_of(json!("visits.schema.json"), "softmax_cross_entropy", &[4, 3]).unwrap();
        assert!(fault.message.contains("the coordinator cannot read"), "{fault}");
    }
}
