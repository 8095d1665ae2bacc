//! Explains what the coordinator learns about a client.

use folkmoot_coordinator::task::{CommitteeProtection, Protection, SecureAggregation, TaskDescription};
use folkmoot_protocol::secure::Threat;

/// Returns sentences about the data that leaves the device.
pub(super) fn learns(description: &TaskDescription) -> Vec<String> {
    let mut said = vec![
        "The coordinator learns which clients check in and when, how many examples each holds, its SDK version and the \
         attributes that the app reports."
            .to_owned(),
    ];
    let is_local = description.privacy.local().is_some();
    said.push(match &description.protection {
        Protection::SecureAggregation(SecureAggregation { threat, corrupt_share, .. }) => {
            let behaviour = match threat {
                Threat::HonestButCurious => "follows the protocol",
                Threat::Malicious => "may send different messages to different clients",
            };
            format!(
                "It sees no single update, weight or loss, only their sum over a round. This holds if the coordinator {behaviour} \
                 and at most {} % of a round's clients collude with it.",
                corrupt_share * 100.0
            )
        }
        Protection::Committee(CommitteeProtection { members, colluders, threat, .. }) => {
            let behaviour = match threat {
                Threat::HonestButCurious => "follows the protocol",
                Threat::Malicious => "may tell different members of the committee about different clients",
            };
            format!(
                "It sees no single update, weight or loss, only their sum over a round. This holds if the coordinator {behaviour} \
                 and at most {colluders} of the committee's {} members collude with it.",
                members.len()
            )
        }
        Protection::Plain if is_local => {
            "It sees each update only with the noise that the client has added. Clients report no losses and no example \
             counts."
                .into()
        }
        Protection::Plain if description.plan.example_privacy.is_some() => {
            "It sees each update in the clear, with the number of examples that the client holds. Single examples are \
             hidden, and clients report no metrics."
                .into()
        }
        Protection::Plain => {
            "It sees each update in the clear, with the number of examples used, the sum of their losses and the number \
             classified correctly. A delta can reveal much about these examples."
                .into()
        }
    });
    if description.evaluation.as_ref().is_some_and(|evaluation| evaluation.federated.is_some()) {
        said.push(
            "In an evaluation, it sees each client's metrics, summed over the client's examples.".into(),
        );
    }
    if !description.eligibility.device_rules.is_empty() {
        said.push(
            "It does not learn the private attributes. But it learns that a client that takes part satisfies the device \
             rules. A client that stays away may fail the rules, or have another reason."
                .into(),
        );
    }
    said.push("It never sees the examples.".into());
    if description.privacy.central().is_some() {
        said.push(
            "It sees each update before the noise: the noise protects only against recipients of the versions."
                .into(),
        );
    }
    said
}
