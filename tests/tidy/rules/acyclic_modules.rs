//! Sibling modules do not import each other in a ring.
//!
//! A module in a ring can only be understood together with all the others. The fix is nearly always to move a shared
//! type into a lower module.

use crate::finding::Finding;
use crate::manifest::packages;
use crate::modules::{Arrow, Tree, arrows, read, rings};
use crate::repository::Repository;
use std::collections::BTreeMap;

/// A ring: its folder, and the names and places of its arrows.
#[derive(Debug)]
struct Ring {
    /// The folder of the modules.
    folder: String,
    names: Vec<String>,
    places: Vec<String>,
}

/// Finds rings in every package of the repository.
pub fn check(repository: &Repository) -> Vec<Finding> {
    find(repository).iter().map(finding).collect()
}

/// Finds the shortest ring through each arrow that is part of one. Returns each ring once.
fn find(repository: &Repository) -> Vec<Ring> {
    let packages = packages(repository);
    let roots = packages.iter().flat_map(|package| &package.roots);
    let mut found: Vec<Ring> = roots.flat_map(|root| find_in(&read(repository, root))).collect();
    found.sort_by(|left, right| (&left.folder, left.names.len()).cmp(&(&right.folder, right.names.len())));
    found
}

fn find_in(tree: &Tree) -> Vec<Ring> {
    let mut by_parent: BTreeMap<_, Vec<Arrow>> = BTreeMap::new();
    for arrow in arrows(tree) {
        by_parent.entry(tree.modules[arrow.from].parent).or_default().push(arrow);
    }
    let mut found = Vec::new();
    for (parent, arrows) in by_parent {
        let folder = parent.map(|parent| tree.modules[parent].folder.clone()).unwrap_or_default();
        found.extend(rings(&arrows).iter().map(|ring| Ring {
            folder: folder.clone(),
            names: ring.iter().map(|arrow| name(tree, arrow)).collect(),
            places: ring.iter().map(|arrow| format!("{}:{}", arrow.file, arrow.line)).collect(),
        }));
    }
    found
}

fn name(tree: &Tree, arrow: &Arrow) -> String {
    format!("{} -> {}", tree.modules[arrow.from].name, tree.modules[arrow.to].name)
}

/// Describes the ring with the name and place of each arrow.
fn finding(ring: &Ring) -> Finding {
    let arrows: Vec<String> =
        ring.names.iter().zip(&ring.places).map(|(name, place)| format!("{name} ({place})")).collect();
    let advice = "move the items that they share into a lower module";
    Finding::on(&ring.folder, format!("modules in a ring, {}: {advice}", arrows.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: (&str, &str) = ("a/Cargo.toml", "[package]\nname = 'a'");

    fn rings_of(files: &[(&str, &str)]) -> Vec<Ring> {
        let mut texts = vec![MANIFEST];
        texts.extend(files);
        find(&Repository::from_texts(&texts))
    }

    fn names_of(files: &[(&str, &str)]) -> Vec<String> {
        rings_of(files).iter().map(|ring| ring.names.join(", ")).collect()
    }

    #[test]
    fn a_ring_of_two_is_found_with_its_places() {
        let rings = rings_of(&[
            ("a/src/lib.rs", "mod one;\nmod two;"),
            ("a/src/one.rs", "\nuse crate::{two::{B, C}, D};"),
            ("a/src/two.rs", "\n\nfn f() { crate::one::g() }"),
        ]);
        let message = finding(&rings[0]).to_string();
        let expected = "a/src: modules in a ring, one -> two (a/src/one.rs:2), two -> one (a/src/two.rs:3)";
        assert!(message.starts_with(expected) && rings.len() == 1, "{message}");
    }

    #[test]
    fn a_ring_of_three_is_found_through_folders_and_super() {
        let found = names_of(&[
            ("a/src/lib.rs", "mod top;"),
            ("a/src/top/mod.rs", "mod one; mod two; mod three; use one::A; pub struct E;"),
            ("a/src/top/one/mod.rs", "mod deep; use super::E;"),
            ("a/src/top/one/deep.rs", "use super::super::two::B;"),
            ("a/src/top/two.rs", "#[serde(with = \"crate::top::three::c\")] struct B;"),
            ("a/src/top/three.rs", "use super::one::A;"),
        ]);
        assert_eq!(found, ["one -> two, two -> three, three -> one"]);
    }

    #[test]
    fn a_ring_through_re_exports_is_found() {
        let found = names_of(&[
            ("a/src/lib.rs", "mod one; mod two; pub use one::A; pub use two::*;"),
            ("a/src/one.rs", "use crate::B; pub struct A;"),
            ("a/src/two.rs", "use crate::A as C; pub struct B;"),
        ]);
        assert_eq!(found, ["one -> two, two -> one"]);
    }

    #[test]
    fn arrows_of_tests_and_between_parent_and_child_make_no_ring() {
        let found = names_of(&[
            ("a/src/lib.rs", "mod one; mod two; mod three; pub struct A; pub use one::B;"),
            ("a/src/one.rs", "use super::{A, two::C, three::D}; pub struct B;"),
            ("a/src/two.rs", "#[cfg(test)]\nuse crate::B;\n#[cfg(test)] mod tests { use crate::one::B; }"),
            ("a/src/three.rs", "#[cfg(test)] mod tests;"),
            ("a/src/three/tests.rs", "use crate::one::B;"),
        ]);
        assert_eq!(found, Vec::<String>::new());
    }
}
