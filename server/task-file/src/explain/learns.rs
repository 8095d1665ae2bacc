//! What the coordinator learns of a client, and what not.

use folkmoot_coordinator::task::TaskDescription;
use folkmoot_protocol::Protection;

/// Explains what leaves the device.
pub(super) fn learns(description: &TaskDescription) -> Vec<String> {
    let mut said = vec![
        "It learns who checks in and when, how many examples a client holds, the version of its SDK and the attributes \
         that the app states."
            .to_owned(),
    ];
    let is_local = description.privacy.local().is_some();
    said.push(match description.protection {
        Protection::Plain if is_local => {
            "It sees each update with the noise that the client has added, and nothing that was measured: neither losses nor \
             how many examples were used."
                .into()
        }
        Protection::Plain if description.plan.example_privacy.is_some() => {
            "It sees each update as it is, with the examples that the client holds; single examples are hidden in it, and \
             nothing that was measured is told."
                .into()
        }
        Protection::Plain => {
            "It sees each update as it is, with the examples used, the sum of their losses and how many were predicted \
             right; a delta can say much about the examples it was made from."
                .into()
        }
    });
    if description.evaluation.as_ref().is_some_and(|evaluation| evaluation.federated.is_some()) {
        said.push("From an evaluation it sees each client's sums.".into());
    }
    if !description.eligibility.device_rules.is_empty() {
        said.push(
            "It is not told the private attributes; that a client takes part or is silent says that the rules hold, or \
             that something else is amiss."
                .into(),
        );
    }
    said.push("It never sees the examples.".into());
    if description.privacy.central().is_some() {
        said.push(
            "It sees each update before the noise: the noise protects from those who get the versions."
                .into(),
        );
    }
    said
}
