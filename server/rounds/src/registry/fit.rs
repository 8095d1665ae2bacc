use folkmoot_aggregation::AggregatorChoice;
use folkmoot_coordinator::task::{Fault, TaskDescription};
use folkmoot_engine::{FitError, Model, ParameterKind, Travelling, sum_shapes};
use folkmoot_protocol::{
    GradientClipping, Loss, Metric, PersonalTraining,
    update::sums::{CLASSES_MAX, OUTPUTS_MAX, SumShape},
};

use super::data_fit;

/// The least number of signs that SignGuard compares, unless it compares all.
const SIGNS_MIN: f64 = 100.0;

/// Lists the conflicts between a description and its model.
pub fn faults(description: &TaskDescription, model: &Model) -> Vec<Fault> {
    let plan = &description.plan;
    let model = &match model.for_plan(plan) {
        Ok(model) => model,
        Err(error) => {
            let remedy = "`folkmoot engine inspect` lists the outputs of a model";
            return vec![Fault::new("plan.output", error.to_string(), remedy)];
        }
    };
    let mut faults = Vec::new();
    faults.extend(loss_fault(plan.loss, model.output_shape()));
    if let Err(error) = model.check_loss(plan.loss) {
        let remedy = "export the model without it; folkmoot.export.to_onnx does";
        faults.push(Fault::new("plan.loss", error.to_string(), remedy));
    }
    if let Err(error) = model.check_class_weights(plan) {
        let remedy = "count the classes with `folkmoot engine inspect`, or remove class_weights";
        faults.push(Fault::new("plan.class_weights", error.to_string(), remedy));
    }
    if let Err(error) = model.check_augmentation(plan) {
        let remedy = "look at the inputs with `folkmoot engine inspect`, or change plan.augmentation";
        faults.push(Fault::new("plan.augmentation", error.to_string(), remedy));
    }
    if let Err(error) = model.check_contrast(plan) {
        let remedy = "`folkmoot engine inspect MODEL --values` lists the values inside of a model";
        faults.push(Fault::new("plan.model_contrast.features", error.to_string(), remedy));
    }
    faults.extend(metric_fault(description, model.output_shape()));
    faults.extend(data_fit::fault(description, model));
    let mut has_statistics = false;
    match Travelling::of(model, plan) {
        Err(error) => faults.push(travelling_fault(&error)),
        Ok(travelling) => {
            let part = travelling.part();
            has_statistics = part.normalizes_batches();
            let schema = travelling.schema();
            let parts = if plan.clusters.is_some() {
                Some("plan.clusters")
            } else {
                plan.widths.as_ref().map(|_| "plan.widths")
            };
            if let (Some(field), Err(error)) = (parts, schema.validate()) {
                let remedy = "train fewer or smaller tensors, or have fewer clusters or widths";
                faults.push(Fault::new(field, error.to_string(), remedy));
            }
            faults.extend(description.masked_sum_fault(schema.parameter_count()));
            if !part.tensors().any(|tensor| tensor.kind != ParameterKind::Statistic) {
                let remedy = "change the patterns so that at least one tensor matches none of them";
                let field = if plan.personal.is_empty() { "plan.frozen" } else { "plan.personal" };
                faults.push(Fault::new(field, "no tensor is trained and shared", remedy));
            }
            faults.extend(sample_fault(&description.aggregator, part.parameter_count()));
            if matches!(plan.personal_training, Some(PersonalTraining::FedRep { .. }))
                && !part.trains_personal()
            {
                let remedy = "let a pattern match a weight or a bias, or remove plan.personal_training";
                faults.push(Fault::new("plan.personal", "only running statistics are personal", remedy));
            }
        }
    }
    if matches!(plan.gradient_clipping, Some(GradientClipping::PerExampleNorm(_))) && has_statistics {
        let message = "batch normalisation mixes examples, so single examples have no gradient of their own";
        let remedy = "use a model with group or layer normalisation, or clip by norm";
        faults.push(Fault::new("plan.gradient_clipping.per_example_norm", message, remedy));
    }
    faults
}

