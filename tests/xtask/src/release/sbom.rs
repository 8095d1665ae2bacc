use super::program;
use crate::process::output;
use crate::workspace::{Failure, cargo, failure, host, write};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The package that builds the program `folkmoot`.
const PROGRAM: &str = "folkmoot-cli";

/// Writes the packages that the program is built from on this platform (CycloneDX 1.6).
pub fn make(folder: &Path) -> Result<PathBuf, Failure> {
    let metadata = output(&mut cargo(&[
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--features",
        "folkmoot-cli/components",
        "--filter-platform",
        &host()?,
    ]))?;
    let metadata: Value =
        serde_json::from_str(&metadata).map_err(|error| Failure(format!("`cargo metadata`: {error}")))?;
    let path = folder.join(format!("folkmoot-{}.cdx.json", program::version()));
    let text = serde_json::to_string_pretty(&bill(&metadata)).unwrap_or_default();
    write(&path, text + "\n")?;
    path.canonicalize().map_err(|error| failure(&path, &error))
}

/// Returns the bill of materials of the program: all packages that it reaches without dependencies for tests.
fn bill(metadata: &Value) -> Value {
    let used = reached(metadata);
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let components =
        packages.filter(|package| used.contains(text(&package["id"])) && package["name"] != PROGRAM);
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": { "type": "application", "name": "folkmoot", "version": program::version(), "bom-ref": "folkmoot" },
        },
        "components": components.map(component).collect::<Vec<_>>(),
    })
}

fn component(package: &Value) -> Value {
    let (name, version) = (text(&package["name"]), text(&package["version"]));
    let mut component = json!({ "type": "library", "name": name, "version": version });
    if let Some(licence) = package["license"].as_str() {
        // Cargo allows the old form `MIT/Apache-2.0`.
        component["licenses"] = json!([{ "expression": licence.replace('/', " OR ") }]);
    }
    if package["source"].as_str().is_some_and(|source| source.starts_with("registry+")) {
        let url = format!("pkg:cargo/{name}@{version}");
        component["bom-ref"] = json!(url);
        component["purl"] = json!(url);
    } else {
        component["bom-ref"] = json!(format!("folkmoot/{name}"));
    }
    component
}

/// Returns the ids of the packages that the program depends on, also through others.
fn reached(metadata: &Value) -> BTreeSet<&str> {
    let nodes = || metadata["resolve"]["nodes"].as_array().into_iter().flatten();
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let mut left: Vec<&str> =
        packages.filter(|one| one["name"] == PROGRAM).map(|one| text(&one["id"])).collect();
    let mut found = BTreeSet::new();
    while let Some(id) = left.pop() {
        if !found.insert(id) {
            continue;
        }
        let node = nodes().find(|node| node["id"] == id);
        let dependencies = node.and_then(|node| node["deps"].as_array()).into_iter().flatten();
        let is_used = |dependency: &&Value| {
            let kinds = dependency["dep_kinds"].as_array().into_iter().flatten();
            kinds.map(|kind| &kind["kind"]).any(|kind| kind != "dev")
        };
        left.extend(dependencies.filter(is_used).map(|dependency| text(&dependency["pkg"])));
    }
    found
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bill_has_what_the_program_reaches_and_no_test_tools() {
        let package = |name: &str, source: Value, license: &str| json!({ "id": name, "name": name, "version": "1.2.3", "source": source, "license": license });
        let registry = json!("registry+https://index");
        let dependency = |name: &str, kind: Value| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
        let metadata = json!({
            "packages": [
                package(PROGRAM, Value::Null, "MIT"), package("ours", Value::Null, "MIT"),
                package("theirs", registry.clone(), "MIT/Apache-2.0"), package("tool", registry, "MIT"),
            ],
            "resolve": { "nodes": [
                { "id": PROGRAM, "deps": [dependency("ours", Value::Null), dependency("tool", json!("dev"))] },
                { "id": "ours", "deps": [dependency("theirs", json!("build")), dependency(PROGRAM, json!("dev"))] },
                { "id": "theirs", "deps": [] }, { "id": "tool", "deps": [] },
            ] },
        });
        let bill = bill(&metadata);
        let components = bill["components"].as_array().unwrap();
        assert_eq!(components.iter().map(|one| text(&one["name"])).collect::<Vec<_>>(), ["ours", "theirs"]);
        assert_eq!(components[1]["purl"], "pkg:cargo/theirs@1.2.3");
        assert_eq!(components[1]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(components[0]["purl"], Value::Null);
    }
}
