//! The kinds of poisoning, with the settings of each.

use folkmoot_simulation::attack::Attack;
use serde_json::{Value, json};

/// The kinds that are tried by default, in this order. Kinds that need classes are left out if the labels are not
/// classes.
///
/// To add a kind, add its name. Its settings are the defaults of `[adversary.attack]` in a world. For settings without
/// a default, add a value to [`settings`].
const KINDS: [&str; 12] = [
    "sign_flip",
    "scale",
    "gaussian_noise",
    "free_rider",
    "alie",
    "fang",
    "inner_product",
    "min_max",
    "min_sum",
    "label_flip",
    "label_rotate",
    "backdoor",
];

/// The factor of `scale`.
const SCALE: f64 = 10.0;
/// The standard deviation of `gaussian_noise`.
const DEVIATION: f64 = 0.1;
/// The number of features of a backdoor's trigger: the last ones, such as the lower right corner of a picture.
const TRIGGER: usize = 4;

/// The data that settings depend on.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The number of features.
    pub width: usize,
    /// The largest value of any feature.
    pub high: f32,
    /// The classes that occur, in ascending order; empty if labels are not classes.
    pub classes: Vec<u32>,
}

/// Returns every kind that fits the data, with its settings.
pub fn all(fit: &Fit) -> Vec<(String, Attack)> {
    let fitting = KINDS.iter().filter_map(|kind| Some(((*kind).to_owned(), named(kind, fit).ok()?)));
    fitting.collect()
}

/// Returns the attack of a kind, also one that is not in the list, if all of its settings have defaults.
///
/// # Errors
/// The reason in words.
pub fn named(kind: &str, fit: &Fit) -> Result<Attack, String> {
    let mut attack = settings(kind, fit)?;
    attack["kind"] = kind.into();
    serde_json::from_value(attack).map_err(|error| error.to_string())
}

/// Returns the settings without a default, which an attack of this kind requires.
fn settings(kind: &str, fit: &Fit) -> Result<Value, String> {
    let no_classes =
        || "it changes labels, and the labels of this data are not two classes or more".to_owned();
    let classes = || match fit.classes.as_slice() {
        [first, second, ..] => Ok((*first, *second)),
        _ => Err(no_classes()),
    };
    Ok(match kind {
        "scale" => json!({ "factor": SCALE }),
        "gaussian_noise" => json!({ "standard_deviation": DEVIATION }),
        "label_flip" => {
            let (first, second) = classes()?;
            json!({ "from": second, "to": first })
        }
        "label_rotate" => {
            classes()?;
            json!({ "classes": fit.classes.last().copied().unwrap_or_default() + 1 })
        }
        "backdoor" => {
            let (first, _) = classes()?;
            let trigger: Vec<usize> = (fit.width.saturating_sub(TRIGGER)..fit.width).collect();
            json!({ "trigger_features": trigger, "trigger_value": fit.high, "target": first })
        }
        _ => json!({}),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit() -> Fit {
        Fit { width: 64, high: 16.0, classes: (0..10).collect() }
    }

    #[test]
    fn every_kind_of_the_simulation_has_settings() {
        let names: Vec<String> = all(&fit()).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, KINDS);
        // The message lists all kinds of the simulation.
        let error = named("none", &fit()).unwrap_err();
        assert!(KINDS.iter().all(|kind| error.contains(&format!("`{kind}`"))), "{error}");
        assert_eq!(error.matches('`').count(), 2 * (KINDS.len() + 1), "{error}");
        for (name, attack) in all(&fit()) {
            assert_eq!(serde_json::to_value(&attack).unwrap()["kind"], name);
        }
    }

    #[test]
    fn kinds_that_do_not_fit_say_why() {
        let targets = Fit { classes: vec![], ..fit() };
        assert!(named("backdoor", &targets).unwrap_err().contains("not two classes"));
        assert!(all(&targets).iter().all(|(_, attack)| !attack.is_on_data()));
        assert!(named("sing_flip", &fit()).unwrap_err().contains("sign_flip"));
    }
}
