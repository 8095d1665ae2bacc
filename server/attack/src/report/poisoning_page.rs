use folkmoot_simulation::report::{Body, Measure};

use super::{or_dash, percent};
use crate::{CannotAttack, poisoning::Poisoning};

/// Renders the poisoning: a table, and the curves of the metric.
pub(super) fn body(poisoning: &Poisoning) -> Result<Body, CannotAttack> {
    let mut body = Body::default();
    let metric = format!("Final held-out {}", poisoning.metric);
    let headings = [
        metric.as_str(),
        "Difference",
        "Success",
        "Success without the attack",
        "Abandoned rounds",
        "Paused",
    ];
    let share =
        |measure: &Option<Measure>| or_dash(measure.as_ref().and_then(|measure| measure.show(0.01, "%")));
    let shown = poisoning.comparison.shown();
    let rows = poisoning.attacks.iter().zip(shown).map(|(outcome, shown)| {
        let cells = vec![
            shown.final_metric,
            shown.difference,
            share(&outcome.success),
            share(&outcome.success_without),
            shown.abandoned,
            shown.paused,
        ];
        (shown.variant, cells)
    });
    body.table("Attack", &headings, &rows.collect::<Vec<_>>());
    body.note(&format!(
        "{} of the clients are hostile. Values are means over the seeds {} ± half of the 95 % t interval; differences are \
         paired. Success is the share of examples that the model takes for the attacker's class.",
        percent(poisoning.share),
        poisoning.seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
    ));
    for reason in &poisoning.left_out {
        body.note(&format!("Left out: {reason}."));
    }
    body.comparison(&poisoning.comparison)?;
    let settings = poisoning.attacks.iter().filter_map(|outcome| {
        let attack = outcome.attack.as_ref()?;
        Some((outcome.summary.variant.clone(), vec![serde_json::to_string(attack).unwrap_or_default()]))
    });
    body.table("Attack", &["Settings"], &settings.collect::<Vec<_>>());
    Ok(body)
}
