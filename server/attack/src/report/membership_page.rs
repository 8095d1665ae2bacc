use folkmoot_simulation::{
    report::{Body, Curves},
    spread::Spread,
};

use super::{or_dash, percent};
use crate::{CannotAttack, membership::Membership};

/// Renders the attack on membership: a table, and the curves.
pub(super) fn body(membership: &Membership) -> Result<Body, CannotAttack> {
    let mut body = Body::default();
    let headings = [
        "Area under the curve",
        "Area over targets",
        "Found at 1 % false alarms",
        "Found at 0.1 % false alarms",
        "Accuracy on members",
        "Accuracy on others",
    ];
    let (mut rows, mut lines) = (Vec::new(), Vec::new());
    for variant in &membership.variants {
        let attacks = [
            ("loss", &variant.loss_threshold, &variant.loss_threshold_spread),
            ("likelihood ratio", &variant.likelihood_ratio, &variant.likelihood_ratio_spread),
        ];
        for (name, roc, spread) in attacks {
            let name = format!("{name}, {}", variant.name);
            let cells = vec![
                format!("{:.3}", roc.auc),
                or_dash(spread.map(over_targets)),
                percent(roc.true_positives_at_1_percent),
                percent(roc.true_positives_at_0_1_percent),
                percent(variant.member_accuracy),
                percent(variant.other_accuracy),
            ];
            rows.push((name.clone(), cells));
            lines.push((name, roc.points.clone()));
        }
    }
    body.table("Attack", &headings, &rows);
    body.note(&format!(
        "Each of {} models was trained on a random half of {} examples, and attacked with the other {} as shadow models. The \
         curves are those of all targets together. An area of 0.5 is chance.",
        membership.shadows + 1,
        membership.examples,
        membership.shadows
    ));
    if membership.variants.iter().any(|variant| variant.is_private) {
        body.note(
            "The noise of the task's privacy is never drawn from a seed, so its numbers differ a little from run to run.",
        );
    } else {
        body.note("The task has no differential privacy, so there is no second line for it.");
    }
    lines.push(("chance".to_owned(), vec![(0.0, 0.0), (1.0, 1.0)]));
    body.curves(&[Curves {
        title: "Members found over false alarms",
        x: "false positive rate",
        y: "true positive rate",
        end: 1.0,
        lines,
        note: None,
    }])?;
    Ok(body)
}

fn over_targets(spread: Spread) -> String {
    format!("{:.3} (standard deviation {:.3})", spread.mean, spread.deviation)
}
