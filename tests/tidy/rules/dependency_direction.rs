//! An arrow between packages may only point down.

use crate::{
    finding::Finding,
    manifest::{Package, packages},
    repository::Repository,
};

/// The picture in `docs/architecture.md`, lowest layer first.
const LAYERS: [&[&str]; 10] = [
    /* words     */ &["folkmoot-protocol"],
    /* graphs    */ &["folkmoot-graph"],
    /* executors */ &["folkmoot-onnx", "folkmoot-gpu"],
    /* maths     */ &["folkmoot-engine", "folkmoot-update", "folkmoot-privacy"],
    /* decisions */
    &["folkmoot-session", "folkmoot-data", "folkmoot-inference", "folkmoot-coordinator"],
    /* parts     */ &["folkmoot-client", "folkmoot-storage", "folkmoot-task-file"],
    /* surface   */ &["folkmoot-api"],
    /* drivers   */ &["folkmoot-rounds"],
    /* hosts     */
    &["folkmoot-service", "folkmoot-simulation", "folkmoot-bindgen", "folkmoot-mobile", "folkmoot-wasm"],
    /* command   */ &["folkmoot-cli"],
];

/// What runs on a device lives here, and may never reach into the server's rooms.
const DEVICE_ROOMS: [&str; 3] = ["client-sdk", "mobile-bindings", "wasm"];

/// Leaves: they may use anything, and nothing outside may use them.
const LEAF_ROOMS: [&str; 2] = ["tests", "examples"];

/// Finds every arrow between the workspace's packages that does not point down.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let packages = packages(repository);
    let mut findings = Vec::new();
    for from in packages.iter().filter(|package| !LEAF_ROOMS.contains(&room(package))) {
        if layer(&from.name).is_none() {
            let advice = "stands in no layer: add it to LAYERS in tests/tidy/rules/dependency_direction.rs";
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

/// Says why the arrow may not be; `None` if it may.
fn refusal(from: &Package, to: &Package) -> Option<&'static str> {
    if LEAF_ROOMS.contains(&room(to)) {
        return Some("nothing outside tests and examples may depend on them");
    }
    if DEVICE_ROOMS.contains(&room(from)) && room(to) == "server" {
        return Some("a device's room may never depend on a server's room");
    }
    (layer(&to.name) >= layer(&from.name)).then_some("an arrow may only point to a strictly lower layer")
}

/// Refuses a dependency on a package of this name that is not in the repository.
fn missing<'a>(from: &'a Package, packages: &'a [Package]) -> impl Iterator<Item = Finding> + 'a {
    let ours = from.dependencies.iter().filter(|name| name.starts_with("folkmoot-"));
    ours.filter(|name| packages.iter().all(|package| package.name != **name)).map(|name| {
        Finding::on(&from.manifest, format!("{} -> {name}: there is no such package here", from.name))
    })
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&name))
}

/// Returns the top folder of the package.
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

    /// Makes a repository in which `from` has one dependency.
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
