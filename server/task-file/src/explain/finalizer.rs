//! Explains how the finalizer turns the aggregate into a change of the model.

use folkmoot_aggregation::finalizer::{
    CommitSchedule, FedCm, FedDc, FedDyn, FinalizerChoice, LBfgs, Proximal, Scaffold,
};

use super::{plan, quantity::count};

/// Returns sentences about the finalizer: its formula and its learning rates.
pub(super) fn finalizer(choice: &FinalizerChoice) -> Vec<String> {
    match choice {
        FinalizerChoice::FedAvg(fed_avg) => {
            let mut said = vec![match fed_avg.server_learning_rate {
                1.0 => "The aggregate is added to the model (FedAvg).".into(),
                rate => format!("The aggregate is multiplied by {rate} and added to the model (FedAvg)."),
            }];
            said.extend(schedule(&fed_avg.schedule));
            said
        }
        FinalizerChoice::FedAvgM(fed_avg_m) => {
            let look = if fed_avg_m.nesterov { " with Nesterov's look-ahead" } else { "" };
            let mut said = vec![format!(
                "The aggregate updates a momentum of {}{look}. The result is multiplied by {} and added to the model (FedAvgM).",
                fed_avg_m.momentum, fed_avg_m.server_learning_rate
            )];
            if fed_avg_m.momentum_correction {
                said.push("The momentum is reduced by the implicit momentum that staleness causes.".into());
            }
            said.extend(schedule(&fed_avg_m.schedule));
            said
        }
        FinalizerChoice::FedExp(fed_exp) => {
            let mut said = vec![
                format!(
                    "The aggregate is multiplied by half the ratio of the updates' mean squared norm to its own squared norm plus {}, \
                     at least by 1, and added to the model (FedExP). Choose it if clients that you trust have different data, so \
                     that their updates cancel each other out.",
                    fed_exp.epsilon
                ),
                "It costs one more pass over all updates, which the coordinator stores until the commit."
                    .into(),
            ];
            said.extend(schedule(&fed_exp.schedule));
            said
        }
        FinalizerChoice::Proximal(one) => proximal(one),
        FinalizerChoice::LBfgs(one) => l_bfgs(one),
        FinalizerChoice::Scaffold(one) => scaffold(one),
        FinalizerChoice::FedDyn(one) => fed_dyn(one),
        FinalizerChoice::FedDc(one) => fed_dc(one),
        FinalizerChoice::FedCm(one) => fed_cm(one),
        FinalizerChoice::Component(one) => super::component::finalizer(one),
        FinalizerChoice::FedAdagrad(adagrad) => adaptive(
            format!(
                "FedAdagrad steps by {} times the aggregate, divided by the root of the sum of all squares so far",
                adagrad.server_learning_rate
            ),
            adagrad.tau,
            &adagrad.schedule,
        ),
        FinalizerChoice::FedAdam(adam) => adaptive(
            format!(
                "FedAdam steps by {} times a momentum of {}, divided by the root of the moving average of squares \
                 (decay {})",
                adam.server_learning_rate, adam.beta1, adam.beta2
            ),
            adam.tau,
            &adam.schedule,
        ),
        FinalizerChoice::FedYogi(yogi) => adaptive(
            format!(
                "FedYogi steps by {} times a momentum of {}, divided by the root of a slowly changing average of squares (decay {})",
                yogi.server_learning_rate, yogi.beta1, yogi.beta2
            ),
            yogi.tau,
            &yogi.schedule,
        ),
    }
}

fn added(server_learning_rate: f64) -> String {
    match server_learning_rate {
        1.0 => "The aggregate is added".to_owned(),
        rate => format!("The aggregate is multiplied by {rate} and added"),
    }
}

