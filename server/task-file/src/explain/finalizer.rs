//! How the aggregate changes the model.

use folkmoot_coordinator::finalizer::{CommitSchedule, FinalizerChoice};

use super::{plan, quantity::count};

/// Explains the finalizer.
pub(super) fn finalizer(choice: &FinalizerChoice) -> Vec<String> {
    match choice {
        FinalizerChoice::FedAvg(fed_avg) => {
            let mut said = vec![match fed_avg.server_learning_rate {
                1.0 => "The aggregate is added to the model (FedAvg).".into(),
                rate => format!("{rate} times the aggregate is added to the model (FedAvg)."),
            }];
            said.extend(schedule(&fed_avg.schedule));
            said
        }
        FinalizerChoice::FedAvgM(fed_avg_m) => {
            let look = if fed_avg_m.nesterov { ", looking ahead as Nesterov's" } else { "" };
            let mut said = vec![format!(
                "The aggregate feeds a momentum of {}{look}, and {} times that is added to the model (FedAvgM).",
                fed_avg_m.momentum, fed_avg_m.server_learning_rate
            )];
            if fed_avg_m.momentum_correction {
                said.push("The momentum is lowered by what staleness brings by itself.".into());
            }
            said.extend(schedule(&fed_avg_m.schedule));
            said
        }
        FinalizerChoice::FedAdagrad(adagrad) => adaptive(
            format!(
                "FedAdagrad steps by {} times the aggregate, divided by the root of the sum of its squares so far",
                adagrad.server_learning_rate
            ),
            adagrad.tau,
            &adagrad.schedule,
        ),
        FinalizerChoice::FedAdam(adam) => adaptive(
            format!(
                "FedAdam steps by {} times a momentum of {}, divided by the root of the moving average of the squares \
                 (decay {})",
                adam.server_learning_rate, adam.beta1, adam.beta2
            ),
            adam.tau,
            &adam.schedule,
        ),
        FinalizerChoice::FedYogi(yogi) => adaptive(
            format!(
                "FedYogi steps by {} times a momentum of {}, divided by the root of squares that change slowly (decay {})",
                yogi.server_learning_rate, yogi.beta1, yogi.beta2
            ),
            yogi.tau,
            &yogi.schedule,
        ),
    }
}

fn adaptive(step: String, tau: f64, rates: &CommitSchedule) -> Vec<String> {
    let mut said = vec![format!("{step}, for each parameter by itself; tau = {tau} bounds the steps.")];
    said.extend(schedule(rates));
    said
}

fn schedule(schedule: &CommitSchedule) -> Vec<String> {
    let mut said = Vec::new();
    if schedule.warmup_commits > 0 {
        said.push(format!(
            "The rate rises over the first {}.",
            count(schedule.warmup_commits.into(), "version")
        ));
    }
    let change = plan::schedule(&schedule.learning_rate_schedule);
    said.extend(change.map(|change| format!("The rate {change}, where a step is a version.")));
    said
}
