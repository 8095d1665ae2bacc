//! Parses partitions such as `dirichlet:0.5`.

use folkmoot_simulation::partition::Partition;
use serde_json::{Value, json};

/// Parses a partition.
///
/// # Errors
/// If the kind is unknown or its number is invalid.
pub fn parse(text: &str) -> Result<Partition, String> {
    let (kind, value) = text.split_once(':').map_or((text, None), |(kind, value)| (kind, Some(value)));
    let number = |default: f64| -> Result<f64, String> {
        value.map_or(Ok(default), |value| value.parse().map_err(|_| format!("{value:?} is not a number")))
    };
    let described: Value = match kind {
        "iid" | "natural" if value.is_none() => json!({ "kind": kind }),
        "shards" => json!({ "kind": kind, "shards_per_client": number(2.0)? as u64 }),
        "dirichlet" => json!({ "kind": kind, "alpha": number(0.5)? }),
        "quantity_skew" => {
            json!({ "kind": kind, "sizes": { "power_law": { "exponent": number(1.5)? } } })
        }
        "feature_skew" => json!({ "kind": kind, "level": number(0.1)? }),
        _ => {
            return Err("it must be iid, natural, shards:N, dirichlet:ALPHA, quantity_skew:EXPONENT or \
                        feature_skew:LEVEL"
                .to_owned());
        }
    };
    serde_json::from_value(described).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_word() {
        for text in
            ["iid", "natural", "shards:2", "dirichlet:0.5", "quantity_skew:1.2", "feature_skew:0.3", "shards"]
        {
            assert!(parse(text).is_ok(), "{text}: {:?}", parse(text));
        }
        for text in ["", "iid:3", "dirichlet:x", "shard:2"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
