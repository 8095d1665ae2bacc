//! Modules with one parent do not import each other in a ring.
//!
//! Who reads a ring has to go round it: none of its modules can be understood, or built, before the
//! others. The way out is nearly always to move a type to the floor below.
//!
//! `tests/tidy/rings.toml` holds the arrows of rings that are still there, which may only become
//! fewer. `TIDY_BLESS=1` writes it anew and keeps the notes; each needs one.

use crate::finding::Finding;
use crate::manifest::packages;
use crate::modules::{Arrow, Tree, arrows, read, rings};
use crate::repository::{File, Repository};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::{env, fs};
use toml::{Table, Value};

const RINGS: &str = "tests/tidy/rings.toml";

/// The rings of a group of modules with one parent that hang together.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Listed {
    /// The folder of the modules.
    folder: String,
    /// Why the rings are there.
    note: String,
    /// `from -> to`, sorted.
    arrows: BTreeSet<String>,
}

/// A ring as it is found: its folder, and its arrows by name and by place.
#[derive(Debug)]
struct Ring {
    folder: String,
    names: Vec<String>,
    places: Vec<String>,
}

/// Finds rings that are not listed, and listed arrows that are in no ring any more.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let listed = parse(repository.file(RINGS).map(File::text).unwrap_or_default());
    let found = find(repository);
    if env::var_os("TIDY_BLESS").is_some_and(|value| value == "1") {
        let text = render(&found, &listed);
        fs::write(repository.root.join(RINGS), text).expect("the list of rings can be written");
        return Vec::new();
    }
    compare(&found, &listed)
}

fn parse(text: &str) -> Vec<Listed> {
    let table: Table = text.parse().expect("tests/tidy/rings.toml is TOML");
    let entries = table.get("ring").and_then(Value::as_array).into_iter().flatten();
    let text = |entry: &Value, key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
    entries
        .map(|entry| Listed {
            folder: text(entry, "folder").expect("a ring has a `folder`"),
            note: text(entry, "note").unwrap_or_default(),
            arrows: entry
                .get("arrows")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .map(|arrow| arrow.as_str().expect("an arrow is a text").to_owned())
                .collect(),
        })
        .collect()
}

/// Finds for every arrow in a ring the shortest ring through it, each ring once.
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

fn compare(found: &[Ring], listed: &[Listed]) -> Vec<Finding> {
    let is_listed = |folder: &str, name: &String| {
        listed.iter().any(|entry| entry.folder == folder && entry.arrows.contains(name))
    };
    let new = found.iter().filter(|ring| ring.names.iter().any(|name| !is_listed(&ring.folder, name)));
    let mut findings: Vec<Finding> = new.map(finding).collect();
    for entry in listed {
        let rings = || found.iter().filter(|ring| ring.folder == entry.folder);
        let gone = entry.arrows.iter().filter(|name| !rings().any(|ring| ring.names.contains(*name)));
        findings.extend(gone.map(|name| {
            let advice =
                format!("`{name}` is in no ring any more: take it off {RINGS}; TIDY_BLESS=1 does it");
            Finding::on(&entry.folder, advice)
        }));
        if entry.note.is_empty() {
            findings.push(Finding::on(RINGS, format!("say in `note` why {} has a ring", entry.folder)));
        }
    }
    findings
}

/// Names the ring and the place of each of its arrows.
fn finding(ring: &Ring) -> Finding {
    let arrows: Vec<String> =
        ring.names.iter().zip(&ring.places).map(|(name, place)| format!("{name} ({place})")).collect();
    let advice = "move what both need to the floor below";
    Finding::on(&ring.folder, format!("modules in a ring, {}: {advice}", arrows.join(", ")))
}

/// Writes the list: one entry for the rings of a folder that share a module.
fn render(found: &[Ring], listed: &[Listed]) -> String {
    let mut text = String::from(
        "# Arrows between modules with one parent that stand in a ring; they may only become fewer.\n\
         # `TIDY_BLESS=1 cargo test -p folkmoot-tidy acyclic_modules` writes them anew and keeps the notes.\n",
    );
    for entry in entries(found) {
        let note = note(&entry, listed);
        let _ = write!(text, "\n[[ring]]\nfolder = \"{}\"\nnote = \"{note}\"\narrows = [\n", entry.folder);
        for arrow in &entry.arrows {
            let _ = writeln!(text, "  \"{arrow}\",");
        }
        text.push_str("]\n");
    }
    text
}

fn entries(found: &[Ring]) -> Vec<Listed> {
    let mut entries: Vec<Listed> = Vec::new();
    for ring in found {
        let mut joined = Listed {
            folder: ring.folder.clone(),
            note: String::new(),
            arrows: ring.names.iter().cloned().collect(),
        };
        let hangs_together = |entry: &mut Listed| {
            let shared = modules(&entry.arrows).intersection(&modules(&joined.arrows)).next().is_some();
            entry.folder == ring.folder && shared
        };
        for entry in entries.extract_if(.., hangs_together).collect::<Vec<_>>() {
            joined.arrows.extend(entry.arrows);
        }
        entries.push(joined);
    }
    entries
}

fn modules(arrows: &BTreeSet<String>) -> BTreeSet<String> {
    arrows.iter().flat_map(|arrow| arrow.split(" -> ")).map(str::to_owned).collect()
}

/// Finds the note of an entry, also of one whose folder has moved.
fn note<'a>(entry: &Listed, listed: &'a [Listed]) -> &'a str {
    let shares = |other: &&Listed| !other.arrows.is_disjoint(&entry.arrows);
    let here = listed.iter().filter(|other| other.folder == entry.folder).find(shares);
    here.or_else(|| listed.iter().find(shares)).map_or("", |other| other.note.as_str())
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

    #[test]
    fn the_list_may_only_shrink() {
        let sources = [
            ("a/src/lib.rs", "mod one; mod two; mod three;"),
            ("a/src/one.rs", "use crate::{two, three};"),
            ("a/src/two.rs", "use crate::one;"),
            ("a/src/three.rs", "use crate::one;"),
        ];
        let found = rings_of(&sources);
        let blessed = render(&found, &[]);
        assert_eq!(parse(&blessed).len(), 1);
        assert!(compare(&found, &parse(&blessed))[0].message.contains("say in `note`"));
        let noted = parse(&blessed.replace("note = \"\"", "note = \"old\""));
        assert_eq!(compare(&found, &noted), []);
        assert!(compare(&found[..1], &noted)[0].message.contains("in no ring any more"));
        assert_eq!(parse(&render(&found[..1], &noted))[0].note, "old");
        assert!(compare(&found, &parse(&render(&found[..1], &noted)))[0].message.contains("in a ring"));
    }
}
