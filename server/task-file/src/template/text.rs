//! The comments of a template.

use super::super::{shape::Key, toml_text};

/// The maximum number of characters in a line.
const WIDTH: usize = 100;

/// Wraps a text into lines with a prefix. Line breaks in the text are kept.
pub(in super::super) fn prose(prefix: &str, text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines().map(str::trim).filter(|paragraph| !paragraph.is_empty()) {
        let mut line = prefix.to_owned();
        for word in paragraph.split_whitespace() {
            let is_begun = line.len() > prefix.len();
            if is_begun && line.chars().count() + 1 + word.chars().count() > WIDTH {
                lines.push(std::mem::replace(&mut line, format!("{prefix}{word}")));
            } else {
                line.push_str(if is_begun { " " } else { "" });
                line.push_str(word);
            }
        }
        lines.push(line);
    }
    lines
}

/// Formats the facts about a key: whether it is required, its type, its limits and its default.
pub(in super::super) fn meta(key: &Key) -> Option<String> {
    let default = key.default.as_ref().map(|default| format!("default {}", toml_text::inline(default)));
    let parts = [
        key.is_required.then(|| "required".to_owned()),
        Some(key.form.expected()),
        key.limits.clone(),
        default.or_else(|| (!key.is_required).then(|| "absent by default".to_owned())),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let text = parts.join("; ");
    let first = text.chars().next()?;
    Some(format!("{}{}.", first.to_uppercase(), &text[first.len_utf8()..]))
}

/// Returns the first sentence of a text.
pub(in super::super) fn sentence(text: &str) -> &str {
    let ends = text.match_indices(". ").map(|(at, _)| at).chain(text.find("\n\n"));
    // The full stop in `et al. 2017` does not end a sentence.
    let is_end = |at: &usize| {
        let rest = &text[*at..];
        rest.starts_with('\n') || rest[2..].chars().next().is_some_and(char::is_uppercase)
    };
    let end = ends.filter(is_end).min();
    end.map_or(text, |end| &text[..end]).trim().trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_broken_between_words() {
        let lines = prose("# ", &"word ".repeat(50));
        assert!(
            lines.len() == 3 && lines.iter().all(|line| line.len() <= WIDTH && line.starts_with("# word"))
        );
    }

    #[test]
    fn a_sentence_ends_before_the_next_one() {
        assert_eq!(
            sentence("The mean (McMahan et al. 2017). It is exact."),
            "The mean (McMahan et al. 2017)"
        );
        assert_eq!(sentence("1."), "1");
    }
}
