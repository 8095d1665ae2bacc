//! Snapshot tests of every command, recorded in `recorded/`: its output as text and as JSON, its exit status, and an
//! error.
//!
//! `SNAPSHOTS=overwrite cargo test --test program commands` records all commands again. The diff shows what changed
//! for users. Add a new command to the list of its group.

mod access;
mod content;
mod files;
mod local;
mod model;
mod normalise;
mod operations;
mod possessions;
mod privacy;
mod provider;
mod rollouts;
mod rounds;
mod signed_in;
mod sites;
mod task;
mod tenants;
mod transcript;

use std::{collections::BTreeSet, path::Path};

use clap::CommandFactory;
use folkmoot_cli::Cli;
use snapbox::{Assert, Data, IntoData, assert::DEFAULT_ACTION_ENV, data::DataFormat};

/// A command without the name of the program, and the arguments of each run. A placeholder such as `$DIGITS` stands
/// for an id of the test content.
type Recorded = (&'static str, &'static [&'static str]);

/// All groups in the order in which they run. A command sees the changes of earlier ones.
const GROUPS: [&[Recorded]; 7] = [
    operations::COMMANDS,
    task::COMMANDS,
    model::COMMANDS,
    access::COMMANDS,
    privacy::COMMANDS,
    local::COMMANDS,
    rollouts::COMMANDS,
];

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commands/recorded");

fn recorded() -> impl Iterator<Item = &'static Recorded> {
    GROUPS.into_iter().flatten()
}

/// Returns the snapshot file of a command, for example `task/show.txt`.
fn file(command: &str) -> String {
    format!("{}.txt", command.replace(' ', "/"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_prints_what_is_recorded() {
    let stage = content::Stage::start().await;
    let (redactions, of_audit) = (normalise::redactions(), normalise::audit_redactions());
    let of_endorsement = normalise::endorsement_redactions();
    let assert = Assert::new().action_env(DEFAULT_ACTION_ENV);
    let mut differences = Vec::new();
    for (command, runs) in recorded() {
        let transcript = transcript::of(&stage, command, runs);
        let name = file(command);
        if !transcript.contains("\n[exit status ") {
            differences.push(format!("no run of `folkmoot {command}` fails; record a run that fails"));
        }
        let expected = Data::read_from(&Path::new(FOLDER).join(&name), Some(DataFormat::Text)).raw();
        let redactions = match command.split(' ').next() {
            Some("audit") => &of_audit,
            Some("endorsement") => &of_endorsement,
            _ => &redactions,
        };
        let actual = redactions.redact(&transcript).into_data();
        if let Err(difference) = assert.try_eq(Some(&name), actual, expected) {
            differences.push(difference.to_string());
        }
    }
    stage.stop().await;
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn every_command_is_recorded_also_with_json() {
    let mut commands = BTreeSet::new();
    leaves(&Cli::command(), "", &mut |path, command| {
        commands.insert(file(path));
        let found = recorded().find(|(name, _)| *name == path);
        let (_, runs) =
            found.unwrap_or_else(|| panic!("`folkmoot {path}` is not in the lists of tests/commands"));
        let has_json = command.get_arguments().any(|argument| argument.get_long() == Some("json"));
        let is_json_run = runs.iter().any(|run| run.split(' ').any(|word| word == "--json"));
        assert!(!has_json || is_json_run, "`folkmoot {path} --json` is not recorded");
    });
    let mut files = BTreeSet::new();
    list_files(Path::new(FOLDER), "", &mut files);
    assert_eq!(files, commands, "a recorded file belongs to no command, or the other way round");
}

/// Calls `visit` with every command that has no subcommands, and its path.
fn leaves(command: &clap::Command, path: &str, visit: &mut impl FnMut(&str, &clap::Command)) {
    if !command.has_subcommands() {
        return visit(path, command);
    }
    for below in command.get_subcommands() {
        leaves(below, format!("{path} {}", below.get_name()).trim_start(), visit);
    }
}

fn list_files(folder: &Path, prefix: &str, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("commands are recorded") {
        let entry = entry.expect("the folder can be read");
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            list_files(&entry.path(), &format!("{name}/"), found);
        } else {
            found.insert(name);
        }
    }
}
