use std::collections::{BTreeMap, BTreeSet};

use folkmoot_coordinator::task::TaskDescription;
use folkmoot_protocol::saturating::to_float32;
use serde_json::Value;

/// Returns, for each description, the settings in which they differ, with defaults filled in: `finalizer.beta1` and its
/// value. The value is a dash if a description does not have the setting.
pub fn differing(descriptions: &[TaskDescription]) -> Vec<Vec<(String, String)>> {
    let flat: Vec<BTreeMap<String, String>> = descriptions.iter().map(flat).collect();
    let names: BTreeSet<&String> = flat.iter().flat_map(BTreeMap::keys).collect();
    let differs = |name: &&String| flat.windows(2).any(|pair| pair[0].get(*name) != pair[1].get(*name));
    let names: Vec<&String> = names.into_iter().filter(differs).collect();
    let value = |settings: &BTreeMap<String, String>, name: &String| {
        settings.get(name).map_or_else(|| "–".to_owned(), String::clone)
    };
    flat.iter()
        .map(|settings| names.iter().map(|name| ((*name).clone(), value(settings, name))).collect())
        .collect()
}

/// Returns the settings of a description by their paths.
fn flat(description: &TaskDescription) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    add(&serde_json::to_value(description).unwrap_or_default(), String::new(), &mut settings);
    settings
}

fn add(value: &Value, path: String, settings: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(entries) => {
            for (name, value) in entries {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                add(value, path, settings);
            }
        }
        Value::Null => {}
        Value::String(text) => {
            settings.insert(path, text.clone());
        }
        Value::Number(number) if number.is_f64() => {
            settings.insert(path, shortest(number.as_f64().unwrap_or_default()));
        }
        other => {
            settings.insert(path, other.to_string());
        }
    }
}

/// Formats a number as people write it: a number that was a float32 has the digits of a float32.
fn shortest(number: f64) -> String {
    let single = to_float32(number);
    if f64::from(single) == number { single.to_string() } else { number.to_string() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn task(finalizer: Value) -> TaskDescription {
        let sgd = json!({ "sgd": { "learning_rate": 0.1 } });
        let plan = json!({ "loss": "softmax_cross_entropy", "optimizer": sgd, "epochs": 1, "batch_size": 8 });
        serde_json::from_value(json!({
            "name": "digits",
            "population": "digits",
            "plan": plan,
            "scheduling": { "kind": "synchronous", "report_goal": 8 },
            "finalizer": finalizer,
            "stop": { "rounds": 3 },
        }))
        .unwrap()
    }

    #[test]
    fn only_settings_that_differ_are_listed() {
        let tasks = [json!({ "kind": "fed_avg" }), json!({ "kind": "fed_avg_m", "momentum": 0.8 })].map(task);
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let [plain, momentum] = differing(&tasks).try_into().unwrap();
        assert_eq!(plain[..2], [pair("finalizer.kind", "fed_avg"), pair("finalizer.momentum", "–")]);
        assert_eq!(momentum[..2], [pair("finalizer.kind", "fed_avg_m"), pair("finalizer.momentum", "0.8")]);
        assert!(momentum.iter().all(|(name, _)| name.starts_with("finalizer.")), "{momentum:?}");
        assert_eq!(differing(&tasks[..1]), [vec![]]);
        assert_eq!([0.8, f64::from(0.1f32), 1.0, 1e-9].map(shortest), ["0.8", "0.1", "1", "0.000000001"]);
    }
}
