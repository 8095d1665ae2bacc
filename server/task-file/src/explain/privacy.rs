//! Explains the privacy guarantee: the limit on what versions may reveal about a client.

use folkmoot_coordinator::{
    privacy::{CentralPrivacy, Clipping, StreamShape, SumNoise, Terms},
    task::TaskDescription,
};
use folkmoot_privacy::{
    ledger::Participation,
    plan::{Verdict, noise_to_signal_over_rounds},
};

/// Returns sentences about the privacy guarantee, the clipping and the noise. With the number of trained parameters, they
/// include [`only_noise`].
pub(super) fn privacy(description: &TaskDescription, trained: Option<u64>) -> Vec<String> {
    let (privacy, terms) = (&description.privacy, Terms::of(description).ok().flatten());
    let Some(limits) = privacy.limits() else {
        return vec![
            "This task has no differential privacy: versions may reveal what they learned from single clients.".into(),
        ];
    };
    let mut said = Vec::new();
    if let Some(central) = privacy.central() {
        said.push(clipping(central));
        said.extend(terms.map(|terms| noise(&terms)));
        said.extend(terms.map(|terms| participations(&terms)));
        let known = terms.zip(trained);
        said.extend(known.and_then(|(terms, trained)| only_noise_under(&terms, description, trained)));
    }
    if let Some(local) = privacy.local() {
        said.push(format!("A client scales its update to an L2 norm of at most {}.", local.clipping_norm));
        said.extend(terms.map(|terms| {
            format!(
                "It adds Gaussian noise of {:.3} times that norm to every element before the update leaves the device. It \
                 reports no losses and no counts.",
                terms.update_multiplier
            )
        }));
        said.extend(terms.map(|terms| participations(&terms)));
    }
    if let Some(distributed) = privacy.distributed() {
        said.push(format!(
            "A client scales its update to an L2 norm of at most {}, rounds it at random to the grid, adds a share of Gaussian \
             noise and masks the result. It reports no losses and no counts.",
            distributed.clipping_norm
        ));
        said.extend(terms.map(|terms| {
            format!(
                "The noise in a sum of the smallest cohort is {:.3} times that norm, without the noise of clients that may \
                 collude. A larger sum has more.",
                terms.update_multiplier
            )
        }));
        said.extend(terms.map(|terms| participations(&terms)));
    }
    said.push(format!(
        "The task ends before a version would exceed epsilon {} at delta {}. Losses and counts of clients are not \
         released.",
        limits.epsilon, limits.delta
    ));
    said
}

/// Returns a warning if the noise on the sums hides everything that a model with this many trained parameters could learn.
/// Correlated noise and noise that clients add are not estimated.
pub(super) fn only_noise(description: &TaskDescription, trained: u64) -> Option<String> {
    let is_independent = matches!(description.privacy.central()?.noise, SumNoise::Independent);
    let terms = if is_independent { Terms::of(description).ok()?? } else { return None };
    only_noise_under(&terms, description, trained)
}

/// The same as [`only_noise`], for a central task whose terms are derived already.
fn only_noise_under(terms: &Terms, description: &TaskDescription, trained: u64) -> Option<String> {
    let rounds = description.stop.rounds.filter(|_| terms.stream.is_none())?;
    let ratio = noise_to_signal_over_rounds(terms.update_multiplier, trained, terms.report_goal, rounds);
    (Verdict::of(ratio) == Verdict::Hopeless).then(|| {
        format!(
            "The noise hides everything that clients teach: over {rounds} versions it is {ratio:.1} times as large as the \
             largest possible signal. Raise the report goal, or train fewer parameters; `folkmoot privacy plan` estimates \
             what helps."
        )
    })
}

fn noise(terms: &Terms) -> String {
    let Some(stream) = terms.stream else {
        return format!(
            "The sum gets Gaussian noise of {:.3} times that norm. The noised sum is always divided by {}, the report goal.",
            terms.update_multiplier, terms.report_goal
        );
    };
    let shape = match stream.shape {
        StreamShape::Tree => "along a binary tree",
        StreamShape::Blt => "by a buffered Toeplitz matrix",
    };
    format!(
        "The sums of up to {} versions get noise that is correlated {shape}. Its deviation is {:.3} times the \
         largest change that one client can make to all of these sums together. Each noised sum is always divided by {}, the report goal.",
        stream.releases_max, terms.update_multiplier, terms.report_goal
    )
}

fn participations(terms: &Terms) -> String {
    match (terms.charge.participation, terms.stream) {
        (_, Some(stream)) => format!(
            "A client's updates are in at most {} versions, at least {} apart. All versions together are charged once.",
            stream.pattern.participations_within(stream.releases_max),
            stream.pattern.separation()
        ),
        (Participation::AtMost { count }, _) => format!(
            "A client's updates are in at most {count} versions. Each version is charged in full, no matter which other clients take part."
        ),
        (Participation::Whole { count }, _) => {
            format!(
                "A client gets at most {count} assignments. All of them are charged in full with the first version."
            )
        }
        (Participation::Poisson { rate }, _) => format!(
            "Each version is charged as a random sample that includes each client of the population with probability {rate}. \
             The numbers of selected and reporting clients are not disclosed."
        ),
    }
}

fn clipping(central: &CentralPrivacy) -> String {
    match central.clipping {
        Clipping::Fixed { norm } => format!("A client scales its update to an L2 norm of at most {norm}."),
        Clipping::Adaptive { initial_norm, quantile, .. } => format!(
            "A client scales its update to an L2 norm that starts at {initial_norm} and then follows the {quantile} quantile of \
             the updates' norms."
        ),
    }
}
