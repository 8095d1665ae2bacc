//! What versions may reveal of a client.

use folkmoot_coordinator::{
    privacy::{CentralPrivacy, Clipping, Terms},
    task::TaskDescription,
};
use folkmoot_privacy::ledger::Participation;

/// Explains the promise and the noise that keeps it.
pub(super) fn privacy(description: &TaskDescription) -> Vec<String> {
    let Some(central) = description.privacy.central() else {
        return vec![
            "There is no differential privacy in this task: versions may reveal what updates taught.".into(),
        ];
    };
    let mut said = vec![clipping(central)];
    if let Ok(terms) = Terms::of(central, description) {
        said.push(format!(
            "The sum gets Gaussian noise of {:.3} times that norm and is divided by {}, the report goal, however many report.",
            terms.update_multiplier, terms.report_goal
        ));
        said.push(match terms.charge.participation {
            Participation::AtMost { count } => format!(
                "A client's updates are in at most {count} versions; each is charged in full, whoever else takes part."
            ),
            Participation::Poisson { rate } => format!(
                "Every version is charged as a sample in which each client of the population is with probability {rate}: \
                 that holds only if all of them wait whenever a round is drawn."
            ),
        });
    }
    said.push(format!(
        "The task ends before a version would bring it above epsilon {} at delta {}. Clients' losses and counts are not \
         released.",
        central.epsilon, central.delta
    ));
    said
}

fn clipping(central: &CentralPrivacy) -> String {
    match central.clipping {
        Clipping::Fixed { norm } => format!("A client scales its update to an L2 norm of at most {norm}."),
        Clipping::Adaptive { initial_norm, quantile, .. } => format!(
            "A client scales its update to an L2 norm that begins at {initial_norm} and follows the norm below which a share \
             of {quantile} of the updates lie."
        ),
    }
}
