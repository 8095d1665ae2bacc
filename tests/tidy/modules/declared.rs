//! Builds the module tree of a root file.

use super::references::{imports, path};
use super::strip_tests::{group_length, strip_tests};
use super::{Index, Module, Tree};
use crate::repository::Repository;
use crate::rust_source::{Kind, Token};

/// Keywords that are followed by the name of the item they define.
const DEFINING_WORDS: [&str; 9] =
    ["fn", "struct", "enum", "trait", "type", "const", "static", "union", "macro_rules"];

/// Reads all modules that `root` declares. `root` is the path of a root file, such as `lib.rs` or `main.rs`.
pub fn read(repository: &Repository, root: &str) -> Tree {
    let mut tree = Tree::default();
    if let Some(file) = repository.file(root) {
        let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
        let module = Module { file: root.to_owned(), folder: folder.to_owned(), ..Module::default() };
        tree.modules.push(module);
        tree.fill(repository, 0, &strip_tests(file.tokens().unwrap_or_default()));
    }
    tree
}

impl Tree {
    /// Reads the code of one module and of its children.
    fn fill(&mut self, repository: &Repository, at: Index, tokens: &[Token]) {
        let mut index = 0;
        let mut depth = 0_usize;
        while index < tokens.len() {
            let rest = &tokens[index..];
            let word = tokens[index].ident().unwrap_or_default();
            index += match &tokens[index].kind {
                Kind::Open(_) => {
                    depth += 1;
                    1
                }
                Kind::Close(_) => {
                    depth = depth.saturating_sub(1);
                    1
                }
                _ if word == "mod" => self.declare(repository, at, rest),
                _ if word == "use" && !rest.get(1).is_some_and(|token| token.is_punct('<')) => {
                    self.import(at, rest)
                }
                _ => {
                    if depth == 0 && DEFINING_WORDS.contains(&word) {
                        self.modules[at].items.extend(defined(rest));
                    }
                    self.name(at, tokens, index)
                }
            };
        }
    }

    /// Reads `mod name;` or `mod name { … }` and returns the number of tokens consumed.
    fn declare(&mut self, repository: &Repository, parent: Index, tokens: &[Token]) -> usize {
        let Some(name) = tokens.get(1).and_then(Token::ident) else { return 1 };
        let above = &self.modules[parent];
        let folder = format!("{}/{name}", above.folder);
        let mut module = Module { name: name.to_owned(), parent: Some(parent), ..Module::default() };
        if tokens.get(2).is_some_and(|token| token.kind == Kind::Open('{')) {
            let length = group_length(&tokens[2..]);
            module.file = above.file.clone();
            module.folder = folder;
            let at = self.add(module);
            self.fill(repository, at, &tokens[3..1 + length]);
            return 2 + length;
        }
        let paths = [format!("{folder}.rs"), format!("{folder}/mod.rs")];
        if let Some(file) = paths.iter().find_map(|path| repository.file(path)) {
            module.file = file.path.clone();
            module.folder = folder;
            let at = self.add(module);
            self.fill(repository, at, &strip_tests(file.tokens().unwrap_or_default()));
        }
        3
    }

    fn add(&mut self, module: Module) -> Index {
        let at = self.modules.len();
        if let Some(parent) = module.parent {
            self.modules[parent].children.insert(module.name.clone(), at);
        }
        self.modules.push(module);
        at
    }

    /// Reads `use …;` and returns the number of tokens consumed.
    fn import(&mut self, at: Index, tokens: &[Token]) -> usize {
        let module = &mut self.modules[at];
        for import in imports(&tokens[1..]) {
            match import.alias {
                Some(alias) => {
                    module.aliases.entry(alias).or_insert_with(|| import.reference.path.clone());
                }
                None => module.globs.push(import.reference.path.clone()),
            }
            module.references.push(import.reference);
        }
        tokens.iter().position(|token| token.is_punct(';')).map_or(tokens.len(), |end| end + 1)
    }

    /// Reads a path in an expression, a type or a string, and returns the number of tokens consumed.
    fn name(&mut self, at: Index, tokens: &[Token], index: usize) -> usize {
        let is_first = index < 2 || !(tokens[index - 1].is_punct(':') && tokens[index - 2].is_punct(':'));
        if let Some(reference) = path(&tokens[index..]).filter(|_| is_first) {
            self.modules[at].references.push(reference);
        }
        1
    }
}

/// Returns the name after `fn`, `struct` or another defining keyword.
fn defined(tokens: &[Token]) -> Option<String> {
    tokens[1..].iter().take(2).find_map(Token::ident).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_folders_and_braces_are_modules() {
        let repository = Repository::from_texts(&[
            ("a/src/lib.rs", "mod one; pub mod two; mod three { pub mod four {} } #[cfg(test)] mod tests;"),
            ("a/src/one.rs", "mod five; mod absent;"),
            ("a/src/one/five.rs", ""),
            ("a/src/two/mod.rs", ""),
            ("a/src/tests.rs", ""),
        ]);
        let tree = read(&repository, "a/src/lib.rs");
        let found: Vec<String> =
            tree.modules.iter().map(|module| format!("{} {}", module.name, module.file)).collect();
        assert_eq!(
            found,
            [
                " a/src/lib.rs",
                "one a/src/one.rs",
                "five a/src/one/five.rs",
                "two a/src/two/mod.rs",
                "three a/src/lib.rs",
                "four a/src/lib.rs"
            ]
        );
        assert!(read(&repository, "b/src/lib.rs").modules.is_empty());
    }
}
