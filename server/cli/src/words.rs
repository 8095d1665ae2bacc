//! Options that take one of a few words, for types of crates that know no command line.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// Returns a parser of these words: each with what help says of it, and the value that it stands for.
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
