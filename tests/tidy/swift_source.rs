//! Reads the public declarations of a Swift source. It knows the parts of the language that the package uses.

/// Words that may come before the keyword of a declaration.
const MODIFIERS: [&str; 19] = [
    "public",
    "open",
    "internal",
    "private",
    "fileprivate",
    "final",
    "static",
    "class",
    "override",
    "mutating",
    "nonmutating",
    "convenience",
    "required",
    "lazy",
    "weak",
    "unowned",
    "indirect",
    "nonisolated",
    "dynamic",
];
const TYPES: [&str; 6] = ["class", "struct", "enum", "actor", "protocol", "extension"];
/// The keywords of all declarations that are no types.
const MEMBERS: [&str; 8] = ["func", "var", "let", "init", "case", "typealias", "subscript", "associatedtype"];

/// Lists the public declarations of a source, one a line, sorted by their place in it. A line begins with the type that has the
/// declaration, and ends with the condition under which it is compiled.
pub fn declarations(source: &str) -> Vec<String> {
    let characters = without_comments(source).chars().collect();
    let mut reader = Reader { characters, at: 0, conditions: Vec::new(), found: Vec::new() };
    reader.read_scope(&Scope { owner: "Folkmoot".to_owned(), shows: Shows::Marked });
    reader.found
}

/// The place of declarations.
struct Scope {
    owner: String,
    shows: Shows,
}

/// The declarations of a scope that are public.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shows {
    /// None, because the type is not public.
    Nothing,
    /// Declarations that are marked as public.
    Marked,
    /// Marked declarations, and cases: the scope is a public enumeration.
    Cases,
    /// All: the scope is a public protocol.
    All,
    /// All that are not marked otherwise: the scope is a public extension.
    Unmarked,
}

struct Reader {
    characters: Vec<char>,
    at: usize,
    /// The conditions of the `#if` directives around the current place.
    conditions: Vec<String>,
    found: Vec<String>,
}

/// A declaration up to its block or the end of its line.
struct Head {
    text: String,
    has_block: bool,
}

impl Reader {
    fn read_scope(&mut self, scope: &Scope) {
        while let Some(head) = self.next_head() {
            match head.text.strip_prefix('#') {
                Some(directive) => self.follow(directive),
                None => self.read_declaration(scope, &head),
            }
        }
    }

    fn follow(&mut self, directive: &str) {
        let (name, condition) = directive.split_once(' ').unwrap_or((directive, ""));
        if name != "if" {
            self.conditions.pop();
        }
        match name {
            "if" | "elseif" => self.conditions.push(condition.to_owned()),
            "else" => self.conditions.push("otherwise".to_owned()),
            _ => {}
        }
    }

    fn read_declaration(&mut self, scope: &Scope, head: &Head) {
        let words = Words::of(&head.text);
        let is_shown = words.is_shown(scope.shows);
        if TYPES.contains(&words.keyword.as_str()) && head.has_block {
            return self.read_type(scope, &head.text, &words, is_shown);
        }
        let accessors = if head.has_block { self.skip_block() } else { String::new() };
        if is_shown && MEMBERS.contains(&words.keyword.as_str()) {
            let is_property = words.keyword == "var" || words.keyword == "subscript";
            let accessors = if is_property { accessors_of(&accessors, head.has_block) } else { "" };
            self.show(&scope.owner, &format!("{}{accessors}", signature(&head.text, &words.keyword)));
        }
    }

    fn read_type(&mut self, scope: &Scope, text: &str, words: &Words, is_shown: bool) {
        let is_extension = words.keyword == "extension";
        let owner = match scope.owner.as_str() {
            "Folkmoot" => words.name.clone(),
            outer => format!("{outer}.{}", words.name),
        };
        if is_shown && !is_extension {
            self.show(&scope.owner, &signature(text, &words.keyword));
        }
        let shows = match words.keyword.as_str() {
            "extension" if is_shown => Shows::Unmarked,
            // An extension of a type that is not public has no public members either.
            "extension" => Shows::Marked,
            _ if !is_shown => Shows::Nothing,
            "enum" => Shows::Cases,
            "protocol" => Shows::All,
            _ => Shows::Marked,
        };
        if is_extension && text.contains(": ") {
            self.show(&scope.owner, &signature(text, &words.keyword));
        }
        self.read_scope(&Scope { owner, shows });
    }

