//! The paths that a module names.

use super::strip_tests::group_length;
use crate::rust_source::{Kind, Token};

/// A path as the source spells it, with its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    pub path: Vec<String>,
    pub line: usize,
}

/// One branch of a `use`.
#[derive(Debug, PartialEq, Eq)]
pub struct Import {
    pub reference: Reference,
    /// The imported name; `None` for `*`.
    pub alias: Option<String>,
}

/// Expands `use a::{b, c as d, e::*};` to one import per branch.
///
/// `tokens` start after the keyword `use`.
pub fn imports(tokens: &[Token]) -> Vec<Import> {
    let end = tokens.iter().position(|token| token.is_punct(';')).unwrap_or(tokens.len());
    let mut found = Vec::new();
    branches(&tokens[..end], &[], &mut found);
    found
}

/// Reads the branches between two braces, or the only branch of a `use` without braces.
fn branches(tokens: &[Token], prefix: &[String], found: &mut Vec<Import>) {
    let mut start = 0;
    let mut index = 0;
    while index < tokens.len() {
        if tokens[index].is_punct(',') {
            branch(&tokens[start..index], prefix, found);
            start = index + 1;
        }
        index += group_length(&tokens[index..]);
    }
    branch(&tokens[start..], prefix, found);
}

fn branch(tokens: &[Token], prefix: &[String], found: &mut Vec<Import>) {
    let Some(first) = tokens.first() else { return };
    let mut reference = Reference { path: prefix.to_vec(), line: first.line };
    for (index, token) in tokens.iter().enumerate() {
        match &token.kind {
            Kind::Open(_) => {
                let inside = &tokens[index + 1..index + group_length(&tokens[index..]) - 1];
                return branches(inside, &reference.path, found);
            }
            Kind::Punct('*') => return found.push(Import { reference, alias: None }),
            Kind::Ident(word) if word == "as" => {
                let alias = tokens.get(index + 1).and_then(Token::ident).map(str::to_owned);
                return found.push(Import { reference, alias });
            }
            // `a::{self}` means `a`. Only a leading `self` is a path segment.
            Kind::Ident(word) if word == "self" && !reference.path.is_empty() => {}
            Kind::Ident(word) => reference.path.push(word.clone()),
            _ => {}
        }
    }
    let alias = reference.path.last().cloned();
    found.push(Import { reference, alias });
}

/// Reads the path that begins at the first token. Returns `None` if the path has only one segment.
///
/// Also reads paths in strings, because attributes of `serde` and `clap` name functions that way.
pub fn path(tokens: &[Token]) -> Option<Reference> {
    let line = tokens.first()?.line;
    if let Kind::Literal(text) = &tokens[0].kind {
        let path = text.trim_matches('"').split("::").map(str::to_owned).collect();
        return text.starts_with("\"crate::").then_some(Reference { path, line });
    }
    let is_colon = |index: usize| tokens.get(index).is_some_and(|token| token.is_punct(':'));
    let mut path = vec![tokens[0].ident()?.to_owned()];
    while is_colon(3 * path.len() - 2) && is_colon(3 * path.len() - 1) {
        let Some(step) = tokens.get(3 * path.len()).and_then(Token::ident) else { break };
        path.push(step.to_owned());
    }
    (path.len() > 1).then_some(Reference { path, line })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rust_source::tokens;

    #[test]
    fn a_use_is_expanded() {
        let tokens = tokens("use crate::{a::{self, B as C}, d::*, e};").expect("the test's source is Rust");
        let found: Vec<String> = imports(&tokens[1..])
            .iter()
            .map(|import| {
                let path = import.reference.path.join("::");
                format!("{path} {}", import.alias.as_deref().unwrap_or("*"))
            })
            .collect();
        assert_eq!(found, ["crate::a a", "crate::a::B C", "crate::d *", "crate::e e"]);
    }

    #[test]
    fn a_path_ends_where_it_ends() {
        for (text, expected) in [
            ("crate::a::B::<u8>::c", Some("crate::a::B")),
            ("super::a(b::c)", Some("super::a")),
            ("a: b::c", None),
            ("\"crate::a::b\"", Some("crate::a::b")),
        ] {
            let found = path(&tokens(text).expect("the test's source is Rust"));
            assert_eq!(found.map(|reference| reference.path.join("::")).as_deref(), expected, "{text}");
        }
    }
}
