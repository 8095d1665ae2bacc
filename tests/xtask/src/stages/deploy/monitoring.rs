//! Checks alerts, their tests, the dashboard's queries and the scrape configuration with promtool.

use super::{Checked, call, file, folder, write};
use crate::process::{run, spelled, succeeds};
use crate::workspace::Failure;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The variables of the dashboard, and the values that Grafana could put in their place.
const VARIABLES: [(&str, &str); 2] = [("$__rate_interval", "1m"), ("$instance", ".*")];

/// Runs promtool on all files.
pub fn check() -> Result<Checked, Failure> {
    let Some(promtool) = promtool()? else {
        let why =
            "promtool is missing, and apt-get cannot download Debian's package prometheus. Install promtool";
        return Ok(Checked::Unavailable(why.to_owned()));
    };
    let queries = folder()?.join("dashboard-queries.yaml");
    write(&queries, &queries_of_dashboard()?)?;
    let files = [
        (["check", "rules"], file("monitoring/alerts.yaml")),
        (["test", "rules"], file("monitoring/alerts.test.yaml")),
        (["check", "config"], file("monitoring/prometheus.yaml")),
        (["check", "rules"], queries),
    ];
    for (arguments, path) in files {
        call(Command::new(&promtool).args(arguments).arg(path))?;
    }
    Ok(Checked::Passed)
}

/// Returns promtool. If it is missing, unpacks it from Debian's package into the target folder, because installing the
/// package would start a server.
fn promtool() -> Result<Option<PathBuf>, Failure> {
    if succeeds(Command::new("promtool").arg("--version")) {
        return Ok(Some("promtool".into()));
    }
    let folder = folder()?;
    let unpacked = folder.join("prometheus/usr/bin/promtool");
    if !unpacked.is_file() && !unpack(&folder)? {
        return Ok(None);
    }
    Ok(Some(unpacked))
}

/// Downloads and unpacks Debian's package into the folder. Returns `false` if it cannot be downloaded.
fn unpack(folder: &Path) -> Result<bool, Failure> {
    println!("xtask: deploy: apt-get download prometheus");
    // The first attempt fails if the lists of packages are missing or old.
    let is_downloaded =
        download(folder) || (succeeds(Command::new("apt-get").arg("update")) && download(folder));
    if !is_downloaded {
        return Ok(false);
    }
    let entries = fs::read_dir(folder).map_err(|error| super::failure(folder, &error))?;
    let is_package = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "deb");
    let Some(package) = entries.flatten().map(|entry| entry.path()).find(is_package) else {
        return Ok(false);
    };
    let mut extract = Command::new("dpkg-deb");
    extract.arg("--extract").arg(&package).arg(folder.join("prometheus"));
    println!("xtask: deploy: {}", spelled(&extract));
    run(&mut extract)?;
    fs::remove_file(&package).map_err(|error| super::failure(&package, &error))?;
    Ok(true)
}

fn download(folder: &Path) -> bool {
    succeeds(Command::new("apt-get").args(["download", "prometheus"]).current_dir(folder))
}

/// Returns the dashboard's queries as rules, in the format of promtool. JSON is also YAML.
fn queries_of_dashboard() -> Result<String, Failure> {
    let path = file("monitoring/dashboard.json");
    let text = fs::read_to_string(&path).map_err(|error| super::failure(&path, &error))?;
    let dashboard: Value =
        serde_json::from_str(&text).map_err(|error| Failure(format!("{}: {error}", path.display())))?;
    let rules: Vec<Value> = queries(&dashboard)
        .into_iter()
        .enumerate()
        .map(|(index, query)| json!({"record": format!("query_{index}"), "expr": query}))
        .collect();
    if rules.is_empty() {
        return Err(Failure(format!("{} has no queries", path.display())));
    }
    Ok(json!({"groups": [{"name": "dashboard", "rules": rules}]}).to_string())
}

/// Returns the queries of all panels, with values in place of the variables.
fn queries(dashboard: &Value) -> Vec<String> {
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let targets = list(dashboard, "panels").into_iter().flat_map(|panel| list(&panel, "targets"));
    let queries = targets.filter_map(|target| target["expr"].as_str().map(str::to_owned));
    queries
        .map(|query| VARIABLES.iter().fold(query, |query, (name, value)| query.replace(name, value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_come_from_all_panels() {
        let dashboard = json!({"panels": [
            {"type": "row"},
            {"targets": [{"expr": "rate(a{i=~\"$instance\"}[$__rate_interval])"}, {"expr": "b"}]},
        ]});
        assert_eq!(queries(&dashboard), ["rate(a{i=~\".*\"}[1m])", "b"]);
    }
}
