//! The search for whole words in a line.

/// Returns whether `line` contains `words` with no letter, digit or underscore before and after them.
pub fn contains_words(line: &str, words: &str) -> bool {
    let is_letter =
        |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    line.match_indices(words).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + words.len()..].chars().next();
        !is_letter(before) && !is_letter(after)
    })
}
