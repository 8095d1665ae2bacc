//! The significant lines of a source, which are compared between sources: all lines except blank lines, comments and
//! imports.

use crate::repository::File;

/// A significant line, without the white space around it, and its number from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    pub number: usize,
    pub text: &'a str,
}

/// The extent of a blank line, a comment or an import.
enum Skipped {
    Line,
    /// The comment or import extends to the first line that contains this text.
    Until(&'static str),
}

/// Returns the significant lines of a Rust, TypeScript, Kotlin, Swift or Python file.
pub fn significant_lines(file: &File) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut until: Option<&str> = None;
    for (index, text) in file.text().lines().map(str::trim).enumerate() {
        if let Some(end) = until {
            until = (!text.contains(end)).then_some(end);
            continue;
        }
        match skipped(file, text) {
            Some(Skipped::Until(end)) => until = Some(end),
            Some(Skipped::Line) => {}
            None => lines.push(Line { number: index + 1, text }),
        }
    }
    lines
}

/// Returns the extent of the blank line, comment or import that begins at a line; `None` for a significant line.
fn skipped(file: &File, text: &str) -> Option<Skipped> {
    let to = |end: &'static str| Some(if text.contains(end) { Skipped::Line } else { Skipped::Until(end) });
    if text.is_empty() {
        return Some(Skipped::Line);
    }
    if file.has_extension(&["py"]) {
        let is_import = text.starts_with("import ") || text.starts_with("from ");
        return match text.starts_with('#') || is_import {
            true if is_import && text.contains('(') => to(")"),
            true => Some(Skipped::Line),
            false => None,
        };
    }
    if text.starts_with("//") {
        return Some(Skipped::Line);
    }
    if text.starts_with("/*") {
        return to("*/");
    }
    if file.has_extension(&["rs"]) {
        let imports = ["use ", "pub use ", "pub(crate) use ", "pub(super) use "];
        return imports.iter().any(|import| text.starts_with(import)).then(|| to(";")).flatten();
    }
    let is_import = text.starts_with("import ");
    match file.has_extension(&["kt", "kts", "swift"]) {
        true => is_import.then_some(Skipped::Line),
        false => is_import.then(|| to(";")).flatten(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::Repository;

    fn counted(path: &str, text: &str) -> Vec<(usize, String)> {
        let repository = Repository::from_texts(&[(path, text)]);
        let lines = significant_lines(&repository.files[0]).into_iter();
        lines.map(|line| (line.number, line.text.to_owned())).collect()
    }

    #[test]
    fn comments_and_imports_of_every_language_do_not_count() {
        let rust = "//! A.\nuse a::{\n    b,\n};\n\n/* one\ntwo */\n  *b = 1;\n#[test]\npub use c;\nuser();";
        assert_eq!(counted("a.rs", rust).iter().map(|(line, _)| *line).collect::<Vec<_>>(), [8, 9, 11]);
        assert_eq!(counted("a.rs", rust)[0].1, "*b = 1;");
        let script = "import { a,\n  b } from \"c\";\n// d\nimport e from \"f\";\nconst g = a;";
        assert_eq!(counted("a.ts", script), [(5, "const g = a;".to_owned())]);
        let kotlin = "import a.b\nimport c\n/** d */\nval e = 1";
        assert_eq!(counted("a.kt", kotlin), [(4, "val e = 1".to_owned())]);
        let python = "from a import (\n    b,\n)\nimport c\n# d\ne = f(g)";
        assert_eq!(counted("a.py", python), [(6, "e = f(g)".to_owned())]);
    }
}
