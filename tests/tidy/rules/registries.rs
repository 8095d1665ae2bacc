//! All packages come from public registries, so that everyone can build the repository.

use crate::finding::Finding;
use crate::repository::{File, Repository};

/// Hosts of public registries, and of the sites that serve source repositories and toolchains.
const PUBLIC_HOSTS: [&str; 16] = [
    "github.com",
    "crates.io",
    "index.crates.io",
    "static.crates.io",
    "registry.npmjs.org",
    "registry.yarnpkg.com",
    "pypi.org",
    "files.pythonhosted.org",
    "repo.maven.apache.org",
    "repo1.maven.org",
    "dl.google.com",
    "maven.google.com",
    "services.gradle.org",
    "plugins.gradle.org",
    "proxy.golang.org",
    "sh.rustup.rs",
];

/// Files in which package managers store addresses, each with the words that mark a line with an address. An empty list
/// of words selects every line.
const PLACES: [(&str, &[&str]); 16] = [
    ("Cargo.lock", &["source"]),
    (".cargo/config.toml", &["registry", "index", "source"]),
    ("Cargo.toml", &["registry", "git ="]),
    ("package-lock.json", &["\"resolved\""]),
    ("npm-shrinkwrap.json", &["\"resolved\""]),
    ("pnpm-lock.yaml", &["tarball", "registry"]),
    ("yarn.lock", &["resolved"]),
    (".npmrc", &[]),
    ("pip.conf", &[]),
    ("requirements.txt", &[]),
    ("pyproject.toml", &["index", "find-links"]),
    ("uv.lock", &["registry", "url"]),
    ("build.gradle.kts", &["url", "maven"]),
    ("settings.gradle.kts", &["url", "maven"]),
    ("gradle-wrapper.properties", &["distributionUrl"]),
    ("Package.resolved", &["location"]),
];

/// Finds package addresses on other hosts.
pub fn check(repository: &Repository) -> Vec<Finding> {
    repository.files.iter().flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Finding> {
    let place =
        PLACES.iter().find(|(name, _)| file.path == *name || file.path.ends_with(&format!("/{name}")));
    let Some((_, words)) = place else { return Vec::new() };
    let lines = file.text().lines().enumerate();
    let relevant = lines.filter(|(_, line)| words.is_empty() || words.iter().any(|word| line.contains(word)));
    let advice = "Use one of PUBLIC_HOSTS in tests/tidy/rules/registries.rs";
    let mut findings = Vec::new();
    for (index, line) in relevant {
        let strangers = hosts(line).into_iter().filter(|host| !PUBLIC_HOSTS.contains(&host.as_str()));
        findings.extend(strangers.map(|host| {
            Finding::at(&file.path, index + 1, format!("{host} is not a public registry. {advice}"))
        }));
    }
    findings
}

/// Returns the host of every URL in the line, without user and port.
fn hosts(line: &str) -> Vec<String> {
    // Gradle escapes the colon in its properties.
    let line = line.replace("\\:", ":");
    let after_scheme = line.split("://").skip(1);
    after_scheme
        .map(|rest| {
            let end = |letter: char| !(letter.is_alphanumeric() || "-._:@".contains(letter));
            let authority = rest.split(end).next().unwrap_or_default();
            let host = authority.rsplit('@').next().unwrap_or_default();
            host.split(':').next().unwrap_or_default().to_owned()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> usize {
        check(&Repository::from_texts(&[(path, text)])).len()
    }

    #[test]
    fn private_mirrors_are_found() {
        assert_eq!(findings("Cargo.lock", "source = \"registry+https://mirror.example/index\""), 1);
        assert_eq!(
            findings("wasm/js/package-lock.json", "  \"resolved\": \"http://10.0.0.1:4873/a.tgz\""),
            1
        );
        assert_eq!(findings("wasm/js/.npmrc", "registry=https://user:token@npm.example/"), 1);
        assert_eq!(
            findings("a/gradle-wrapper.properties", "distributionUrl=https\\://mirror.example/g.zip"),
            1
        );
    }

    #[test]
    fn public_registries_and_other_addresses_pass() {
        assert_eq!(
            findings("Cargo.lock", "source = \"registry+https://github.com/rust-lang/crates.io-index\""),
            0
        );
        assert_eq!(
            findings("a/package-lock.json", "\"resolved\": \"https://registry.npmjs.org/a/-/a-1.tgz\""),
            0
        );
        assert_eq!(findings("a/package-lock.json", "\"funding\": \"https://example.org/\""), 0);
        assert_eq!(findings("docs/a.md", "registry https://example.org/"), 0);
    }
}