fn fed_cm(fed_cm: &FedCm) -> Vec<String> {
    let mut said = vec![
        format!(
            "{} to the model, and each step of a client follows its own gradient with the weight {}, and otherwise the direction \
             of the last version (FedCM).",
            added(fed_cm.server_learning_rate),
            fed_cm.alpha
        ),
        "Choose it if the clients' data differ much and few of many clients take part in a round, so that none could keep a control \
         variate. It costs a second download of the model's size, and nothing on the client."
            .to_owned(),
    ];
    said.extend(schedule(&fed_cm.schedule));
    said
}

fn proximal(proximal: &Proximal) -> Vec<String> {
    let mut said = vec![
        format!(
            "{} to the model, whose weights then move toward 0 by {}, and to 0 if they are nearer (a proximal step of the l1 norm).",
            added(proximal.server_learning_rate),
            proximal.server_learning_rate * proximal.threshold
        ),
        "Choose it if few features matter and the version must be sparse, which the mean of sparse models is not. It costs accuracy if the \
         threshold is too large, and it shrinks all tensors alike, biases too."
            .to_owned(),
    ];
    said.extend(schedule(&proximal.schedule));
    said
}

fn l_bfgs(l_bfgs: &LBfgs) -> Vec<String> {
    vec![
        format!(
            "The aggregate is used as a gradient, and the model steps by {} times the direction of the last {} of weights and \
             gradients (L-BFGS). Each client must send one step over all of its examples.",
            l_bfgs.server_learning_rate,
            count(l_bfgs.history.into(), "change")
        ),
        format!(
            "Choose it for convex models, such as linear ones, that need many rounds. It costs storage of {} times the model with each \
             version, and it may diverge where the loss is not convex.",
            2 * (l_bfgs.history + 1)
        ),
    ]
}

fn scaffold(scaffold: &Scaffold) -> Vec<String> {
    let added = added(scaffold.server_learning_rate);
    let mut said = vec![
        format!(
            "{added} to the model, and clients correct each gradient by the difference of two control variates: that of all clients \
             and their own (SCAFFOLD)."
        ),
        format!(
            "Choose it if the data of {} differ much and each of them trains many times. It costs a second download of the \
             model's size, and as much storage on each client.",
            count(scaffold.clients, "client")
        ),
    ];
    said.extend(schedule(&scaffold.schedule));
    said
}

fn fed_dyn(fed_dyn: &FedDyn) -> Vec<String> {
    vec![
        format!(
            "The aggregate and the sum of all former ones are added to the model, and clients train with a regularizer of {} that \
             changes from round to round (FedDyn).",
            fed_dyn.alpha
        ),
        format!(
            "Choose it if the data of {} differ much and each of them trains many times. It costs storage of the model's size on \
             each client, but no traffic.",
            count(fed_dyn.clients, "client")
        ),
    ]
}

fn fed_dc(fed_dc: &FedDc) -> Vec<String> {
    vec![
        format!(
            "The aggregate and the mean of all clients' drifts are added to the model. Clients train with a penalty of {} for a model \
             that differs from the version and their drift, and with the control variates of SCAFFOLD (FedDC).",
            fed_dc.alpha
        ),
        format!(
            "Choose it if the data of {} differ so much that scaffold and fed_dyn alone are not enough. It costs a second download of \
             twice the model's size, and as much storage on each client.",
            count(fed_dc.clients, "client")
        ),
    ]
}

fn adaptive(step: String, tau: f64, rates: &CommitSchedule) -> Vec<String> {
    let mut said = vec![format!("{step}, separately for each parameter; tau = {tau} limits the steps.")];
    said.extend(schedule(rates));
    said
}

fn schedule(schedule: &CommitSchedule) -> Vec<String> {
    let mut said = Vec::new();
    if schedule.warmup_commits > 0 {
        said.push(format!(
            "The server learning rate rises over the first {}.",
            count(schedule.warmup_commits.into(), "version")
        ));
    }
    let change = plan::schedule(&schedule.learning_rate_schedule);
    said.extend(change.map(|change| format!("The server learning rate {change}; each version is one step.")));
    said
}