/// Returns the fault of tensors that the plan trains, freezes or keeps.
fn travelling_fault(error: &FitError) -> Fault {
    let field = match error {
        FitError::Pattern { list, .. } => list,
        FitError::PersonalFrozen { .. } => "personal",
        FitError::Clusters { .. } => "clusters.tensors",
        FitError::Widths { .. } => "widths.ratios",
        FitError::TooManyForNewton { .. } => "optimizer",
        _ => "frozen",
    };
    let remedy = match error {
        FitError::Clusters { .. } => "change the patterns, or the names in the model",
        FitError::Widths { .. } => "change the ratios, or remove plan.widths",
        FitError::TooManyForNewton { .. } => "choose another optimizer, or freeze tensors with plan.frozen",
        _ => "name tensors of the model; * matches any characters, ? matches one",
    };
    Fault::new(&format!("plan.{field}"), error.to_string(), remedy)
}

/// Checks that SignGuard compares enough signs. A few could not distinguish an attack from chance.
fn sample_fault(aggregator: &AggregatorChoice, parameters: usize) -> Option<Fault> {
    let AggregatorChoice::SignGuard(rule) = aggregator else { return None };
    let expected = rule.coordinate_share * parameters as f64;
    let is_enough = rule.coordinate_share >= 1.0 || expected >= SIGNS_MIN;
    (!is_enough).then(|| {
        let message = format!(
            "it is {}, so about {expected:.0} signs of the {parameters} parameters are compared, too few to find an attack",
            rule.coordinate_share
        );
        Fault::new("aggregator.coordinate_share", message, "set it to 1, or choose another rule")
    })
}

/// Checks that the output has enough values for the loss. With a single class every answer is right, and a single
/// number has no direction, so the model would learn nothing.
fn loss_fault(loss: Loss, output: &[usize]) -> Option<Fault> {
    let needs_several = match loss {
        loss if loss.contains_softmax() => "one logit for each class",
        Loss::Cosine => "a vector of two numbers or more",
        Loss::ModelOutput if output.iter().product::<usize>() != 1 => {
            let message = format!(
                "model_output needs one number for each example, but the output has the shape {output:?}"
            );
            return Some(Fault::new(
                "plan.loss",
                message,
                "end the model with its loss, or choose another loss",
            ));
        }
        _ => return None,
    };
    if output.last().is_some_and(|&size| size > 1) {
        return None;
    }
    let message =
        format!("{} needs {needs_several}, but the model's output has the shape {output:?}", loss.name());
    let remedy = match loss {
        Loss::Cosine => "end the model with a row of two numbers or more, or choose mean_squared_error",
        _ => "end the model with a row of two logits or more, or choose binary_cross_entropy",
    };
    Some(Fault::new("plan.loss", message, remedy))
}

/// Checks that the task's metric can be computed from the sums that clients send. With your own examples, their labels
/// decide instead.
fn metric_fault(description: &TaskDescription, output: &[usize]) -> Option<Fault> {
    let evaluation = description.evaluation.as_ref().filter(|one| !one.central)?;
    let (metric, loss) = (evaluation.metric, description.plan.loss);
    let shapes = sum_shapes(output, loss);
    let allows = |metric| metric == Metric::Loss || shapes.iter().any(|shape| shape.allows(metric, loss));
    if allows(metric) {
        return None;
    }
    let counted = shapes.first().map_or(0, |shape| match shape {
        SumShape::Classes { classes, .. } => *classes,
        SumShape::Values { outputs } => *outputs,
    });
    let allowed: Vec<_> = Metric::ALL.into_iter().filter(|one| allows(*one)).map(Metric::name).collect();
    let choose = format!("choose one of {}", allowed.join(", "));
    let own = format!("{choose}; or set central = true and upload your own examples");
    let (reason, remedy) = match (metric, shapes.first()) {
        (Metric::Rmse | Metric::Mae | Metric::R2, Some(SumShape::Values { .. })) => (
            format!("clients sum the errors of at most {OUTPUTS_MAX} outputs, and the model has {counted}"),
            own,
        ),
        (Metric::RocAuc, Some(SumShape::Classes { .. })) => {
            (format!("it needs two classes, and the model has {counted}"), choose)
        }
        (
            Metric::PrecisionMacro | Metric::RecallMacro | Metric::F1Macro | Metric::F1Weighted,
            Some(SumShape::Classes { .. }),
        ) => (
            format!("clients count at most {CLASSES_MAX} classes one by one, and the model has {counted}"),
            own,
        ),
        _ => (format!("the loss {} does not allow it", loss.name()), choose),
    };
    Some(Fault::new(
        "evaluation.metric",
        format!("{metric} cannot be computed from clients' sums: {reason}"),
        remedy,
    ))
}

