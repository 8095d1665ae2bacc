use folkmoot_engine::{Evaluator, Examples, Labels, Model};
use folkmoot_protocol::Loss;
use folkmoot_simulation::attack::Attack;

use crate::CannotAttack;

/// Returns the examples on which a model's accuracy is the success of an attack on the data: examples whose label the
/// attack changes, with the wrong label, or examples with the trigger of a backdoor. `None` for an attack on updates,
/// or if there are no such examples.
///
/// # Errors
/// If the attack does not fit the examples.
pub fn goals(attack: &Attack, held_out: &Examples, seed: u64) -> Result<Option<Examples>, CannotAttack> {
    let failed = |error: folkmoot_simulation::attack::AttackError| CannotAttack::Simulate {
        label: "the success of an attack".to_owned(),
        source: error.into(),
    };
    let goals = match attack {
        Attack::Backdoor(backdoor) => backdoor.triggered(held_out).map_err(failed)?,
        attack if attack.is_on_data() => {
            let poisoned = attack.poison(held_out, seed).map_err(failed)?;
            let (Labels::Classes(before), Labels::Classes(after)) = (held_out.labels(), poisoned.labels())
            else {
                return Ok(None);
            };
            let changed: Vec<usize> =
                (0..before.len()).filter(|index| before[*index] != after[*index]).collect();
            poisoned.subset(&changed)?
        }
        _ => return Ok(None),
    };
    Ok(Some(goals).filter(|goals| !goals.is_empty()))
}

/// Returns the share of the goals that a model fulfils.
///
/// # Errors
/// If the examples do not fit the model.
pub fn success(model: &Model, loss: Loss, weights: &[f32], goals: &Examples) -> Result<f64, CannotAttack> {
    let metrics = Evaluator::new(model, loss).evaluate(weights, goals)?;
    Ok(metrics.correct_count as f64 / metrics.example_count.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_goals_are_the_examples_that_an_attack_changes() {
        let labels = Labels::Classes(vec![0, 1, 1, 2]);
        let examples = Examples::new(vec![0.0, 1.0, 2.0, 3.0], vec![1], labels).unwrap();
        let of = |attack: serde_json::Value| {
            let attack: Attack = serde_json::from_value(attack).unwrap();
            goals(&attack, &examples, 1)
                .unwrap()
                .map(|goals| (goals.features().to_vec(), goals.labels().clone()))
        };
        let flipped = of(json!({ "kind": "label_flip", "from": 1, "to": 0 })).unwrap();
        assert_eq!(flipped, (vec![1.0, 2.0], Labels::Classes(vec![0, 0])));
        let trigger =
            json!({ "kind": "backdoor", "trigger_features": [0], "trigger_value": 9.0, "target": 1 });
        assert_eq!(of(trigger).unwrap(), (vec![9.0, 9.0], Labels::Classes(vec![1, 1])));
        assert_eq!(of(json!({ "kind": "sign_flip" })), None);
        assert_eq!(of(json!({ "kind": "label_flip", "from": 7, "to": 0 })), None);
    }
}
