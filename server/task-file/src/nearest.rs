//! Suggestions for misspelt words.

/// The minimum Jaro-Winkler similarity (0 to 1) at which a known word is suggested.
const LIKENESS_MIN: f64 = 0.75;
/// The minimum similarity at which checking continues as if the file contained the suggested word.
const LIKENESS_SURE: f64 = 0.85;

/// A known word that resembles an unknown one.
pub(super) struct Nearest<'a> {
    /// The known word.
    pub word: &'a str,
    /// True if the similarity is at least [`LIKENESS_SURE`].
    pub is_sure: bool,
}

/// Finds the known word that is most similar to `word`, if any is similar enough.
pub(super) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<Nearest<'a>> {
    let rated = known.map(|known| (likeness(word, known), known));
    // Ties are broken by name, so the result does not depend on the order.
    let best = rated.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(a.1)))?;
    let (likeness, word) = best;
    (likeness >= LIKENESS_MIN).then_some(Nearest { word, is_sure: likeness >= LIKENESS_SURE })
}

/// Returns the similarity of two words, 0 to 1. One inserted, missing, wrong or swapped letter is treated as a typing
/// error and gets at least 0.9, because Jaro-Winkler rates it too low in short words.
fn likeness(word: &str, known: &str) -> f64 {
    let is_slip = known.len() >= 3 && strsim::osa_distance(word, known) == 1;
    strsim::jaro_winkler(word, known).max(if is_slip { 0.9 } else { 0.0 })
}

/// Formats words as a list: `a`, `b`, `c`.
pub(super) fn listed<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_sure_and_another_word_is_nothing() {
        let known = ["report_goal", "minimum_cohort"];
        let found = nearest("report_gaol", known.into_iter()).unwrap();
        assert!(found.word == "report_goal" && found.is_sure);
        assert!(nearest("zzz", known.into_iter()).is_none());
        assert!(nearest("sdg", ["sgd", "adam"].into_iter()).unwrap().is_sure);
    }
}