#[cfg(test)]
mod tests {
    use folkmoot_engine::{
        ImportLimits,
        onnx::build::{mlp, mlp_followed_by, with_outputs},
    };

    use serde_json::json;

    use super::*;

    fn fields(loss: &str, widths: &[usize]) -> Vec<String> {
        fields_with(loss, widths, |_| {})
    }

    fn fields_with(loss: &str, widths: &[usize], alter: impl FnOnce(&mut TaskDescription)) -> Vec<String> {
        fields_of(&mlp(widths, 1), loss, alter)
    }

    fn fields_of(onnx: &[u8], loss: &str, alter: impl FnOnce(&mut TaskDescription)) -> Vec<String> {
        let mut description: TaskDescription = serde_json::from_value(serde_json::json!({
            "name": "digits",
            "population": "digits",
            "plan": { "loss": loss, "optimizer": { "sgd": { "learning_rate": 0.1 } }, "epochs": 1, "batch_size": 16 },
            "scheduling": { "kind": "synchronous", "report_goal": 8 },
            "stop": { "rounds": 30 },
        }))
        .unwrap();
        alter(&mut description);
        let model = Model::from_onnx(onnx, &ImportLimits::default()).unwrap();
        faults(&description, &model).into_iter().map(|fault| fault.field).collect()
    }

    #[test]
    fn losses_over_classes_need_classes() {
        for loss in ["softmax_cross_entropy", "kl_divergence", "cosine"] {
            assert!(fields(loss, &[4, 3]).is_empty());
            assert_eq!(fields(loss, &[4, 1]), ["plan.loss"]);
        }
        for loss in ["mean_squared_error", "binary_cross_entropy", "hinge"] {
            assert!(fields(loss, &[4, 1]).is_empty());
        }
    }

    #[test]
    fn each_class_has_a_weight_or_none_has() {
        let with = |count: usize| {
            fields_with("softmax_cross_entropy", &[4, 3], |description| {
                description.plan.class_weights = vec![1.0; count];
            })
        };
        assert!(with(0).is_empty() && with(3).is_empty());
        assert_eq!(with(2), ["plan.class_weights"]);
    }

    #[test]
    fn augmentation_and_constraints_fit_the_model() {
        let with = |key: &str, value: serde_json::Value| {
            fields_with("softmax_cross_entropy", &[4, 3], |description| {
                let mut plan = serde_json::to_value(&description.plan).unwrap();
                plan[key] = value;
                description.plan = serde_json::from_value(plan).unwrap();
            })
        };
        assert_eq!(with("augmentation", json!({ "cutout": 1, "shape": [1, 2, 2] })), [""; 0]);
        assert_eq!(with("augmentation", json!({ "cutout": 1 })), ["plan.augmentation"]);
        let l1 = |pattern: &str| json!({ "strength": 0.1, "tensors": [pattern] });
        assert_eq!(with("l1", l1("*.weight")), [""; 0]);
        assert_eq!(with("l1", l1("head.*")), ["plan.l1.tensors"]);
    }

    #[test]
    fn a_softmax_is_refused_before_the_loss_that_contains_it() {
        let softmax = mlp_followed_by(&[4, 3], 1, &["Softmax"]);
        assert_eq!(fields_of(&softmax, "softmax_cross_entropy", |_| {}), ["plan.loss"]);
        assert!(fields_of(&softmax, "mean_squared_error", |_| {}).is_empty());
    }

    #[test]
    fn one_output_must_fit_the_loss_or_be_named() {
        let onnx = |outputs: &[&str]| with_outputs(&mlp_followed_by(&[4, 3], 1, &["Softmax"]), outputs);
        let fields = |outputs: &[&str], name: Option<&str>| {
            let name = name.map(str::to_owned);
            fields_of(&onnx(outputs), "softmax_cross_entropy", |description| description.plan.output = name)
        };
        assert!(fields(&["class", "output_1", "logits"], None).is_empty());
        assert!(fields(&["output_1"], Some("logits")).is_empty());
        assert_eq!(fields(&["class", "output_1"], None), ["plan.output"]);
        assert_eq!(fields(&["logits"], Some("logit")), ["plan.output"]);
        assert_eq!(fields(&["class", "output_1"], Some("output_1")), ["plan.loss"]);
        assert_eq!(fields(&["logits"], Some("")), ["plan.output"]);
    }

