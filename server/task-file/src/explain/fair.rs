//! Explains the rules that weight updates by the losses of their clients.

use folkmoot_aggregation::{Afl, QFedAvg, Term};
use folkmoot_coordinator::task::TaskDescription;

/// Returns a sentence about the weights of `q_fed_avg`.
pub(super) fn q_fed_avg(description: &TaskDescription, rule: &QFedAvg) -> String {
    let learning_rate = description.local_training(std::iter::empty()).learning_rate;
    let lipschitz = rule.lipschitz_with(learning_rate).map(|lipschitz| format!(", L = {lipschitz:.4}"));
    format!(
        "These weights are multiplied by the clients' mean training losses to the power {}, and the step becomes shorter where \
         the losses are steep (q-FedAvg{}). Choose it if the model should serve all clients about equally well, even if it serves \
         them less well on average.",
        rule.q,
        lipschitz.unwrap_or_default()
    )
}

/// Returns a sentence about the weights of `term`.
pub(super) fn term(rule: &Term) -> String {
    format!(
        "These weights are multiplied by e to the power of {} times the clients' mean training losses (TERM). Choose a tilt above 0 \
         if the model should serve its worst clients better, and one below 0 if some clients have wrong labels.",
        rule.tilt
    )
}

/// Returns sentences about the weights of `afl`.
pub(super) fn afl(rule: &Afl) -> Vec<String> {
    vec![
        format!(
            "The aggregate is a mean of the deltas with a weight of each client, which begins with 1 / {} and changes after each version by {} times the \
             client's mean training loss, relative to the others (AFL). Choose it if a few known clients take part in nearly every round, and the \
             model should serve the worst of them.",
            rule.clients, rule.learning_rate
        ),
        "It costs no pass and no bytes, but the coordinator keeps 24 bytes for each client with the version, by the client's id, and the model may \
         learn more slowly on average."
            .into(),
    ]
}
