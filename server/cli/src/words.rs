//! Value parsers for options with a fixed set of values. They serve types from crates that do not depend on clap.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// Returns a parser for these values. Each has a name, a help text and a value.
pub fn words<T, const N: usize>(
    known: [(&'static str, &'static str, T); N],
) -> impl TypedValueParser<Value = T>
where
    T: Clone + Send + Sync + 'static,
{
    let shown = known.iter().map(|(word, help, _)| PossibleValue::new(*word).help(*help));
    PossibleValuesParser::new(shown.collect::<Vec<_>>()).map(move |text| {
        let (.., value) = known.iter().find(|(word, ..)| *word == text).expect("clap has compared the words");
        value.clone()
    })
}
