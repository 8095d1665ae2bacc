//! What is measured, and when a task is over.

use folkmoot_coordinator::task::{Evaluation, Metric, TaskDescription};

use super::quantity::{count, seconds};

/// Explains the evaluation.
pub(super) fn evaluation(evaluation: Option<&Evaluation>) -> Vec<String> {
    let Some(evaluation) = evaluation else {
        return vec![
            "The versions are not measured; only the loss and the accuracy of the training itself are known."
                .into(),
        ];
    };
    let mut said = vec![match evaluation.every_versions {
        1 => "Every version is measured.".to_owned(),
        every => format!("Every {every}th version is measured, and version 0."),
    }];
    if evaluation.central {
        said.push(
            "The coordinator does it on the operator's own examples, which are brought with the task.".into(),
        );
    }
    if let Some(federated) = &evaluation.federated {
        let policy = federated.policy();
        said.push(format!(
            "{} measure it on their own examples and report sums, within {}; {} suffice then.",
            count(federated.report_goal, "client"),
            seconds(federated.reporting_deadline_seconds),
            policy.minimum_cohort()
        ));
        if !federated.slice_by.is_empty() {
            said.push(format!(
                "The metrics are told apart by {}, for groups of at least {}.",
                federated.slice_by.join(", "),
                count(federated.minimum_group, "client")
            ));
        }
    }
    said.push(format!("The best version is the one with the {}.", best(evaluation.metric)));
    if let Some(margin) = evaluation.rollback_margin {
        said.push(format!(
            "If a version is worse than the best by more than {margin}, the model goes back to the best."
        ));
    }
    said
}

fn best(metric: Metric) -> &'static str {
    match metric {
        Metric::Accuracy => "highest accuracy",
        Metric::Loss => "lowest mean loss",
    }
}

/// Explains the conditions that end the task.
pub(super) fn stop(description: &TaskDescription) -> Vec<String> {
    let stop = &description.stop;
    let metric = description.evaluation.as_ref().map(|evaluation| evaluation.metric).unwrap_or_default();
    let mut ends = Vec::new();
    if let Some(rounds) = stop.rounds {
        ends.push(format!("after {} that made a version", count(rounds, "round")));
    }
    if let Some(target) = stop.target {
        ends.push(match metric {
            Metric::Accuracy => format!("when the accuracy is {target} or more"),
            Metric::Loss => format!("when the mean loss is {target} or less"),
        });
    }
    if let Some(plateau) = &stop.plateau {
        let by = match plateau.improvement_min {
            0.0 => String::new(),
            least => format!(" by more than {least}"),
        };
        ends.push(format!(
            "when {} in a row brought nothing better{by}",
            count(plateau.evaluations, "evaluation")
        ));
    }
    if let Some(hours) = stop.hours {
        ends.push(format!("{hours} hours after its first round was opened"));
    }
    let first = if ends.len() > 1 { " Whatever comes first ends it." } else { "" };
    let waits = match description.scheduling.policy().flow() {
        Some(_) => {
            let concurrency = description.scheduling.policy().concurrency();
            let assignments = description.abandoned_rounds_max.saturating_mul(concurrency);
            format!("{} without one update", count(assignments, "assignment"))
        }
        None => format!(
            "{} in a row in which too few updates came",
            count(description.abandoned_rounds_max, "round")
        ),
    };
    vec![
        format!("The task ends {}.{first}", ends.join(", or ")),
        format!("After {waits} it is paused, and says why."),
    ]
}
