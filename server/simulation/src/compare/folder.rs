/// Returns a name as the name of a folder on any system. Characters other than letters, digits, `_`, `-` and inner
/// dots are replaced.
pub fn folder_name(name: &str) -> String {
    let safe = |letter: char| if letter.is_alphanumeric() || "_-.".contains(letter) { letter } else { '-' };
    let safe: String = name.chars().map(safe).collect();
    let trimmed = safe.trim_matches('.');
    if trimmed.is_empty() { "task".to_owned() } else { trimmed.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_a_name_that_is_valid_everywhere() {
        assert_eq!(folder_name("fed_adam"), "fed_adam");
        assert_eq!(folder_name("krum:0.2"), "krum-0.2");
        assert_eq!(folder_name("../Digits / test"), "-Digits---test");
        assert_eq!(folder_name(".."), "task");
    }
}
