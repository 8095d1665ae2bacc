//! Checks that the schema of a task's data fits its model.

use folkmoot_coordinator::task::{Fault, SchemaSource, TaskData, TaskDescription};
use folkmoot_engine::{Examples, Labels, Model};
use folkmoot_protocol::{DataSchema, Loss};

/// Finds the first conflict between a description's schema and the model: the shape of the features, the kind of the
/// label, or the number of classes.
pub(super) fn fault(description: &TaskDescription, model: &Model) -> Option<Fault> {
    let fault = |message: String, remedy: &str| Some(Fault::new(TaskData::SCHEMA_FIELD, message, remedy));
    let schema = match &description.data.as_ref()?.schema {
        // The schema's own faults are listed with those of the description.
        SchemaSource::Schema(schema) if schema.check_for_plan().is_err() => return None,
        SchemaSource::Schema(schema) => schema,
        SchemaSource::File(path) => {
            let message = format!("it names the file {path:?}, which the coordinator cannot read");
            return fault(message, "create the task with `folkmoot task create`, or give the schema itself");
        }
    };
    let loss = description.plan.loss;
    if !schema.has_labels() && loss != Loss::ModelOutput {
        let message = format!("it has no label, but {} compares outputs with labels", loss.name());
        return fault(message, "add a label, or choose the loss model_output");
    }
    if let Err(error) = fitting(schema)
        .and_then(|example| model.check_examples(&example, loss).map_err(|error| error.to_string()))
    {
        let shape = schema.feature_shape();
        let (message, remedy) = match &**schema {
            DataSchema::Table(_) => (
                format!("its columns become {} features; {error}", shape.iter().product::<usize>()),
                "train a model with as many inputs as the schema has features, and an output for its label",
            ),
            DataSchema::Images { .. } => (
                format!("its images become the shape {shape:?} (channels, height, width); {error}"),
                "change the size in the schema, or train a model that accepts such images",
            ),
        };
        return fault(message, remedy);
    }
    let outputs = model.output_shape().last().copied().unwrap_or(1);
    let classes = schema.classes().map_or(outputs, <[String]>::len);
    if loss.is_cross_entropy() && classes != outputs {
        let message = format!("it has {classes} classes, but the model has {outputs} outputs");
        return fault(message, "give the model one output for each class");
    }
    None
}

/// Returns an example of gaps, or of one colour, with the last class, or with the target 0.
fn fitting(schema: &DataSchema) -> Result<Examples, String> {
    let shape = schema.feature_shape();
    let labels = match schema.classes() {
        Some(classes) => Labels::Classes(vec![u32::try_from(classes.len() - 1).unwrap_or(u32::MAX)]),
        None => Labels::Targets(vec![0.0], 1),
    };
    Examples::new(vec![0.0; shape.iter().product()], shape, labels).map_err(|error| error.to_string())
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
        let mut unlabelled = target();
        unlabelled.as_object_mut().unwrap().remove("label");
        assert_eq!(fault_of(unlabelled.clone(), "model_output", &[4, 1]), None);
        let refused = message(fault_of(unlabelled, "mean_squared_error", &[4, 1]));
        assert!(refused.contains("it has no label, but mean_squared_error compares"), "{refused}");
    }

    #[test]
    fn images_must_have_the_shape_and_the_classes_of_the_model() {
        let images = |width: u32, classes: &[&str]| json!({ "images": { "width": width, "height": 2, "grey": true, "classes": classes } });
        let faults =
            |schema| fault_of(schema, "softmax_cross_entropy", &[4, 3]).map(|fault| fault.to_string());
        // A row of four features takes the pixels of four, like flattened images.
        let shape = faults(images(3, &["a", "b", "c"])).unwrap();
        assert!(
            shape.contains("its images become the shape [1, 2, 3] (channels, height, width); "),
            "{shape}"
        );
    }

    #[test]
    fn the_name_of_a_file_is_not_a_schema() {
        let fault = fault_of(json!("visits.schema.json"), "softmax_cross_entropy", &[4, 3]).unwrap();
        assert!(fault.message.contains("the coordinator cannot read"), "{fault}");
    }
}
