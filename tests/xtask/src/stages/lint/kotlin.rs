//! The linter and formatter of Kotlin.

use super::{Linted, check_format};
use crate::digest::sha256;
use crate::stages::kotlin;
use crate::workspace::{Failure, failure, target};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The version of ktlint, and the SHA-256 digest of its jar.
const VERSION: &str = "1.8.0";
const DIGEST: &str = "369ad2b789f95a011f807e1fcb690ccef80bd7cd014fd139e73ae82dcc0baeab";
/// The style. It applies to the examples, too, which are outside of its folder.
const SETTINGS: &str = "mobile-bindings/kotlin/.editorconfig";
/// The folders that contain Kotlin. Gradle's build folders contain generated Kotlin.
const FOLDERS: [&str; 2] = ["examples/android", "mobile-bindings/kotlin"];
const GENERATED: &str = "!**/build/**";
/// The linter runs for a second, which is too short for the thorough compiler.
const BRIEFLY: [&str; 2] = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"];

/// Runs ktlint on every source.
pub fn lint() -> Result<Linted, Failure> {
    if !kotlin::is_present() {
        return Ok(Linted::Missing("Java or Maven"));
    }
    let jar = jar()?;
    let settings = format!("--editorconfig={SETTINGS}");
    let mut ktlint = Command::new("java");
    ktlint.args(BRIEFLY).arg("-jar").arg(&jar).args(["--relative", &settings]).args(FOLDERS).arg(GENERATED);
    check_format(&mut ktlint, &format!("java -jar {} {settings} --format", jar.display()))?;
    Ok(Linted::Passed)
}

/// Returns the jar of ktlint. Downloads it into the target folder if it is missing.
fn jar() -> Result<PathBuf, Failure> {
    let name = format!("ktlint-cli-{VERSION}-all.jar");
    let folder = target().join(format!("ktlint-{VERSION}"));
    let jar = folder.join(&name);
    if jar.is_file() {
        return Ok(jar);
    }
    kotlin::copy(&format!("com.pinterest.ktlint:ktlint-cli:{VERSION}:jar:all"), &folder)?;
    let line = sha256(&folder, [&name])?;
    match line.split_whitespace().next() {
        Some(DIGEST) => Ok(jar),
        digest => {
            let digest = digest.unwrap_or("unknown").to_owned();
            fs::remove_file(&jar).map_err(|error| failure(&jar, &error))?;
            Err(Failure(format!(
                "{name} has the SHA-256 digest {digest}, but it must have {DIGEST}. Delete the file of this name in \
                 the local Maven repository and run this again"
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::{self, root};

    /// ktlint succeeds if it finds no file.
    #[test]
    fn settings_and_sources_are_where_they_are_read() {
        assert!(root().join(SETTINGS).is_file());
        for folder in FOLDERS {
            let files = workspace::files(&root().join(folder)).unwrap();
            assert!(files.iter().any(|file| file.ends_with(".kt")), "{folder} has no Kotlin");
        }
    }
}
