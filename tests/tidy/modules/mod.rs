//! The modules of a package, and which of them imports which.
//!
//! Read from tokens, as everything here: `mod` declarations give the tree, and paths that begin
//! with `crate`, `super`, `self`, a child or an imported name give the arrows. Code behind
//! `#[cfg(test)]` is left out. Arrows that only a method call or a trait's implementation makes
//! are not seen, for they name no module.

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

/// A module's place in [`Tree::modules`].
pub type Index = usize;

/// Every module that one root file declares, the root first.
#[derive(Debug, Default)]
pub struct Tree {
    pub modules: Vec<Module>,
}

/// A module in a file or between braces.
#[derive(Debug, Default)]
pub struct Module {
    pub name: String,
    /// `None` for the root.
    pub parent: Option<Index>,
    /// The file that holds its code.
    pub file: String,
    /// The folder that holds its children, from the root of the repository.
    pub folder: String,
    pub children: BTreeMap<String, Index>,
    /// Names that `use` brings in, with the path that each stands for.
    aliases: BTreeMap<String, Vec<String>>,
    /// Paths of `use …::*`.
    globs: Vec<Vec<String>>,
    /// Names that are defined here.
    items: BTreeSet<String>,
    references: Vec<Reference>,
}

/// An import between two modules with one parent: `from` names something within `to`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrow {
    pub from: Index,
    pub to: Index,
    pub file: String,
    pub line: usize,
}
