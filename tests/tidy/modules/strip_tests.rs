//! Removes code that only test builds compile.

use crate::rust_source::{Kind, Token};

/// Keywords that can begin an item, after its visibility.
const ITEM_WORDS: [&str; 16] = [
    "mod",
    "use",
    "fn",
    "struct",
    "enum",
    "impl",
    "trait",
    "const",
    "static",
    "type",
    "let",
    "macro_rules",
    "async",
    "unsafe",
    "extern",
    "union",
];

/// Returns the tokens without items, fields and arms behind `#[cfg(test)]` or `#[cfg(all(test, …))]`.
pub fn strip_tests(tokens: &[Token]) -> Vec<Token> {
    let mut kept = Vec::with_capacity(tokens.len());
    let mut index = 0;
    while index < tokens.len() {
        if is_test_attribute(&tokens[index..]) {
            index += item_length(&tokens[index..]);
        } else {
            kept.push(tokens[index].clone());
            index += 1;
        }
    }
    kept
}

fn is_test_attribute(tokens: &[Token]) -> bool {
    let ident = |index: usize| tokens.get(index).and_then(Token::ident).unwrap_or_default();
    let is_cfg = tokens[0].is_punct('#') && ident(2) == "cfg";
    is_cfg && (ident(4) == "test" || (ident(4) == "all" && ident(6) == "test"))
}

/// Returns the number of tokens of the attributes and of the item, field or arm to which they belong.
fn item_length(tokens: &[Token]) -> usize {
    let mut start = 0;
    while tokens.get(start).is_some_and(|token| token.is_punct('#')) {
        start += 1 + group_length(&tokens[start + 1..]);
    }
    let is_item = is_item(&tokens[start..]);
    let mut index = start;
    while index < tokens.len() {
        match tokens[index].kind {
            Kind::Close(_) => return index,
            Kind::Open(bracket) => {
                index += group_length(&tokens[index..]);
                if bracket == '{' {
                    return index;
                }
                continue;
            }
            Kind::Punct(';') => return index + 1,
            Kind::Punct(',') if !is_item => return index + 1,
            _ => index += 1,
        }
    }
    index
}

fn is_item(tokens: &[Token]) -> bool {
    let is_public = tokens.first().and_then(Token::ident) == Some("pub");
    let mut start = usize::from(is_public);
    if is_public && tokens.get(1).is_some_and(|token| token.kind == Kind::Open('(')) {
        start += group_length(&tokens[1..]);
    }
    tokens.get(start).and_then(Token::ident).is_some_and(|word| ITEM_WORDS.contains(&word))
}

/// Returns the number of tokens from an opening bracket to its closing bracket, including both.
pub fn group_length(tokens: &[Token]) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Open(_) => depth += 1,
            Kind::Close(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return index + 1;
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rust_source::tokens;

    #[test]
    fn items_fields_and_arms_of_tests_are_left_out() {
        for (text, kept) in [
            ("#[cfg(test)] mod tests { fn f() {} } fn g() {}", "fn g"),
            ("#[cfg(test)] #[allow(dead_code)] use a::{b, c}; use d;", "use d"),
            ("#[cfg(all(test, unix))] pub(crate) fn f<A, B>(a: A) {} struct S;", "struct S"),
            ("struct S { #[cfg(test)] a: u8, b: u8 }", "struct S b u8"),
            ("#[cfg(feature = \"test\")] mod a;", "cfg feature mod a"),
        ] {
            let stripped = strip_tests(&tokens(text).expect("the test's source is Rust"));
            let left: Vec<&str> = stripped.iter().filter_map(Token::ident).collect();
            assert!(left.join(" ").ends_with(kept), "{text}: {left:?}");
            assert_eq!(left.join(" ").len(), kept.len(), "{text}: {left:?}");
        }
    }
}