    fn show(&mut self, owner: &str, text: &str) {
        let condition = match self.conditions.join(" and ") {
            none if none.is_empty() => none,
            condition => format!(" [if {condition}]"),
        };
        self.found.push(format!("{owner}: {text}{condition}"));
    }

    /// Reads up to the block or the end of the next declaration. Returns `None` after the closing brace of the scope.
    fn next_head(&mut self) -> Option<Head> {
        let (mut text, mut depth) = (String::new(), 0_usize);
        while let Some(&letter) = self.characters.get(self.at) {
            self.at += 1;
            match letter {
                '(' | '[' => depth += 1,
                ')' | ']' => depth = depth.saturating_sub(1),
                '{' if depth == 0 && is_initial_value(&text) => {
                    self.skip_block();
                    continue;
                }
                '{' if depth == 0 => return Some(Head { text: one_line(&text), has_block: true }),
                '}' if depth == 0 && text.trim().is_empty() => return None,
                '}' if depth == 0 => {
                    // The last declaration is on the same line.
                    self.at -= 1;
                    return Some(Head { text: one_line(&text), has_block: false });
                }
                '\n' if depth == 0 && is_whole(&text) => {
                    return Some(Head { text: one_line(&text), has_block: false });
                }
                _ => {}
            }
            text.push(letter);
        }
        None
    }

    /// Skips a block whose opening brace is read, and returns the words directly in it.
    fn skip_block(&mut self) -> String {
        let (mut inside, mut depth) = (String::new(), 1_usize);
        while let Some(&letter) = self.characters.get(self.at) {
            self.at += 1;
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ if depth == 1 => inside.push(letter),
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        inside
    }
}

/// The words at the beginning of a declaration.
struct Words {
    modifiers: Vec<String>,
    keyword: String,
    name: String,
}

impl Words {
    fn of(text: &str) -> Self {
        let flat = without_parentheses(text);
        let mut words = flat.split_whitespace().filter(|word| !word.starts_with('@')).peekable();
        let mut modifiers = Vec::new();
        while let Some(word) = words.next_if(|word| MODIFIERS.contains(&word.trim_end_matches("()"))) {
            modifiers.push(word.to_owned());
        }
        let is_end_of_name = |letter: char| !letter.is_alphanumeric() && !"._".contains(letter);
        let first = |text: Option<&str>| {
            text.and_then(|word| word.split(is_end_of_name).next()).unwrap_or_default().to_owned()
        };
        let mut keyword = first(words.peek().copied());
        // `class` is a modifier of members, and the keyword of a type.
        if !MEMBERS.contains(&keyword.as_str()) && modifiers.last().is_some_and(|word| word == "class") {
            keyword = "class".to_owned();
        } else {
            words.next();
        }
        Self { modifiers, keyword, name: first(words.next()) }
    }

    fn is_shown(&self, shows: Shows) -> bool {
        let has = |words: &[&str]| self.modifiers.iter().any(|word| words.contains(&word.as_str()));
        match shows {
            Shows::Nothing => false,
            _ if has(&["public", "open"]) => true,
            Shows::Marked => false,
            Shows::Cases => self.keyword == "case",
            Shows::All => true,
            Shows::Unmarked => !has(&["internal", "private", "fileprivate"]),
        }
    }
}

/// Returns the declaration as users see it: without the word `public`, and without the value of a property with a type.
fn signature(text: &str, keyword: &str) -> String {
    let text = text.replace("public ", "");
    match text.split_once(" = ") {
        Some((declared, _)) if ["var", "let"].contains(&keyword) && declared.contains(':') => {
            declared.to_owned()
        }
        _ => text,
    }
}

/// Returns how a property with these words in its block can be used. One without a block, or with observers, is stored.
fn accessors_of(inside: &str, has_block: bool) -> &'static str {
    let has = |word: &str| inside.split(|letter: char| !letter.is_alphanumeric()).any(|one| one == word);
    match () {
        () if !has_block || has("didSet") || has("willSet") => "",
        () if has("set") => " { get set }",
        () => " { get }",
    }
}

