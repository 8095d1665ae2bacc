//! The files for deployment use only settings and metrics that exist. These files and the packages of other languages have the versions
//! of this repository.

use crate::finding::Finding;
use crate::repository::{File, Repository};
use std::collections::BTreeSet;
use toml::Table;

const FOLDER: &str = "examples/deploy/";
const GUIDE: &str = "docs/guides/deploy.md";
const MONITORING: &str = "examples/deploy/monitoring/";
const DASHBOARD: &str = "examples/deploy/monitoring/dashboard.json";
const SETTINGS: &str = "server/settings/src/setting.rs";
/// The beginning of the list of settings in [`SETTINGS`].
const KEYS: &str = "pub const KEYS";
/// Variables that commands of `folkmoot` read, and that are no settings.
const VARIABLES: [&str; 2] = ["FOLKMOOT_URL", "FOLKMOOT_API_KEY"];

/// A text that must be in a file, made from a version of this repository.
struct Pin {
    path: &'static str,
    before: &'static str,
    version: fn(&Repository) -> Option<String>,
    after: &'static str,
}

const PINS: [Pin; 10] = [
    Pin {
        path: "examples/deploy/helm/folkmoot/Chart.yaml",
        before: "\nversion: ",
        version: own_version,
        after: "\n",
    },
    Pin {
        path: "examples/deploy/helm/folkmoot/Chart.yaml",
        before: "\nappVersion: \"",
        version: own_version,
        after: "\"\n",
    },
    Pin {
        path: "examples/deploy/compose/compose.yaml",
        before: "image: folkmoot:",
        version: own_version,
        after: "\n",
    },
    Pin {
        path: "examples/deploy/compose/README.md",
        before: "--tag folkmoot:",
        version: own_version,
        after: " .",
    },
    Pin { path: GUIDE, before: "--tag folkmoot:", version: own_version, after: " ." },
    Pin {
        path: "examples/deploy/container/Dockerfile",
        before: "\nFROM rust:",
        version: compiler_version,
        after: "-",
    },
    // The packages of other languages have the version of the workspace.
    Pin {
        path: "mobile-bindings/python/pyproject.toml",
        before: "\nversion = \"",
        version: own_version,
        after: "\"\n",
    },
    Pin {
        path: "mobile-bindings/kotlin/pom.xml",
        before: "<artifactId>folkmoot</artifactId>\n  <version>",
        version: own_version,
        after: "<",
    },
    Pin {
        path: "mobile-bindings/kotlin/android/build.gradle.kts",
        before: "\nversion = \"",
        version: own_version,
        after: "\"\n",
    },
    Pin { path: "wasm/js/package.json", before: "\"version\": \"", version: own_version, after: "\"" },
];

/// Finds unknown settings and metrics, a dashboard that is no JSON, and versions that differ.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = unknown_variables(repository);
    findings.extend(unknown_metrics(repository));
    findings.extend(PINS.iter().filter_map(|pin| misses(repository, pin)));
    findings.extend(repository.file(DASHBOARD).and_then(|file| {
        let error = serde_json::from_str::<serde_json::Value>(file.text()).err()?;
        Some(Finding::at(DASHBOARD, error.line(), format!("is not valid JSON: {error}")))
    }));
    findings
}

fn unknown_variables(repository: &Repository) -> Vec<Finding> {
    let keys = keys(repository);
    if keys.is_empty() {
        return vec![Finding::on(SETTINGS, format!("has no list `{KEYS}`. Change KEYS in this rule"))];
    }
    let is_known = |name: &str| VARIABLES.contains(&name) || keys.iter().any(|key| name == variable_of(key));
    let files = repository.files.iter();
    files
        .filter(|file| file.path.starts_with(FOLDER) || file.path == GUIDE)
        .flat_map(|file| names(file, "FOLKMOOT_"))
        .filter(|(_, _, name)| !is_known(name))
        .map(|(path, line, name)| {
            Finding::at(&path, line, format!("{name} is no setting of the coordinator. Correct it"))
        })
        .collect()
}

/// Returns the variable of a setting, as `folkmoot_settings::variable_of`.
fn variable_of(key: &str) -> String {
    format!("FOLKMOOT_{}", key.replace('.', "_").to_uppercase())
}

