//! Lines and columns of byte offsets.

use std::ops::Range;

/// A text with an index of its lines.
pub(super) struct Source<'a> {
    text: &'a str,
    /// The byte offset of each line.
    starts: Vec<usize>,
}

impl<'a> Source<'a> {
    pub fn new(text: &'a str) -> Self {
        let mut starts = vec![0];
        starts.extend(text.match_indices('\n').map(|(at, _)| at + 1));
        // A final line break does not start another line, unless the text is empty.
        if starts.len() > 1 && starts.last() == Some(&text.len()) {
            starts.pop();
        }
        Self { text, starts }
    }

    /// Returns the line and column of a byte offset, both from 1; columns count characters. An offset beyond the end
    /// gives the last position.
    pub fn place(&self, at: usize) -> (usize, usize) {
        let mut at = at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        let line = self.starts.partition_point(|start| *start <= at).max(1);
        let start = self.starts[line - 1];
        let column = self.text[start..at].chars().count() + 1;
        // An offset inside a line break counts as the position after the last character.
        (line, column.min(self.line(line).chars().count() + 1))
    }

    /// Returns a line, counted from 1, without its line break.
    pub fn line(&self, line: usize) -> &'a str {
        self.text[self.start(line)..].lines().next().unwrap_or_default()
    }

    /// Returns the byte offset of a line, counted from 1.
    pub fn start(&self, line: usize) -> usize {
        self.starts.get(line.saturating_sub(1)).copied().unwrap_or(self.text.len())
    }

    /// Returns the number of characters that a span covers on its first line, at least 1.
    pub fn width(&self, span: &Range<usize>) -> usize {
        let end = span.end.min(self.text.len());
        let part = self.text.get(span.start..end.max(span.start)).unwrap_or_default();
        part.lines().next().unwrap_or_default().chars().count().max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_are_counted_in_characters() {
        let source = Source::new("ä = 1\nbc\n");
        assert_eq!(source.place(0), (1, 1));
        assert_eq!(source.place(3), (1, 3));
        assert_eq!(source.place(7), (2, 1));
        assert_eq!(source.place(1), (1, 1));
        assert_eq!((source.line(1), source.line(2), source.line(9)), ("ä = 1", "bc", ""));
    }

    #[test]
    fn the_end_of_the_text_is_on_its_last_line() {
        assert_eq!(Source::new("a\n").place(99), (1, 2));
        assert_eq!(Source::new("").place(5), (1, 1));
    }
}
