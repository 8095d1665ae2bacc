/// Returns the first characters of a component's words, on one line and without control characters.
pub(super) fn shortened(words: &str, characters: usize) -> String {
    words.chars().map(|one| if one.is_control() { ' ' } else { one }).take(characters).collect()
}
