//! Parses partitions such as `dirichlet:0.5`.

use std::str::FromStr;

use super::{Dirichlet, FeatureSkew, Iid, Natural, Partition, QuantitySkew, Shards, SizeLaw};

impl Partition {
    /// Returns the partition of a kind and its number, such as `dirichlet:0.5`. Without a number, it has a default.
    ///
    /// # Errors
    /// If the kind is unknown or its number is invalid.
    pub fn named(text: &str) -> Result<Self, String> {
        let (kind, value) = text.split_once(':').map_or((text, None), |(kind, value)| (kind, Some(value)));
        let number = |default: f64| parsed(value, default);
        Ok(match kind {
            "iid" if value.is_none() => Partition::Iid(Iid {}),
            "natural" if value.is_none() => Partition::Natural(Natural {}),
            "shards" => {
                Partition::Shards(Shards { shards_per_client: parsed(value, 2)?, ..Shards::default() })
            }
            "dirichlet" => Partition::Dirichlet(Dirichlet { alpha: number(0.5)? }),
            "quantity_skew" => {
                Partition::QuantitySkew(QuantitySkew { sizes: SizeLaw::PowerLaw { exponent: number(1.5)? } })
            }
            "feature_skew" => Partition::FeatureSkew(FeatureSkew { level: number(0.1)? }),
            _ => {
                return Err("it must be iid, natural, shards:N, dirichlet:ALPHA, quantity_skew:EXPONENT or \
                            feature_skew:LEVEL"
                    .to_owned());
            }
        })
    }
}

/// Parses the number after the colon.
fn parsed<T: FromStr>(value: Option<&str>, default: T) -> Result<T, String> {
    value.map_or(Ok(default), |value| value.parse().map_err(|_| format!("{value:?} is not a number")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_word() {
        for text in
            ["iid", "natural", "shards:2", "dirichlet:0.5", "quantity_skew:1.2", "feature_skew:0.3", "shards"]
        {
            assert!(Partition::named(text).is_ok(), "{text}: {:?}", Partition::named(text));
        }
        for text in ["", "iid:3", "dirichlet:x", "shard:2"] {
            assert!(Partition::named(text).is_err(), "{text}");
        }
    }
}
