//! Text that is safe inside HTML.

use std::fmt;

/// The maximum number of characters of a text. Longer texts are truncated.
const TEXT_CHARACTERS_MAX: usize = 400;

/// A text that is escaped for an element or a quoted attribute.
pub(super) struct Escaped<'a>(pub(super) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, character) in self.0.chars().enumerate() {
            if place == TEXT_CHARACTERS_MAX {
                return f.write_str("…");
            }
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                // Control characters are not allowed in HTML, even if they are escaped.
                control if control.is_control() => f.write_str(" ")?,
                other => write!(f, "{other}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gets_out_of_its_place() {
        let text = Escaped("<script>alert('x')</script> & \"q\"\u{0}\n").to_string();
        assert_eq!(text, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;q&quot;  ");
        assert_eq!(Escaped(&"ä".repeat(500)).to_string().chars().count(), 401);
    }
}
