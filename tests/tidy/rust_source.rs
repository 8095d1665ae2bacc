//! A Rust file as a flat list of tokens with line numbers.
//!
//! Tokens suit the rules better than a syntax tree. They have no comments, strings are single
//! literals, the arguments of macro calls are readable, and the lexer compiles in a second.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// One token. A group becomes its opening bracket, its contents and its closing bracket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// An identifier or keyword, without `r#`.
    Ident(String),
    /// One character of punctuation.
    Punct(char),
    /// A literal as the source spells it, with its quotes. A doc comment appears as `#[doc = "…"]`.
    Literal(String),
    Open(char),
    Close(char),
}

/// A token and its line, counted from 1.
#[derive(Debug, Clone)]
pub struct Token {
    pub kind: Kind,
    pub line: usize,
}

impl Token {
    /// Returns the identifier if the token is one.
    pub fn ident(&self) -> Option<&str> {
        match &self.kind {
            Kind::Ident(name) => Some(name),
            _ => None,
        }
    }

    /// Returns `true` if the token is this punctuation character.
    pub fn is_punct(&self, expected: char) -> bool {
        self.kind == Kind::Punct(expected)
    }
}

/// A function with a body. Its length in lines is counted from `fn` to the closing brace.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    pub line: usize,
    pub lines: usize,
}

/// Splits a source into tokens.
///
/// # Errors
/// Returns the lexer's message. Such a file does not compile either.
pub fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let stream: TokenStream = text.parse().map_err(|error| format!("is not valid Rust: {error}"))?;
    let mut flat = Vec::new();
    flatten(stream, &mut flat);
    Ok(flat)
}

fn flatten(stream: TokenStream, flat: &mut Vec<Token>) {
    for tree in stream {
        let line = tree.span().start().line;
        match tree {
            TokenTree::Ident(ident) => {
                let name = ident.to_string().trim_start_matches("r#").to_owned();
                flat.push(Token { kind: Kind::Ident(name), line });
            }
            TokenTree::Punct(punct) => flat.push(Token { kind: Kind::Punct(punct.as_char()), line }),
            TokenTree::Literal(literal) => {
                flat.push(Token { kind: Kind::Literal(literal.to_string()), line })
            }
            TokenTree::Group(group) => {
                let (open, close) = brackets(group.delimiter());
                flat.push(Token { kind: Kind::Open(open), line });
                flatten(group.stream(), flat);
                flat.push(Token { kind: Kind::Close(close), line: group.span_close().end().line });
            }
        }
    }
}

fn brackets(delimiter: Delimiter) -> (char, char) {
    match delimiter {
        Delimiter::Parenthesis => ('(', ')'),
        Delimiter::Brace => ('{', '}'),
        Delimiter::Bracket => ('[', ']'),
        Delimiter::None => (' ', ' '),
    }
}

/// Finds every function that has a body, including functions inside macro calls.
pub fn functions(tokens: &[Token]) -> Vec<Function> {
    let starts = tokens.windows(2).enumerate().filter(|(_, pair)| pair[0].ident() == Some("fn"));
    starts
        .filter_map(|(start, pair)| {
            let end = body_end(&tokens[start..])?;
            let line = pair[0].line;
            Some(Function {
                name: pair[1].ident()?.to_owned(),
                line,
                lines: tokens[start + end].line - line + 1,
            })
        })
        .collect()
}

/// Returns the index of the brace that closes the body; `None` for a declaration without one.
fn body_end(tokens: &[Token]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut in_body = false;
    for (index, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Punct(';') if depth == 0 => return None,
            Kind::Open(bracket) => {
                // `Array<{ N }>` in a signature is not a body.
                in_body |= depth == 0 && bracket == '{' && !tokens[index - 1].is_punct('<');
                depth += 1;
            }
            Kind::Close(_) => {
                depth = depth.checked_sub(1)?;
                if in_body && depth == 0 {
                    return Some(index);
                }
            }
            _ => {}
        }
    }
    None
}

