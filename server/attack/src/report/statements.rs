//! The meaning of results, and the settings to switch on.

use folkmoot_coordinator::{privacy::PrivacyChoice, task::TaskDescription};

use folkmoot_simulation::report::Measure;

use super::{Report, Statement, percent};
use crate::{
    inversion::{Inversion, ViewKind, ViewSummary},
    membership::Membership,
    poisoning::{Poisoning, PoisoningOutcome},
    property::PropertyInference,
};

/// A reconstruction with at most this share of a random guess's error gives an example away.
const GIVEN_AWAY: f64 = 0.1;
/// A reconstruction with at most this share of a random guess's error resembles the example.
const RESEMBLING: f64 = 0.5;
/// The area above which membership is guessed noticeably better than by chance.
const ABOVE_CHANCE: f64 = 0.55;
/// A metric that is a share, such as the accuracy, is harmed if it falls by more than this.
const HARM: f64 = 0.02;
/// A backdoor or wrong labels succeed if they raise the attack's success rate by more than this.
const SUCCESS: f64 = 0.2;

/// Returns a statement for each attack that was made.
pub fn statements(task: &TaskDescription, report: &Report) -> Vec<Statement> {
    let inversion = report.inversion.as_ref().map(|inversion| of_inversion(task, inversion));
    let membership = report.membership.as_ref().map(|membership| of_membership(task, membership));
    let property = report.property.as_ref().map(|property| of_property(task, property));
    let poisoning = report.poisoning.as_ref().map(|poisoning| of_poisoning(task, poisoning));
    [inversion, membership, property, poisoning].into_iter().flatten().collect()
}

fn of_inversion(task: &TaskDescription, inversion: &Inversion) -> Statement {
    let summary = |kind: ViewKind| inversion.summaries.iter().find(|summary| summary.view == kind);
    let error = |kind: ViewKind| summary(kind).and_then(ViewSummary::best_error);
    let labels = summary(ViewKind::Plain).and_then(|summary| summary.labels_right);
    let labels =
        labels.map(|share| format!(", and the label is right for {} of the victims", percent(share)));
    let labels = labels.unwrap_or_default();
    let meaning = match error(ViewKind::Plain) {
        Some(error) if error <= GIVEN_AWAY => format!(
            "Whoever sees a plain update sees the example that it was computed from: the reconstruction has {} of the error of \
             a random guess{labels}.",
            percent(error)
        ),
        Some(error) if error <= RESEMBLING => format!(
            "Whoever sees a plain update learns much about the example that it was computed from: the reconstruction has {} of \
             the error of a random guess{labels}.",
            percent(error)
        ),
        Some(error) => format!(
            "The attacks tried here reconstruct little from a plain update ({} of the error of a random guess{labels}), but \
             better attacks may.",
            percent(error)
        ),
        None => format!("Features were not reconstructed{labels}."),
    };
    let shown = |kind| {
        error(kind).map(|error| format!(" ({} of the error here)", percent(error))).unwrap_or_default()
    };
    let remedy = match (task.protection.is_masked(), &task.privacy) {
        (true, PrivacyChoice::Distributed(_) | PrivacyChoice::Local(_)) => format!(
            "This task masks updates, so that the coordinator sees only sums{}, and clients add noise: keep both.",
            shown(ViewKind::Sum)
        ),
        (true, _) => format!(
            "This task masks updates, so that the coordinator sees only sums{}; add noise with privacy.kind = \"distributed\", \
             because a sum alone promises nothing.",
            shown(ViewKind::Sum)
        ),
        (false, PrivacyChoice::Local(_)) => format!(
            "In this task clients add noise before they send an update{}: keep it, and choose a smaller epsilon if that is too \
             much.",
            shown(ViewKind::Noise)
        ),
        (false, _) if task.plan.example_privacy.is_some() => format!(
            "In this task clients add noise to the gradients of their examples{}: keep it, and switch on \
             protection.secure_aggregation too if one update must not stand alone.",
            shown(ViewKind::Noise)
        ),
        (false, PrivacyChoice::Central(_)) => format!(
            "The central privacy of this task protects what is released, not what the coordinator receives; switch on \
             protection.secure_aggregation{} or another privacy.kind{}.",
            shown(ViewKind::Sum),
            shown(ViewKind::Noise)
        ),
        _ => format!(
            "Clients of this task must trust the coordinator with their examples; switch on protection.secure_aggregation{} \
             and privacy.kind = \"distributed\", or \"local\"{}.",
            shown(ViewKind::Sum),
            shown(ViewKind::Noise)
        ),
    };
    Statement { attack: "inversion", meaning, remedy }
}

