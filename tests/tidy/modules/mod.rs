//! The modules of a package and their imports of each other.
//!
//! The rules derive both from the tokens of the sources. `mod` declarations give the module tree. Paths that begin with
//! `crate`, `super`, `self`, a child or an imported name give the imports, which are called arrows here. Code behind
//! `#[cfg(test)]` is ignored. A dependency that uses only a method call or a trait implementation is not found, because
//! it names no module.

mod declared;
mod references;
mod resolve;
mod rings;
mod strip_tests;

pub use declared::read;
pub use resolve::arrows;
pub use rings::rings;

use references::Reference;
use std::collections::{BTreeMap, BTreeSet};

/// A module's index in [`Tree::modules`].
pub type Index = usize;

/// All modules that one root file declares. The root module is the first.
#[derive(Debug, Default)]
pub struct Tree {
    pub modules: Vec<Module>,
}

/// A module in a file or between braces.
#[derive(Debug, Default)]
pub struct Module {
    pub name: String,
    /// The parent module; `None` for the root.
    pub parent: Option<Index>,
    /// The file that contains the module's code.
    pub file: String,
    /// The folder that contains the module's children, relative to the root of the repository.
    pub folder: String,
    pub children: BTreeMap<String, Index>,
    /// The names that `use` imports, each with its full path.
    aliases: BTreeMap<String, Vec<String>>,
    /// Paths of `use …::*`.
    globs: Vec<Vec<String>>,
    /// Names of the items that the module defines.
    items: BTreeSet<String>,
    references: Vec<Reference>,
}

/// An import between two sibling modules: `from` names an item within `to`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrow {
    pub from: Index,
    pub to: Index,
    pub file: String,
    pub line: usize,
}
