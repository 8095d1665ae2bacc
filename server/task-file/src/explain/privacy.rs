//! What versions may reveal of a client.

use folkmoot_coordinator::{
    privacy::{CentralPrivacy, Clipping, StreamShape, Terms},
    task::TaskDescription,
};
use folkmoot_privacy::ledger::Participation;

/// Explains the promise and the noise that keeps it.
pub(super) fn privacy(description: &TaskDescription) -> Vec<String> {
    let (privacy, terms) = (&description.privacy, Terms::of(description).ok().flatten());
    let Some(limits) = privacy.limits() else {
        return vec![
            "There is no differential privacy in this task: versions may reveal what updates taught.".into(),
        ];
    };
    let mut said = Vec::new();
    if let Some(central) = privacy.central() {
        said.push(clipping(central));
        said.extend(terms.map(|terms| noise(&terms)));
        said.extend(terms.map(|terms| participations(&terms)));
    }
    if let Some(local) = privacy.local() {
        said.push(format!("A client scales its update to an L2 norm of at most {}.", local.clipping_norm));
        said.extend(terms.map(|terms| {
            format!(
                "It adds Gaussian noise of {:.3} times that norm to every element before the update leaves the device, and \
                 tells neither losses nor counts.",
                terms.update_multiplier
            )
        }));
        said.extend(terms.map(|terms| participations(&terms)));
    }
    said.push(format!(
        "The task ends before a version would bring it above epsilon {} at delta {}. Clients' losses and counts are not \
         released.",
        limits.epsilon, limits.delta
    ));
    said
}

fn noise(terms: &Terms) -> String {
    let Some(stream) = terms.stream else {
        return format!(
            "The sum gets Gaussian noise of {:.3} times that norm and is divided by {}, the report goal, however many report.",
            terms.update_multiplier, terms.report_goal
        );
    };
    let shape = match stream.shape {
        StreamShape::Tree => "along a binary tree",
        StreamShape::Blt => "by a buffered Toeplitz matrix",
    };
    format!(
        "The sums of up to {} versions get noise that is correlated {shape}, of {:.3} times what one client can change of all \
         of them, and are divided by {}, the report goal, however many report.",
        stream.releases_max, terms.update_multiplier, terms.report_goal
    )
}

fn participations(terms: &Terms) -> String {
    match (terms.charge.participation, terms.stream) {
        (_, Some(stream)) => format!(
            "A client's updates are in at most {} versions, at least {} apart; all together are charged once.",
            stream.pattern.participations_within(stream.releases_max),
            stream.pattern.separation()
        ),
        (Participation::AtMost { count }, _) => format!(
            "A client's updates are in at most {count} versions; each is charged in full, whoever else takes part."
        ),
        (Participation::Whole { count }, _) => {
            format!(
                "A client is given at most {count} assignments; they are charged in full with the first version."
            )
        }
        (Participation::Poisson { rate }, _) => format!(
            "Every version is charged as a sample in which each client of the population is with probability {rate}. \
             Nobody is told how many clients a round drew or how many of them reported."
        ),
    }
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