/// Returns the keys of all settings.
fn keys(repository: &Repository) -> Vec<String> {
    let text = repository.file(SETTINGS).map(File::text).unwrap_or_default();
    let list = text.split_once(KEYS).and_then(|(_, rest)| rest.split_once("];"));
    let texts = list.map(|(list, _)| list).unwrap_or_default();
    texts.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

fn unknown_metrics(repository: &Repository) -> Vec<Finding> {
    let recorded = recorded_metrics(repository);
    let files = repository.files.iter();
    files
        .filter(|file| file.path.starts_with(MONITORING))
        .flat_map(|file| names(file, "folkmoot_"))
        .filter(|(_, _, name)| !recorded.contains(name))
        .map(|(path, line, name)| {
            Finding::at(&path, line, format!("no coordinator records the metric {name}. Correct it"))
        })
        .collect()
}

/// Returns the first argument of every `counter!`, `gauge!` and `histogram!` in the coordinator.
fn recorded_metrics(repository: &Repository) -> BTreeSet<String> {
    let sources = repository
        .rust_files()
        .filter(|file| file.path.starts_with("server/") && file.path.contains("/src/"));
    let mut metrics = BTreeSet::new();
    for file in sources {
        for name in ["counter!(", "gauge!(", "histogram!("] {
            let arguments = file.text().split(name).skip(1).map(str::trim_start);
            let texts = arguments.filter_map(|rest| rest.strip_prefix('"')?.split_once('"'));
            metrics.extend(texts.map(|(text, _)| text.to_owned()));
        }
    }
    metrics
}

/// Returns every name in the file that begins with `prefix`, with its path and line. A prefix alone is no name.
fn names(file: &File, prefix: &str) -> Vec<(String, usize, String)> {
    let belongs = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut names = Vec::new();
    for (index, line) in file.text().lines().enumerate() {
        for rest in line.split(prefix).skip(1) {
            let end = rest.find(|letter| !belongs(letter)).unwrap_or(rest.len());
            if end > 0 {
                names.push((file.path.clone(), index + 1, format!("{prefix}{}", &rest[..end])));
            }
        }
    }
    names
}

/// Returns a finding if the file does not have the version.
fn misses(repository: &Repository, pin: &Pin) -> Option<Finding> {
    let version = (pin.version)(repository)?;
    let wanted = format!("{}{version}{}", pin.before, pin.after);
    let text = repository.file(pin.path).map(File::text).unwrap_or_default();
    (!text.contains(&wanted)).then(|| {
        Finding::on(pin.path, format!("does not have the version of the repository, `{}`", wanted.trim()))
    })
}

fn own_version(repository: &Repository) -> Option<String> {
    let manifest: Table = repository.file("Cargo.toml")?.text().parse().ok()?;
    Some(manifest.get("workspace")?.get("package")?.get("version")?.as_str()?.to_owned())
}

fn compiler_version(repository: &Repository) -> Option<String> {
    let file: Table = repository.file("rust-toolchain.toml")?.text().parse().ok()?;
    Some(file.get("toolchain")?.get("channel")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "pub const KEYS: [&str; 2] = [\n    \"server.tls\",\n    \"database.url\",\n];\n";
    const SOURCE: &str = "fn f() { metrics::counter!(\n \"folkmoot_updates_total\", &labels).increment(1) }";

    fn messages(path: &str, text: &str) -> Vec<String> {
        let repository =
            Repository::from_texts(&[(SETTINGS, LIST), ("server/a/src/lib.rs", SOURCE), (path, text)]);
        check(&repository).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn an_unknown_variable_is_found() {
        let path = "examples/deploy/systemd/a.service";
        let known = "FOLKMOOT_SERVER_TLS: \"off\"\nFOLKMOOT_DATABASE_URL=a\nFOLKMOOT_URL\nFOLKMOOT_%s";
        assert_eq!(messages(path, known), [""; 0]);
        let expected = ["FOLKMOOT_SERVER_TSL is no setting of the coordinator. Correct it"];
        assert_eq!(messages(path, "a\nFOLKMOOT_SERVER_TSL=off"), expected);
        assert_eq!(messages(GUIDE, "`FOLKMOOT_SERVER_TSL`"), expected);
        assert_eq!(messages("docs/a.md", "FOLKMOOT_SERVER_TSL"), [""; 0]);
    }

    #[test]
    fn an_unknown_metric_is_found() {
        let path = "examples/deploy/monitoring/alerts.yaml";
        assert_eq!(messages(path, "expr: rate(folkmoot_updates_total[5m]) > 1"), [""; 0]);
        assert_eq!(
            messages(path, "expr: sum(folkmoot_update_total)"),
            ["no coordinator records the metric folkmoot_update_total. Correct it"]
        );
    }

    #[test]
    fn a_dashboard_is_json() {
        assert_eq!(messages(DASHBOARD, "{\"title\": \"a\"}"), [""; 0]);
        assert!(messages(DASHBOARD, "{\"title\": }")[0].starts_with("is not valid JSON"));
    }

    #[test]
    fn versions_are_those_of_the_repository() {
        let chart = |version: &str| format!("name: a\nversion: {version}\nappVersion: \"{version}\"\n");
        let findings = |version: &str| {
            let texts = [
                (SETTINGS, LIST),
                ("Cargo.toml", "[workspace.package]\nversion = \"1.2.3\"\n"),
                ("examples/deploy/helm/folkmoot/Chart.yaml", &chart(version)),
            ];
            let found = check(&Repository::from_texts(&texts));
            found.iter().filter(|finding| finding.path.ends_with("Chart.yaml")).count()
        };
        assert_eq!((findings("1.2.3"), findings("1.2.2")), (0, 2));
    }
}
