//! Reads the parts of a `Cargo.toml` that the rules need.

use crate::repository::Repository;
use toml::{Table, Value};

/// The tables of a manifest that name dependencies. Each may also appear under `target.<cfg>`.
const DEPENDENCY_TABLES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// One package of the workspace.
#[derive(Debug)]
pub struct Package {
    pub name: String,
    /// The path of the manifest, relative to the root of the repository.
    pub manifest: String,
    /// The manifest's folder, without a trailing slash.
    pub folder: String,
    /// The names of all normal, development and build dependencies, with renames resolved.
    pub dependencies: Vec<String>,
    /// The root file of the library, or of the program if there is no library. The path starts at the repository's
    /// root.
    pub entry: String,
    /// The root files of the library and of every program. The paths start at the repository's root.
    pub roots: Vec<String>,
}

/// Reads every manifest that describes a package.
///
/// This includes packages outside the workspace, because the same rules apply to them.
pub fn packages(repository: &Repository) -> Vec<Package> {
    let manifests = repository.files.iter().filter(|file| file.name() == "Cargo.toml");
    manifests.filter_map(|file| parse(&file.path, file.text(), repository)).collect()
}

fn parse(path: &str, text: &str, repository: &Repository) -> Option<Package> {
    let manifest: Table = text.parse().unwrap_or_else(|error| panic!("{path} is not TOML: {error}"));
    let name = manifest.get("package")?.get("name")?.as_str()?.to_owned();
    let folder = path.trim_end_matches("Cargo.toml").trim_end_matches('/').to_owned();
    let entry = entry(&manifest, &folder, repository);
    let mut dependencies = named_dependencies(&manifest);
    for platform in manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values) {
        dependencies.extend(platform.as_table().map(named_dependencies).unwrap_or_default());
    }
    let roots = roots(&manifest, &folder, repository);
    Some(Package { name, manifest: path.to_owned(), folder, dependencies, entry, roots })
}

fn named_dependencies(table: &Table) -> Vec<String> {
    let tables = DEPENDENCY_TABLES.iter().filter_map(|kind| table.get(*kind)?.as_table());
    let entries = tables.flatten();
    entries
        .map(|(key, value)| value.get("package").and_then(Value::as_str).unwrap_or(key).to_owned())
        .collect()
}

fn entry(manifest: &Table, folder: &str, repository: &Repository) -> String {
    let within = |path: &str| format!("{folder}/{path}");
    let named = manifest.get("lib").and_then(|library| library.get("path")).and_then(Value::as_str);
    let library = within(named.unwrap_or("src/lib.rs"));
    if repository.file(&library).is_some() { library } else { within("src/main.rs") }
}

/// Finds the same root files as Cargo does, except those of tests, examples and benchmarks.
fn roots(manifest: &Table, folder: &str, repository: &Repository) -> Vec<String> {
    let programs = manifest.get("bin").and_then(Value::as_array).into_iter().flatten();
    let targets = manifest.get("lib").into_iter().chain(programs);
    let named = targets.filter_map(|target| target.get("path")?.as_str()).map(str::to_owned);
    let usual = ["src/lib.rs".to_owned(), "src/main.rs".to_owned()];
    let mut roots: Vec<String> = named.chain(usual).map(|path| format!("{folder}/{path}")).collect();
    let programs = format!("{folder}/src/bin/");
    let lies_there = |path: &str| path.strip_prefix(&programs).is_some_and(|name| !name.contains('/'));
    roots.extend(repository.rust_files().map(|file| file.path.clone()).filter(|path| lies_there(path)));
    roots.retain(|path| repository.file(path).is_some());
    roots.sort();
    roots.dedup();
    roots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_kind_of_dependency_and_resolves_renames() {
        let text = "
            [package]
            name = 'folkmoot-example'
            [dependencies]
            serde.workspace = true
            runtime = { package = 'tokio', version = '1' }
            [dev-dependencies]
            proptest = '1'
            [target.'cfg(unix)'.dependencies]
            libc = '0.2'
        ";
        let repository = Repository::from_texts(&[("a/b/Cargo.toml", text), ("a/b/src/lib.rs", "")]);
        let packages = packages(&repository);
        let package = &packages[0];
        let mut dependencies = package.dependencies.clone();
        dependencies.sort();
        assert_eq!(dependencies, ["libc", "proptest", "serde", "tokio"]);
        assert_eq!((package.folder.as_str(), package.entry.as_str()), ("a/b", "a/b/src/lib.rs"));
    }

    #[test]
    fn a_workspace_manifest_is_no_package() {
        let repository = Repository::from_texts(&[("Cargo.toml", "[workspace]\nmembers = []")]);
        assert!(packages(&repository).is_empty());
    }
}