    #[test]
    fn frozen_patterns_must_match_and_leave_something() {
        let with = |pattern: &'static str| {
            fields_with("hinge", &[4, 1], |description| description.plan.frozen = vec![pattern.into()])
        };
        assert!(with("*.bias").is_empty());
        assert_eq!(with("*.bais"), ["plan.frozen"]);
        assert_eq!(with("*"), ["plan.frozen"]);
        let trained = fields_with("hinge", &[4, 1], |description| {
            description.plan.frozen = vec!["*".into()];
            description.plan.trained = vec!["*.weight".into()];
        });
        assert!(trained.is_empty());
        let wrong = |description: &mut TaskDescription| description.plan.trained = vec!["head.*".into()];
        assert_eq!(fields_with("hinge", &[4, 1], wrong), ["plan.trained"]);
    }

    #[test]
    fn the_metric_of_clients_must_follow_from_their_sums() {
        let fault = |loss: &str, outputs: usize, metric: &str, central: bool| {
            let evaluation =
                json!({ "metric": metric, "central": central, "federated": { "report_goal": 5 } });
            let mut found = Vec::new();
            let fields = fields_with(loss, &[4, outputs], |description| {
                description.evaluation = Some(serde_json::from_value(evaluation).unwrap());
                let model = Model::from_onnx(&mlp(&[4, outputs], 1), &ImportLimits::default()).unwrap();
                found = faults(description, &model);
            });
            assert_eq!(fields.len(), found.len());
            found.pop().map(|fault| format!("{}: {}; {}", fault.field, fault.message, fault.remedy))
        };
        let softmax = "softmax_cross_entropy";
        for metric in ["accuracy", "loss", "top_5_accuracy", "f1_macro", "f1_weighted", "perplexity"] {
            assert_eq!(fault(softmax, 3, metric, false), None);
        }
        for (loss, outputs, metric) in [
            (softmax, 2, "roc_auc"),
            ("binary_cross_entropy", 1, "roc_auc"),
            ("hinge", 3, "roc_auc"),
            ("mean_squared_error", 1, "r2"),
            ("mean_absolute_error", 1, "loss"),
            ("kl_divergence", 2, "loss"),
            (softmax, 2000, "perplexity"),
        ] {
            assert_eq!(fault(loss, outputs, metric, false), None, "{loss} {outputs} {metric}");
        }
        let text = fault(softmax, 3, "roc_auc", false).unwrap();
        assert!(text.starts_with("evaluation.metric: roc_auc cannot be computed"), "{text}");
        assert!(text.contains("two classes, and the model has 3; choose one of accuracy, loss"), "{text}");
        let text = fault(softmax, 2000, "f1_macro", false).unwrap();
        assert!(text.contains("at most 1024 classes") && text.contains("central = true"), "{text}");
        let text = fault("mean_squared_error", 2000, "rmse", false).unwrap();
        assert!(text.contains("at most 1024 outputs, and the model has 2000; choose one of loss;"), "{text}");
        let text = fault("mean_squared_error", 1, "accuracy", false).unwrap();
        assert!(
            text.contains("mean_squared_error does not allow it; choose one of loss, rmse, mae, r2"),
            "{text}"
        );
        // The labels of the operator's examples decide.
        assert_eq!(fault(softmax, 3, "roc_auc", true), None);
    }

    #[test]
    fn sign_guard_compares_enough_signs() {
        let with = |share: f64, widths: &[usize]| {
            fields_with("softmax_cross_entropy", widths, |description| {
                let rule = json!({ "kind": "sign_guard", "coordinate_share": share });
                description.aggregator = serde_json::from_value(rule).unwrap();
            })
        };
        // The models have 15 and 1,010 parameters.
        assert_eq!(with(0.1, &[4, 3]), ["aggregator.coordinate_share"]);
        assert_eq!([with(1.0, &[4, 3]), with(0.1, &[100, 10])], [[""; 0]; 2]);
    }
}
