use std::{fmt, str::FromStr};

use folkmoot_engine::{Examples, Labels};

/// A property of an example.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Property {
    /// The example is of this class.
    Class(u32),
    /// This feature has this value, up to the rounding of float32.
    FeatureIs(usize, f32),
    /// This feature is larger than this value.
    FeatureAbove(usize, f32),
}

impl Property {
    /// Returns the class with the most examples; `None` if labels are not classes.
    pub(super) fn most_frequent(examples: &Examples) -> Option<Self> {
        let Labels::Classes(classes) = examples.labels() else { return None };
        let mut counts = std::collections::BTreeMap::new();
        classes.iter().for_each(|class| *counts.entry(*class).or_insert(0_usize) += 1);
        // Among equal counts, the smallest class wins.
        let most = counts.iter().max_by_key(|(class, count)| (**count, std::cmp::Reverse(**class)));
        most.map(|(class, _)| Property::Class(*class))
    }

    /// Returns whether the property fits the examples: whether the labels are classes, or the feature exists.
    pub(super) fn fits(self, examples: &Examples) -> bool {
        match self {
            Property::Class(_) => matches!(examples.labels(), Labels::Classes(_)),
            Property::FeatureIs(feature, _) | Property::FeatureAbove(feature, _) => {
                feature < examples.feature_shape().iter().product()
            }
        }
    }

    /// Returns whether an example has the property.
    pub(super) fn is_of(self, examples: &Examples, example: usize) -> bool {
        let width: usize = examples.feature_shape().iter().product();
        let value = |feature: usize| examples.features()[example * width + feature];
        match (self, examples.labels()) {
            (Property::Class(class), Labels::Classes(classes)) => classes[example] == class,
            (Property::Class(_), _) => false,
            (Property::FeatureIs(feature, wanted), _) => {
                (value(feature) - wanted).abs() <= f32::EPSILON * wanted.abs().max(1.0)
            }
            (Property::FeatureAbove(feature, least), _) => value(feature) > least,
        }
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Property::Class(class) => write!(f, "class {class}"),
            Property::FeatureIs(feature, value) => write!(f, "feature {feature} = {value}"),
            Property::FeatureAbove(feature, value) => write!(f, "feature {feature} > {value}"),
        }
    }
}

impl FromStr for Property {
    type Err = String;

    /// Parses `class:3`, `feature:5=1` or `above:5=0.5`. Features are counted from 0, after a table is encoded.
    fn from_str(text: &str) -> Result<Self, String> {
        let failed = || {
            format!(
                "{text:?} is not a property: it must be class:NUMBER, feature:INDEX=VALUE or above:INDEX=VALUE"
            )
        };
        let (kind, rest) = text.split_once(':').ok_or_else(failed)?;
        let feature = || -> Option<(usize, f32)> {
            let (feature, value) = rest.split_once('=')?;
            let value: f32 = value.trim().parse().ok()?;
            Some((feature.trim().parse().ok()?, Some(value).filter(|value| value.is_finite())?))
        };
        let found = match kind {
            "class" => rest.trim().parse().ok().map(Property::Class),
            "feature" => feature().map(|(feature, value)| Property::FeatureIs(feature, value)),
            "above" => feature().map(|(feature, value)| Property::FeatureAbove(feature, value)),
            _ => None,
        };
        found.ok_or_else(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examples() -> Examples {
        let features = vec![0.0, 1.0, 0.5, 1.0, 0.9, 0.0];
        Examples::new(features, vec![2], Labels::Classes(vec![1, 0, 1])).expect("the sizes match")
    }

    #[test]
    fn a_property_is_read_as_it_is_written() {
        for (text, property) in [
            ("class:3", Property::Class(3)),
            ("feature:5=1", Property::FeatureIs(5, 1.0)),
            ("above:0 = -0.5", Property::FeatureAbove(0, -0.5)),
        ] {
            assert_eq!(text.parse(), Ok(property));
        }
        for text in
            ["", "class", "class:x", "feature:1", "feature:a=1", "feature:1=nan", "column:1=2", "above:1="]
        {
            assert!(text.parse::<Property>().is_err(), "{text}");
        }
        assert_eq!(Property::FeatureAbove(2, 0.5).to_string(), "feature 2 > 0.5");
    }

    #[test]
    fn an_example_has_it_by_its_class_or_its_feature() {
        let examples = examples();
        let of = |property: Property| [0, 1, 2].map(|example| property.is_of(&examples, example));
        assert_eq!(of(Property::Class(1)), [true, false, true]);
        assert_eq!(of(Property::FeatureIs(1, 1.0)), [true, true, false]);
        assert_eq!(of(Property::FeatureAbove(0, 0.5)), [false, false, true]);
        assert_eq!(Property::most_frequent(&examples), Some(Property::Class(1)));
        assert!(Property::FeatureIs(1, 0.0).fits(&examples) && !Property::FeatureIs(2, 0.0).fits(&examples));
    }
}
