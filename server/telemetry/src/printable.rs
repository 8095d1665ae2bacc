//! Escapes control characters in untrusted text for terminals and logs, so that it cannot move the cursor or start a
//! new line.

use std::borrow::Cow;

use folkmoot_protocol::is_control;

/// Returns multi-line text with all other control characters escaped: ESC becomes `\u{1b}`.
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |character| character != '\n' && character != '\t')
}

/// Returns text as a single line, with line breaks escaped, too.
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, |_| true)
}

/// Returns JSON with control characters escaped by JSON's rules. They occur only inside strings, so it stays valid
/// JSON.
pub fn json(text: &str) -> Cow<'_, str> {
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '\n' => shown.push(character),
            _ if is_control(character) => shown.push_str(&format!("\\u{:04x}", u32::from(character))),
            _ => shown.push(character),
        }
    }
    Cow::Owned(shown)
}

/// Returns a log line, which may be coloured and end with a line break. All other terminal control sequences are
/// escaped.
pub fn log_line(text: &str) -> Cow<'_, str> {
    let (body, end) = text.strip_suffix('\n').map_or((text, ""), |body| (body, "\n"));
    if !body.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = body;
    while let Some(at) = rest.find(is_control) {
        shown.push_str(&rest[..at]);
        rest = &rest[at..];
        let colour = colour_length(rest);
        if colour > 0 {
            shown.push_str(&rest[..colour]);
            rest = &rest[colour..];
        } else {
            let mut characters = rest.chars();
            shown.extend(characters.next().into_iter().flat_map(char::escape_default));
            rest = characters.as_str();
        }
    }
    Cow::Owned(shown + rest + end)
}

/// Returns the length, in bytes, of the colour or style sequence (`ESC [ 1;31 m`) at the start of a text, or 0.
fn colour_length(text: &str) -> usize {
    let Some(numbers) = text.strip_prefix("\u{1b}[") else { return 0 };
    let length = numbers.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
    if numbers[length..].starts_with('m') { 2 + length + 1 } else { 0 }
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_escaped = |character: char| is_control(character) && is_escaped(character);
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if is_escaped(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORGED: &str = "task\u{1b}[2J\u{7}\nFORGED \u{202e}cba\u{9b}31m";

    #[test]
    fn what_controls_a_terminal_is_shown() {
        assert_eq!(line(FORGED), r"task\u{1b}[2J\u{7}\nFORGED \u{202e}cba\u{9b}31m");
        assert_eq!(lines(FORGED), "task\\u{1b}[2J\\u{7}\nFORGED \\u{202e}cba\\u{9b}31m");
        for plain in ["", "digits", "Zähler 数字 👩‍🔬"] {
            assert!(matches!(line(plain), Cow::Borrowed(text) if text == plain));
        }
    }

    #[test]
    fn json_stays_json() {
        let value = serde_json::json!({ "name": FORGED });
        let shown = json(&value.to_string()).into_owned();
        assert!(!shown.contains(is_control), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }

    #[test]
    fn a_line_of_the_log_is_one_line_and_keeps_its_colours() {
        assert_eq!(
            log_line("\u{1b}[32m INFO\u{1b}[0m it goes on\n"),
            "\u{1b}[32m INFO\u{1b}[0m it goes on\n"
        );
        let forged = format!("detail={FORGED}\n");
        assert_eq!(log_line(&forged), "detail=task\\u{1b}[2J\\u{7}\\nFORGED \\u{202e}cba\\u{9b}31m\n");
        assert_eq!(log_line("\u{1b}"), r"\u{1b}");
        assert_eq!(log_line("\u{1b}[31"), r"\u{1b}[31");
    }
}
