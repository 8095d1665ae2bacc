//! Turns the paths that modules name into arrows between siblings.

use super::{Arrow, Index, Module, Tree};
use std::collections::BTreeMap;

/// The maximum length of a chain of re-exports that is followed. A cycle of re-exports does not compile.
const FOLLOWED_MAX: usize = 16;

/// Finds every arrow between two sibling modules, with the place of its first occurrence.
///
/// A path through a re-export makes two arrows: to the module with the re-export, and to the module
/// that the re-export names.
pub fn arrows(tree: &Tree) -> Vec<Arrow> {
    let mut found: BTreeMap<(Index, Index), Arrow> = BTreeMap::new();
    for (at, module) in tree.modules.iter().enumerate() {
        for reference in &module.references {
            let mut visited = Vec::new();
            tree.resolve(at, &reference.path, &mut visited, FOLLOWED_MAX);
            for (from, to) in visited.iter().filter_map(|target| tree.siblings(at, *target)) {
                let arrow = || Arrow { from, to, file: module.file.clone(), line: reference.line };
                found.entry((from, to)).or_insert_with(arrow);
            }
        }
    }
    found.into_values().collect()
}

impl Tree {
    /// Follows a path from a module. Adds every module on the way to `visited`.
    ///
    /// Returns the module that the whole path names; `None` if it names none.
    fn resolve(&self, at: Index, path: &[String], visited: &mut Vec<Index>, left: usize) -> Option<Index> {
        let (first, rest) = path.split_first()?;
        let mut current = match first.as_str() {
            "crate" => 0,
            "self" => at,
            "super" => self.modules[at].parent?,
            name => self.step(at, name, visited, left)?,
        };
        for name in rest {
            current = match name.as_str() {
                "super" => self.modules[current].parent?,
                name => self.step(current, name, visited, left)?,
            };
        }
        Some(current)
    }

    /// Follows one path segment, into a child or through a re-export.
    fn step(&self, at: Index, name: &str, visited: &mut Vec<Index>, left: usize) -> Option<Index> {
        let module = &self.modules[at];
        if let Some(child) = module.children.get(name) {
            visited.push(*child);
            return Some(*child);
        }
        let left = left.checked_sub(1)?;
        if let Some(path) = module.aliases.get(name) {
            return self.resolve(at, path, visited, left);
        }
        if !module.items.contains(name) {
            let source = module.globs.iter().find_map(|path| self.offers(at, path, name, left))?;
            visited.push(source);
            return self.step(source, name, visited, left);
        }
        None
    }

    /// Returns the module that `use path::*` imports, if that module contains `name`.
    fn offers(&self, at: Index, path: &[String], name: &str, left: usize) -> Option<Index> {
        let source = self.resolve(at, path, &mut Vec::new(), left)?;
        let has = |module: &Module| {
            module.items.contains(name)
                || module.children.contains_key(name)
                || module.aliases.contains_key(name)
        };
        (source != at && has(&self.modules[source])).then_some(source)
    }

    /// Returns the two sibling modules that contain `from` and `to`.
    ///
    /// Returns `None` if one contains the other: a parent and its children may name each other.
    fn siblings(&self, from: Index, to: Index) -> Option<(Index, Index)> {
        let (upward, downward) = (self.ancestry(from), self.ancestry(to));
        let shared = upward.iter().zip(&downward).take_while(|(left, right)| left == right).count();
        Some((*upward.get(shared)?, *downward.get(shared)?))
    }

    /// Returns the chain of modules from the root down to this one.
    fn ancestry(&self, at: Index) -> Vec<Index> {
        let mut chain = vec![at];
        while let Some(parent) = chain.last().and_then(|last| self.modules[*last].parent) {
            chain.push(parent);
        }
        chain.reverse();
        chain
    }
}
