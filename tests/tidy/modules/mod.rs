//! The modules of a package and their imports of each other.
//!
//! Both come from the tokens of the sources. `mod` declarations give the tree. Paths that begin with
//! `crate`, `super`, `self`, a child or an imported name give the imports, here called arrows. Code
//! behind `#[cfg(test)]` is ignored. A dependency through a method call or a trait implementation
//! alone stays invisible, because it names no module.

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

/// Every module that one root file declares. The root is the first.
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
    /// The file that holds its code.
    pub file: String,
    /// The folder that holds its children, from the root of the repository.
    pub folder: String,
    pub children: BTreeMap<String, Index>,
    /// Names imported by `use`, each with the path it stands for.
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