fn of_membership(task: &TaskDescription, membership: &Membership) -> Statement {
    let variant =
        |is_private: bool| membership.variants.iter().find(|variant| variant.is_private == is_private);
    let auc = |is_private: bool| {
        variant(is_private).map(|variant| variant.loss_threshold.auc.max(variant.likelihood_ratio.auc))
    };
    let (open, private) = (auc(false).unwrap_or(0.5), auc(true));
    let found = private.unwrap_or(open);
    let low = variant(private.is_some()).map_or(0.0, |variant| {
        let (one, other) = (&variant.loss_threshold, &variant.likelihood_ratio);
        one.true_positives_at_1_percent.max(other.true_positives_at_1_percent)
    });
    let as_is = if private.is_some() { "with the task's privacy" } else { "of this task" };
    let meaning = format!(
        "Shown one member and one other example, the better attack picks the member from a model {as_is} in {} of the pairs; 50 % \
         is chance. At 1 % false alarms, it finds {} of the members.",
        percent(found),
        percent(low)
    );
    let remedy = match private {
        Some(_) => format!(
            "Without the task's privacy it would be {}; lower epsilon if the difference to chance is too large for your data.",
            percent(open)
        ),
        None if open > ABOVE_CHANCE => {
            "Switch on privacy.kind = \"central\", or plan.example_privacy if clients are \
                                        organisations, and train for fewer rounds or on more examples."
                .to_owned()
        }
        None => format!(
            "That is close to chance, but it is no guarantee. For a guarantee, set privacy.kind = \"{}\". Repeat this test whenever \
             you train for longer.",
            if task.protection.is_masked() { "distributed" } else { "central" }
        ),
    };
    Statement { attack: "membership", meaning, remedy }
}

/// The share of an attack's goals that versions fulfil.
struct Success {
    with: f64,
    without: f64,
}

impl Success {
    fn gain(&self) -> f64 {
        self.with - self.without
    }
}

fn of_property(task: &TaskDescription, found: &PropertyInference) -> Statement {
    let view = |kind: ViewKind| found.views.iter().find(|view| view.view.kind == kind);
    let share = |kind| view(kind).map_or(0.5, |view| view.roc.auc);
    let is_seen = view(ViewKind::Plain).is_some_and(|view| view.auc_low > 0.5);
    let PropertyInference { property, with_property, examples, .. } = found;
    let meaning = match is_seen {
        true => format!(
            "Anyone who sees single updates can distinguish a client with {with_property} of {examples} examples with the property {property} from a client without \
             any in {} of the pairs; 50 % is chance.",
            percent(share(ViewKind::Plain))
        ),
        false => format!(
            "The attack tried here does not distinguish a client with {with_property} of {examples} examples with the property {property} from a client without \
             any ({} of the pairs; 50 % is chance), but better attacks may.",
            percent(share(ViewKind::Plain))
        ),
    };
    let (noise, sum) = (percent(share(ViewKind::Noise)), percent(share(ViewKind::Sum)));
    let remedy = match (task.protection.is_masked(), &task.privacy) {
        (true, PrivacyChoice::Distributed(_) | PrivacyChoice::Local(_)) => format!(
            "This task masks updates, so that the coordinator sees only sums, which leave {sum} of the pairs here, and clients add noise: \
             keep both."
        ),
        (true, _) => format!(
            "This task masks updates, so that the coordinator sees only sums, which leave {sum} of the pairs here; add noise with \
             privacy.kind = \"distributed\" if that is too much."
        ),
        (false, PrivacyChoice::Local(_)) => format!(
            "In this task clients add noise before they send an update, which leaves {noise} of the pairs here: keep it, and choose a \
             smaller epsilon if that is too much."
        ),
        (false, _) if task.plan.example_privacy.is_some() => format!(
            "In this task clients add noise to the gradients of their examples, which leaves {noise} of the pairs here: it protects single \
             examples, not what all of a client's examples have in common. A sum of updates (protection.secure_aggregation) leaves {sum}."
        ),
        (false, PrivacyChoice::Central(_)) => format!(
            "The central privacy of this task does not hide updates from the coordinator; protection.secure_aggregation, under which a sum \
             leaves {sum} of the pairs here, does."
        ),
        (false, _) => format!(
            "Noise on the device (privacy.kind = \"local\") leaves {noise} of the pairs here, and a sum of updates \
             (protection.secure_aggregation) leaves {sum}; switch on what brings them closer to 50 %."
        ),
    };
    Statement { attack: "property", meaning, remedy }
}

