//! A dependency between packages may only point to a lower layer.

use crate::{
    finding::Finding,
    manifest::{Package, packages},
    repository::Repository,
};

/// The layers of `docs/architecture.md`, lowest first.
const LAYERS: [&[&str]; 18] = [
    /* words     */ &["folkmoot-protocol"],
    /* graphs    */ &["folkmoot-graph", "folkmoot-onnx-file", "folkmoot-secure-aggregation"],
    /* executors */ &["folkmoot-onnx", "folkmoot-gpu", "folkmoot-loss"],
    /* maths     */ &["folkmoot-engine", "folkmoot-update", "folkmoot-privacy", "folkmoot-component"],
    /* aggregate */ &["folkmoot-aggregation", "folkmoot-selection"],
    /* decisions */
    &["folkmoot-session", "folkmoot-data", "folkmoot-inference", "folkmoot-coordinator", "folkmoot-strategy"],
    /* policies  */ &["folkmoot-work"],
    /* files     */
    &["folkmoot-noise", "folkmoot-round-log", "folkmoot-training", "folkmoot-test-postgres"],
    /* blobs     */ &["folkmoot-objects"],
    /* parts     */
    &[
        "folkmoot-client",
        "folkmoot-edge",
        "folkmoot-notification",
        "folkmoot-sign-in",
        "folkmoot-statistics",
        "folkmoot-storage",
        "folkmoot-task-file",
        "folkmoot-world",
    ],
    /* surface   */ &["folkmoot-api", "folkmoot-crowd", "folkmoot-unmasking"],
    /* updates   */ &["folkmoot-combine"],
    /* drivers   */ &["folkmoot-rounds", "folkmoot-committee", "folkmoot-edge-aggregator"],
    /* process   */ &["folkmoot-processes", "folkmoot-telemetry", "folkmoot-terminal"],
    /* hosts     */
    &["folkmoot-service", "folkmoot-simulation", "folkmoot-bindgen", "folkmoot-mobile", "folkmoot-wasm"],
    /* set-ups   */
    &["folkmoot-settings", "folkmoot-demo", "folkmoot-load", "folkmoot-attack", "folkmoot-backup"],
    /* checks    */ &["folkmoot-doctor"],
    /* command   */ &["folkmoot-cli"],
];

/// Top-level folders with code that runs on devices. It may never depend on `server`.
const DEVICE_ROOMS: [&str; 3] = ["client-sdk", "mobile-bindings", "wasm"];

/// Top-level folders whose packages may depend on every package. Other packages may not depend on them.
const LEAF_ROOMS: [&str; 2] = ["tests", "examples"];

/// Finds every dependency between the repository's packages that does not point to a lower layer.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let packages = packages(repository);
    let mut findings = Vec::new();
    for from in packages.iter().filter(|package| !LEAF_ROOMS.contains(&room(package))) {
        if layer(&from.name).is_none() {
            let advice = "has no layer. Add it to LAYERS in tests/tidy/rules/dependency_direction.rs";
            findings.push(Finding::on(&from.manifest, format!("{} {advice}", from.name)));
            continue;
        }
        let known = packages.iter().filter(|to| from.dependencies.contains(&to.name));
        findings.extend(known.filter_map(|to| {
            let reason = refusal(from, to)?;
            Some(Finding::on(&from.manifest, format!("{} -> {}: {reason}", from.name, to.name)))
        }));
        findings.extend(missing(from, &packages));
    }
    findings
}

/// Returns the reason why the dependency is forbidden; `None` if it is allowed.
fn refusal(from: &Package, to: &Package) -> Option<&'static str> {
    if LEAF_ROOMS.contains(&room(to)) {
        return Some("packages outside tests and examples may not depend on a package in them");
    }
    if DEVICE_ROOMS.contains(&room(from)) && room(to) == "server" {
        return Some("code for devices may not depend on a package in server/");
    }
    (layer(&to.name) >= layer(&from.name)).then_some(
        "a package may only depend on a strictly lower layer. Move the shared code to a lower package; \
         docs/architecture.md shows the layers",
    )
}

/// Finds dependencies on `folkmoot-` packages that do not exist in the repository.
fn missing<'a>(from: &'a Package, packages: &'a [Package]) -> impl Iterator<Item = Finding> + 'a {
    let ours = from.dependencies.iter().filter(|name| name.starts_with("folkmoot-"));
    ours.filter(|name| packages.iter().all(|package| package.name != **name)).map(|name| {
        let message =
            format!("{} -> {name}: the repository has no such package. Correct the name", from.name);
        Finding::on(&from.manifest, message)
    })
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&name))
}

/// Returns the top-level folder of the package.
fn room(package: &Package) -> &str {
    package.folder.split('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOLDERS: [(&str, &str); 11] = [
        ("folkmoot-protocol", "client-sdk/protocol"),
        ("folkmoot-engine", "client-sdk/engine"),
        ("folkmoot-update", "client-sdk/update"),
        ("folkmoot-session", "client-sdk/session"),
        ("folkmoot-client", "client-sdk"),
        ("folkmoot-privacy", "server/privacy"),
        ("folkmoot-storage", "server/storage"),
        ("folkmoot-rounds", "server/rounds"),
        ("folkmoot-service", "server/service"),
        ("folkmoot-cli", "server/cli"),
        ("folkmoot-tests", "tests"),
    ];

    /// Checks a repository in which `from` depends only on `to`.
    fn edge(from: &str, to: &str) -> Vec<Finding> {
        let manifests: Vec<(String, String)> = FOLDERS
            .iter()
            .map(|(name, folder)| {
                let dependency = if *name == from { format!("{to}.workspace = true") } else { String::new() };
                let text = format!("[package]\nname = '{name}'\n[dev-dependencies]\n{dependency}");
                (format!("{folder}/Cargo.toml"), text)
            })
            .collect();
        let texts: Vec<(&str, &str)> =
            manifests.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        check(&Repository::from_texts(&texts))
    }

    #[test]
    fn arrows_down_pass() {
        for (from, to) in [
            ("folkmoot-engine", "folkmoot-protocol"),
            ("folkmoot-session", "folkmoot-engine"),
            ("folkmoot-rounds", "folkmoot-update"),
            ("folkmoot-service", "folkmoot-storage"),
            ("folkmoot-cli", "folkmoot-client"),
            ("folkmoot-cli", "folkmoot-service"),
            ("folkmoot-tests", "folkmoot-cli"),
        ] {
            assert_eq!(edge(from, to), [], "{from} -> {to}");
        }
    }

    #[test]
    fn arrows_up_sideways_and_across_are_found() {
        for (from, to) in [
            ("folkmoot-protocol", "folkmoot-engine"),
            ("folkmoot-engine", "folkmoot-update"),
            ("folkmoot-client", "folkmoot-service"),
            ("folkmoot-client", "folkmoot-storage"),
            ("folkmoot-storage", "folkmoot-rounds"),
            ("folkmoot-session", "folkmoot-privacy"),
            ("folkmoot-rounds", "folkmoot-service"),
            ("folkmoot-cli", "folkmoot-tests"),
            ("folkmoot-cli", "folkmoot-elsewhere"),
        ] {
            assert_eq!(edge(from, to).len(), 1, "{from} -> {to}");
        }
    }

    #[test]
    fn a_package_without_a_layer_is_found() {
        let text = "[package]\nname = 'folkmoot-misc'";
        assert_eq!(check(&Repository::from_texts(&[("server/misc/Cargo.toml", text)])).len(), 1);
    }
}