/// Returns every line that names `path` (such as `a::b`) in an expression or an import.
pub fn mentions(tokens: &[Token], path: &str) -> Vec<usize> {
    let wanted: Vec<&str> = path.split("::").collect();
    let written = (0..tokens.len()).filter(|start| starts_with_path(&tokens[*start..], &wanted));
    let mut lines: Vec<usize> = written.map(|start| tokens[start].line).collect();
    let imported = imports(tokens).into_iter();
    lines.extend(imported.filter(|(path, _)| contains(path, &wanted)).map(|(_, line)| line));
    lines.sort_unstable();
    lines.dedup();
    lines
}

fn starts_with_path(tokens: &[Token], wanted: &[&str]) -> bool {
    let is_at = |index: usize, name: &str| tokens.get(index).and_then(Token::ident) == Some(name);
    let is_colon = |index: usize| tokens.get(index).is_some_and(|token| token.is_punct(':'));
    let mut parts = wanted.iter().enumerate();
    parts.all(|(part, name)| {
        is_at(3 * part, name) && (part == 0 || (is_colon(3 * part - 1) && is_colon(3 * part - 2)))
    })
}

fn contains(path: &[String], wanted: &[&str]) -> bool {
    path.windows(wanted.len()).any(|window| window == wanted)
}

/// Expands `use a::{b, c::d};` into `a::b` and `a::c::d`.
fn imports(tokens: &[Token]) -> Vec<(Vec<String>, usize)> {
    let starts = (0..tokens.len()).filter(|index| tokens[*index].ident() == Some("use"));
    starts.flat_map(|start| expand(&tokens[start + 1..])).collect()
}

fn expand(tokens: &[Token]) -> Vec<(Vec<String>, usize)> {
    let mut paths = Vec::new();
    let mut prefixes: Vec<Vec<String>> = Vec::new();
    let mut current: Vec<String> = Vec::new();
    for token in tokens.iter().take_while(|token| !token.is_punct(';')) {
        match &token.kind {
            Kind::Ident(name) => current.push(name.clone()),
            Kind::Open('{') => prefixes.push(current.clone()),
            Kind::Punct(',') => current = prefixes.last().cloned().unwrap_or_default(),
            Kind::Close('}') => current = prefixes.pop().unwrap_or_default(),
            _ => {}
        }
        paths.push((current.clone(), token.line));
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lex(text: &str) -> Vec<Token> {
        tokens(text).expect("the test's source is Rust")
    }

    #[test]
    fn comments_and_strings_are_no_identifiers() {
        let tokens = lex("/// fleet\n// fleet\nlet a = \"fleet\"; let r#type = 1;");
        let idents: Vec<&str> = tokens.iter().filter_map(Token::ident).collect();
        assert_eq!(idents, ["doc", "let", "a", "let", "type"]);
    }

    #[test]
    fn functions_are_measured_to_their_closing_brace() {
        let text = "trait A { fn declared(&self); }\nfn one() {}\nfn four<T>(a: [u8; { 3 }]) -> B<{ 2 }>\nwhere\n    T: A,\n{ if true {} }";
        let found = functions(&lex(text));
        let found: Vec<(&str, usize, usize)> =
            found.iter().map(|function| (function.name.as_str(), function.line, function.lines)).collect();
        assert_eq!(found, [("one", 2, 1), ("four", 3, 4)]);
    }

    #[test]
    fn mentions_see_calls_and_nested_imports() {
        let text =
            "use std::{fmt, net::{TcpStream, IpAddr}};\nfn f() { let a = std::net::UdpSocket; }\nfn net() {}";
        assert_eq!(mentions(&lex(text), "std::net"), [1, 2]);
        assert_eq!(mentions(&lex("use rand::{Rng, rngs::SysRng as R};"), "SysRng"), [1]);
        assert!(mentions(&lex("use std::fmt; mod net;"), "std::net").is_empty());
    }

    #[test]
    fn a_broken_file_is_an_error() {
        assert!(tokens("fn f( {").is_err());
    }
}