fn of_poisoning(task: &TaskDescription, poisoning: &Poisoning) -> Statement {
    let is_larger_better = poisoning.comparison.metric.is_larger_better;
    let loss = |outcome: &PoisoningOutcome| {
        let difference = outcome.summary.difference.as_ref().and_then(|difference| difference.mean)?;
        Some(if is_larger_better { -difference } else { difference })
    };
    let unmeasured = poisoning.attacks.iter().find(|outcome| outcome.summary.final_metric.mean.is_none());
    let worst = poisoning.attacks.iter().filter_map(|outcome| Some((outcome, loss(outcome)?)));
    let worst = worst.max_by(|one, other| one.1.total_cmp(&other.1));
    let mean = |measure: &Option<Measure>| measure.as_ref()?.mean;
    let success = |outcome: &PoisoningOutcome| {
        Some(Success { with: mean(&outcome.success)?, without: mean(&outcome.success_without)? })
    };
    let best = poisoning.attacks.iter().filter_map(|outcome| Some((outcome, success(outcome)?)));
    let best = best.max_by(|one, other| one.1.gain().total_cmp(&other.1.gain()));
    // `attacks` and the rows of the comparison both begin with the baseline, so their places correspond.
    let shown = |outcome: &PoisoningOutcome| {
        let place = poisoning.attacks.iter().position(|other| std::ptr::eq(other, outcome));
        let shown = place.and_then(|place| poisoning.comparison.shown().into_iter().nth(place));
        let difference = outcome.summary.difference.as_ref();
        let half_width = difference.and_then(|difference| difference.half_width).unwrap_or_default();
        let mean = difference.and_then(|difference| difference.mean).unwrap_or_default();
        let chance = if mean.abs() <= half_width { ", which may be chance" } else { "" };
        shown.map(|shown| shown.difference + chance).unwrap_or_default()
    };
    let harm = match (&unmeasured, &worst) {
        (Some(outcome), _) => format!(
            "with {} not every run released a version that could be measured",
            outcome.summary.variant
        ),
        (None, Some((outcome, _))) => format!(
            "{} costs most: the difference in held-out {} is {}",
            outcome.summary.variant,
            poisoning.metric,
            shown(outcome)
        ),
        (None, None) => "no attack was compared".to_owned(),
    };
    let reached = best.as_ref().map_or(String::new(), |(outcome, success)| {
        format!(
            ", and {} makes the model obey in {} of the cases ({} without the attack)",
            outcome.summary.variant,
            percent(success.with),
            percent(success.without)
        )
    });
    let meaning = format!("If {} of the clients are hostile, {harm}{reached}.", percent(poisoning.share));
    let is_harmed = unmeasured.is_some()
        || worst.is_some_and(|(_, loss)| loss > HARM)
        || best.is_some_and(|(_, success)| success.gain() > SUCCESS);
    let is_mean = task.aggregator.is_streaming();
    let remedy = match (is_harmed, is_mean) {
        (true, true) => {
            "The task's aggregator is a mean, which enough hostile clients can move; try aggregator.kind = \"median\", \
                         \"trimmed_mean\" or \"multi_krum\", and limit clients with token_share_max."
        }
        (true, false) => {
            "The task's robust aggregator does not withstand this share; raise the share that it tolerates, or \
                          choose another aggregator.kind and compare them with `folkmoot simulate --compare`."
        }
        (false, _) => {
            "The task withstands these attacks at this share; repeat the test with a larger --hostile-share, and limit \
                       the share of one token's clients with token_share_max."
        }
    };
    Statement { attack: "poisoning", meaning, remedy: remedy.to_owned() }
}
