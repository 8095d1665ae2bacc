//! Tests the table in `docs/reference/console.md`. The table must list every endpoint of the administrative API, and
//! every command in the table must exist.

use std::collections::BTreeSet;

use clap::CommandFactory;
use folkmoot_cli::Cli;
use folkmoot_service::http::openapi;

const PAGE: &str = include_str!("../../../docs/reference/console.md");

/// Returns the cells of every row of the table.
fn rows() -> Vec<[String; 4]> {
    let rows = PAGE.lines().filter(|line| line.starts_with("| ")).skip(1);
    let cells =
        |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    rows.map(|line| cells(line).try_into().expect("a row has four cells")).collect()
}

fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

#[test]
fn every_endpoint_of_the_api_is_in_the_table() {
    let document: serde_json::Value = serde_json::from_str(&openapi::document()).unwrap();
    let mut served = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        if path.starts_with("/v1/admin/") {
            served.extend(
                operations
                    .as_object()
                    .unwrap()
                    .keys()
                    .map(|method| format!("{} {path}", method.to_uppercase())),
            );
        }
    }
    let said: BTreeSet<String> =
        rows().iter().flat_map(|row| quoted(&row[3]).map(str::to_owned).collect::<Vec<_>>()).collect();
    assert_eq!(said, served);
}

#[test]
fn every_command_in_the_table_is_there() {
    for [what, console, command, _] in rows() {
        assert!(!console.is_empty(), "{what}");
        for spelled in quoted(&command).filter(|spelled| spelled.starts_with("folkmoot ")) {
            let mut found = Cli::command();
            for word in spelled.split(' ').skip(1) {
                let inner = found.find_subcommand(word).cloned();
                found = inner.unwrap_or_else(|| panic!("{what}: there is no `{spelled}`"));
            }
        }
    }
}
