//! Tests the statements of the example tasks and of every mechanism. Each must have all required parts, and decision
//! 0029 must have a row about each part.

use std::path::{Path, PathBuf};

use folkmoot_coordinator::task::TaskDescription;

use super::*;

/// The decision whose table lists the code and tests that make each part of a statement true.
const DECISION: &str = include_str!("../../../../../../docs/decisions/0029-what-a-statement-rests-on.md");
/// The parts that every statement needs, with the names of Ponomareva et al. 2023, "How to DP-fy ML", section 5.3.
const PARTS: [&str; 18] = [
    "Setting",
    "Unit",
    "Adjacency",
    "Released",
    "Against whom",
    "Who is trusted",
    "Spent so far",
    "Budget",
    "Rounds",
    "Other tasks",
    "Mechanism",
    "Sampling",
    "Participations",
    "Not released",
    "Not protected",
    "Withheld",
    "Shown",
    "Accountant",
];

/// Returns the tasks under `examples/`, with their files.
fn examples() -> Vec<(PathBuf, TaskDescription)> {
    let server = std::env::var("CARGO_MANIFEST_DIR").expect("cargo says where the package is");
    let (mut folders, mut found) = (vec![Path::new(&server).join("../../examples")], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_some_and(|name| name.to_string_lossy().ends_with("task.toml")) {
                let text = std::fs::read_to_string(&path).unwrap();
                let description =
                    folkmoot_task_file::read(&path, &text).unwrap_or_else(|error| panic!("{error}"));
                found.push((path, description));
            }
        }
    }
    found
}

/// Returns the statements of every mechanism in every population that supports it.
fn all_kinds() -> Vec<Statement> {
    let uniform = json!({ "kind": "uniform" });
    let central = |noise: &str| {
        let noise = json!({ "kind": noise, "separation": 8 });
        let fixed = json!({ "kind": "fixed", "norm": 0.5 });
        json!({ "kind": "central", "epsilon": 4.0, "delta": 1e-6, "participations_max": 5, "clipping": fixed, "noise": noise })
    };
    let local = json!({ "kind": "local", "epsilon": 40.0, "delta": 1e-6, "participations_max": 2, "clipping_norm": 1.0 });
    let tasks =
        [capped("capped"), task("tree", &central("tree"), &uniform), task("blt", &central("blt"), &uniform)];
    let of_users = PopulationPrivacy { unit: Unit::User, budget: None };
    let mut all = vec![stated(&sampled(), 0), stated(&sampled(), 5)];
    for task in tasks.iter().chain([&task("local", &local, &uniform), &distributed()]) {
        for releases in [0, 5] {
            all.extend([stated(task, releases), stated_in(of_users, task, releases)]);
        }
    }
    all
}

fn assert_parts(statement: &Statement) {
    for part in PARTS {
        assert!(!said(statement, part).is_empty(), "{part}");
    }
    let mut about: Vec<&str> = statement.sentences.iter().map(|one| one.about.as_str()).collect();
    about.sort_unstable();
    assert!(about.windows(2).all(|pair| pair[0] != pair[1]), "{about:?}: one is said twice");
}

#[test]
fn the_statement_of_every_example_task_has_all_parts() {
    let (mut private, mut plain) = (0, 0);
    for (path, description) in examples() {
        let record = TaskRecord { description, ..capped("example") };
        if record.description.privacy.is_none() {
            assert_eq!(said(&statement(&record, None, 5), "Protection").split(':').next(), Some("None"));
            plain += 1;
        } else {
            let statement = stated(&record, 3);
            assert_parts(&statement);
            println!("{}", path.display());
            statement.sentences.iter().for_each(|one| println!("  {}: {}", one.about, one.text));
            private += 1;
        }
    }
    assert!(private >= 1 && plain >= 3, "{private} private and {plain} other examples were found");
}

#[test]
fn every_mechanism_states_all_parts() {
    all_kinds().iter().for_each(assert_parts);
}

#[test]
fn a_sampled_task_hides_who_was_drawn_and_says_so_in_its_adjacency() {
    let [sampled, capped] = [sampled(), capped("capped")].map(|task| stated(&task, 2));
    let hidden = "the guarantee hides whether it was drawn, but not that it belongs to the population";
    assert!(said(&sampled, "Adjacency").contains(hidden), "{}", said(&sampled, "Adjacency"));
    assert!(said(&capped, "Adjacency").contains("So the guarantee does not hide when it takes part"));
}

#[test]
fn a_local_task_that_was_not_charged_says_what_it_will_charge() {
    let local = json!({ "kind": "local", "epsilon": 40.0, "delta": 1e-6, "participations_max": 2, "clipping_norm": 1.0 });
    let local = task("local", &local, &json!({ "kind": "uniform" }));
    assert!(
        said(&stated(&local, 0), "Spent so far")
            .contains("charges everything that a client may send, before it reads")
    );
    assert!(said(&stated(&local, 1), "Spent so far").contains("was charged before"));
}

#[test]
fn the_decision_accounts_for_every_sentence() {
    let all = all_kinds();
    for about in all.iter().flat_map(|statement| &statement.sentences).map(|one| &one.about) {
        assert!(DECISION.contains(&format!("\n| {about} |")), "decision 0029 has no row about {about}");
    }
}

#[test]
fn the_named_sampler_is_the_one_that_is_built_in() {
    let named = said(&stated(&capped("capped"), 1), "Accountant").to_owned();
    let manifest = include_str!("../../../../../../Cargo.toml");
    let version = manifest.split("\nopendp = { version = \"").nth(1).and_then(|rest| rest.split('"').next());
    assert!(named.contains(&format!("by opendp {}", version.unwrap())), "{named}");
}
