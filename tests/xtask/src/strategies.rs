//! `cargo xtask strategies`: builds the components that tests run, from the example and from the one that misbehaves.

use crate::process::{announce, run};
use crate::workspace::{Failure, cargo, root, target};
use std::{fs, io, path::PathBuf};

const TARGET: &str = "wasm32-wasip2";
/// The packages, the names of their modules, and the files that tests read.
const COMPONENTS: [(&str, &str, &str); 2] = [
    ("examples/strategy", "strategy.wasm", "tests/strategies/strategy.wasm"),
    ("tests/strategies", "strange_strategy.wasm", "tests/strategies/strange.wasm"),
];
const INTERFACE: &str = "server/strategy/wit/strategy.wit";
/// The file with the digest of all sources, from which the components were built.
const DIGEST: &str = "tests/strategies/sources.digest";

/// Builds the components.
///
/// # Errors
/// Fails if the compiler or its target is missing, or the build fails.
pub fn run_command() -> Result<(), Failure> {
    let folder = target().join("strategies");
    for (package, module, component) in COMPONENTS {
        let mut build = cargo(&["build", "--release", "--locked", "--target", TARGET]);
        build.arg("--target-dir").arg(&folder).current_dir(root().join(package));
        announce(&build);
        run(&mut build).map_err(|failure| {
            Failure(format!("{failure}; `rustup target add {TARGET}` installs the target"))
        })?;
        let copied = fs::copy(folder.join(TARGET).join("release").join(module), root().join(component));
        copied.map_err(|error| Failure(format!("{component}: {error}")))?;
    }
    let noted = digest().and_then(|digest| fs::write(root().join(DIGEST), digest + "\n"));
    noted.map_err(|error| Failure(format!("{DIGEST}: {error}")))
}

/// Returns a digest of all sources of the components.
fn digest() -> io::Result<String> {
    let mut files = vec![root().join(INTERFACE)];
    for (package, ..) in COMPONENTS {
        let package = root().join(package);
        files.extend(["Cargo.toml", "Cargo.lock"].map(|name| package.join(name)));
        let sources = fs::read_dir(package.join("src"))?;
        let sources: io::Result<Vec<PathBuf>> =
            sources.map(|entry| entry.map(|entry| entry.path())).collect();
        files.extend(sources?);
    }
    files.sort();
    // FNV-1a: it only has to notice that a source was changed and the components were not built again.
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for file in files {
        for byte in fs::read(&file)?.into_iter().chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    Ok(format!("{hash:016x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_components_were_built_from_these_sources() {
        let kept = fs::read_to_string(root().join(DIGEST)).expect("it is in the repository");
        let found = digest().expect("the sources can be read");
        assert_eq!(kept.trim(), found, "run `cargo xtask strategies`");
    }
}
