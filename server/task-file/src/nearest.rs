//! Which word was probably meant.

/// Words that are less alike than this are not suggested (Jaro-Winkler, 0 to 1).
const LIKENESS_MIN: f64 = 0.75;
/// From here on the reading goes on as if the word had been written.
const LIKENESS_SURE: f64 = 0.85;

/// A known word that is like one that is not known.
pub(super) struct Nearest<'a> {
    /// The word.
    pub word: &'a str,
    /// Whether it is surely meant.
    pub is_sure: bool,
}

/// Finds the known word that is most like another, if any is.
pub(super) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<Nearest<'a>> {
    let rated = known.map(|known| (likeness(word, known), known));
    // Of equals the first by name, so that the answer does not depend on the order.
    let best = rated.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(a.1)))?;
    let (likeness, word) = best;
    (likeness >= LIKENESS_MIN).then_some(Nearest { word, is_sure: likeness >= LIKENESS_SURE })
}

/// One letter too many, too few, wrong or in the wrong place is a slip; in a short word Jaro-Winkler makes much of it.
fn likeness(word: &str, known: &str) -> f64 {
    let is_slip = known.len() >= 3 && strsim::osa_distance(word, known) == 1;
    strsim::jaro_winkler(word, known).max(if is_slip { 0.9 } else { 0.0 })
}

/// Lists words: `a`, `b`, `c`.
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
