//! Explains the evaluation and the end of a task.

use folkmoot_coordinator::task::{Evaluation, TaskDescription};
use folkmoot_protocol::Metric;

use super::quantity::{count, seconds};

/// Returns sentences about the evaluation: its schedule, its data and the rollback.
pub(super) fn evaluation(evaluation: Option<&Evaluation>) -> Vec<String> {
    let Some(evaluation) = evaluation else {
        return vec!["Versions are not evaluated. Only the training loss and accuracy are known.".into()];
    };
    let mut said = vec![match evaluation.every_versions {
        1 => "Every version is evaluated.".to_owned(),
        every => format!("Version 0 and every {every}th version are evaluated."),
    }];
    if evaluation.central {
        said.push(
            "The coordinator evaluates on the operator's own examples, which are uploaded with the task."
                .into(),
        );
    }
    if let Some(federated) = &evaluation.federated {
        let policy = federated.policy();
        said.push(format!(
            "{} evaluate it on their own examples and report sums within {}; after that, {} are enough.",
            count(federated.report_goal, "client"),
            seconds(federated.reporting_deadline_seconds),
            policy.minimum_cohort()
        ));
        if let Some(tuning) = &federated.fine_tuning {
            said.push(format!(
                "Each client holds {:.0} % of its examples out and measures them twice: with the version, and after {} of fine-tuning on \
                 its other examples. Use this to see how much clients would gain from models of their own. It costs a client the time of {} of \
                 training, and no trained weight leaves the device.",
                100.0 * tuning.held_out_share,
                count(tuning.epochs.into(), "epoch"),
                count(tuning.epochs.into(), "epoch"),
            ));
        }
        if !federated.slice_by.is_empty() {
            said.push(format!(
                "The metrics are also reported by {}, for groups of at least {}.",
                federated.slice_by.join(", "),
                count(federated.minimum_group, "client")
            ));
        }
    }
    said.push(format!("The best version is the one with the {}.", best(evaluation.metric)));
    if let Some(margin) = evaluation.rollback_margin {
        said.push(format!(
            "If a version is worse than the best one by more than {margin}, the task rolls back to the best one."
        ));
    }
    said
}

fn best(metric: Metric) -> String {
    let extreme = if metric.is_higher_better() { "highest" } else { "lowest" };
    format!("{extreme} {}", metric.title())
}

/// Returns sentences about the conditions that end or pause the task.
pub(super) fn stop(description: &TaskDescription) -> Vec<String> {
    let stop = &description.stop;
    let metric = description.evaluation.as_ref().map(|evaluation| evaluation.metric).unwrap_or_default();
    let mut ends = Vec::new();
    if let Some(rounds) = stop.rounds {
        ends.push(format!("after {} that committed a version", count(rounds, "round")));
    }
    if let Some(target) = stop.target {
        let side = if metric.is_higher_better() { "more" } else { "less" };
        ends.push(format!("when the {} is {target} or {side}", metric.title()));
    }
    if let Some(plateau) = &stop.plateau {
        let by = match plateau.improvement_min {
            0.0 => String::new(),
            least => format!(" of more than {least}"),
        };
        ends.push(format!(
            "when {} in a row brought no improvement{by}",
            count(plateau.evaluations, "evaluation")
        ));
    }
    if let Some(hours) = stop.hours {
        ends.push(format!("{hours} hours after its first round was opened"));
    }
    let first = if ends.len() > 1 { " The first condition that is met ends it." } else { "" };
    let waits = match description.scheduling.policy().flow() {
        Some(_) => {
            let concurrency = description.scheduling.policy().concurrency();
            let assignments = description.abandoned_rounds_max.saturating_mul(concurrency);
            format!("{} without a single update", count(assignments, "assignment"))
        }
        None => format!("{} in a row with too few updates", count(description.abandoned_rounds_max, "round")),
    };
    vec![
        format!("The task ends {}.{first}", ends.join(", or ")),
        format!("After {waits}, the coordinator pauses it and gives the reason."),
    ]
}