/// Returns `true` if a block after this text is the value of a property, or a part of the value.
fn is_initial_value(text: &str) -> bool {
    let flat = without_parentheses(text);
    ["var", "let"].contains(&Words::of(text).keyword.as_str()) && flat.contains(" =")
}

/// Returns `true` if a declaration can end after this text.
fn is_whole(text: &str) -> bool {
    let text = text.trim();
    let is_attribute = without_parentheses(text).split_whitespace().all(|word| word.starts_with('@'));
    !is_attribute && ![",", "=", ":", "->"].iter().any(|end| text.ends_with(end))
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace("( ", "(").replace(" )", ")")
}

/// Removes what stands in parentheses.
fn without_parentheses(text: &str) -> String {
    let mut depth = 0_usize;
    let outside = text.chars().filter(|letter| {
        let was_outside = depth == 0;
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        was_outside || depth == 0
    });
    outside.collect()
}

/// Removes comments, and replaces brackets in texts, so that all remaining brackets are code.
fn without_comments(source: &str) -> String {
    let (mut code, mut rest, mut is_text) = (String::new(), source.chars().peekable(), false);
    while let Some(letter) = rest.next() {
        match letter {
            '\\' if is_text => {
                code.push(letter);
                code.extend(rest.next().filter(|next| *next != '('));
            }
            '"' => {
                is_text = !is_text;
                code.push(letter);
            }
            '(' | ')' | '[' | ']' | '{' | '}' if is_text => code.push('.'),
            '/' if !is_text && rest.peek() == Some(&'/') => {
                while rest.next_if(|next| *next != '\n').is_some() {}
            }
            _ => code.push(letter),
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_declarations_are_listed_with_their_place_and_condition() {
        let source = r#"
import Foundation

/// A comment { with a brace.
public final class Store: Sendable {
    private let path: String
    public private(set) var count: Int = 0
    public var device = Device.auto
    static let limit: Int = { 1 }()
    @discardableResult
    public func add(
        _ values: [Float],
        then: @escaping () -> Void = { }
    ) throws -> Int {
        let text = "a } \(values)"
        return 1
    }
    func hidden() {}
    public var isEmpty: Bool { count == 0 }
    public struct Form { public var size: Int { get { 1 } set { } } }
}
public enum Kind: Equatable { case one, two
    case many(Int = 1)
}
public protocol Trainer: AnyObject {
    var count: Int { get }
    func train() throws
}
enum Hidden { case one }
extension Kind {
    public static var all: [Kind] { [] }
    init(_ text: String) { self = .one }
}
#if os(iOS)
public extension Store { func restore() {} }
#else
public func other() {}
#endif
"#;
        let expected = [
            "Folkmoot: final class Store: Sendable",
            "Store: private(set) var count: Int",
            "Store: var device = Device.auto",
            "Store: @discardableResult func add(_ values: [Float], then: @escaping () -> Void = { }) throws -> Int",
            "Store: var isEmpty: Bool { get }",
            "Store: struct Form",
            "Store.Form: var size: Int { get set }",
            "Folkmoot: enum Kind: Equatable",
            "Kind: case one, two",
            "Kind: case many(Int = 1)",
            "Folkmoot: protocol Trainer: AnyObject",
            "Trainer: var count: Int { get }",
            "Trainer: func train() throws",
            "Kind: static var all: [Kind] { get }",
            "Store: func restore() [if os(iOS)]",
            "Folkmoot: func other() [if otherwise]",
        ];
        assert_eq!(declarations(source), expected);
    }
}
