//! Makes calls from Kotlin cheaper by reusing the status structure in which the library reports errors.
//!
//! UniFFI's generated code allocates a new status for each crossing, with native memory and a cleaner, and a call
//! crosses twice. A successful call leaves the status unchanged, so the next call on the same thread can reuse it. A
//! nested call, such as a listener that calls the client, finds the outer status in use and allocates another.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The generated code to replace, verbatim. Another version of UniFFI may generate something else.
const GENERATED: &str = "    var status = UniffiRustCallStatus()
    val return_value = callback(status)
    uniffiCheckCallStatus(errorHandler, status)
    return return_value
}
";

const REUSING: &str = "    val free = uniffiFreeStatuses.get()
    val status = free.removeLastOrNull() ?: UniffiRustCallStatus()
    val return_value = callback(status)
    uniffiCheckCallStatus(errorHandler, status)
    free.addLast(status)
    return return_value
}

private val uniffiFreeStatuses = ThreadLocal.withInitial { ArrayDeque<UniffiRustCallStatus>() }
";

/// Returns the output folder if these arguments generate Kotlin.
pub fn written_by(arguments: &[String]) -> Option<PathBuf> {
    let after = |name: &str| arguments.iter().skip_while(|one| *one != name).nth(1);
    (after("--language")? == "kotlin").then(|| after("--out-dir").map(PathBuf::from))?
}

/// Rewrites every generated source below a folder so that it reuses its statuses.
///
/// # Errors
/// Names the file that cannot be changed, or says that no source contains the code to replace.
pub fn reuse_statuses(folder: &Path) -> Result<(), String> {
    let mut changed = 0;
    for source in sources(folder)? {
        let failed = |error| format!("{}: {error}", source.display());
        let text = fs::read_to_string(&source).map_err(failed)?;
        if let Some(text) = reusing(&text) {
            fs::write(&source, text).map_err(failed)?;
            changed += 1;
        }
    }
    match changed {
        0 => Err(format!(
            "no source in {} contains the expected code; compare `GENERATED` with the output of this version of UniFFI",
            folder.display()
        )),
        _ => Ok(()),
    }
}

/// Returns the source with reused statuses, or `None` if it does not contain the code to replace.
fn reusing(text: &str) -> Option<String> {
    (text.matches(GENERATED).count() == 1).then(|| text.replacen(GENERATED, REUSING, 1))
}

fn sources(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error| format!("{}: {error}", folder.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        match path.extension() {
            _ if path.is_dir() => found.extend(sources(&path)?),
            Some(extension) if extension == "kt" => found.push(path),
            _ => {}
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_kotlin_is_changed_and_only_where_it_is_as_expected() {
        let said = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            written_by(&said("generate lib.so --language kotlin --out-dir here")),
            Some("here".into())
        );
        assert_eq!(written_by(&said("generate lib.so --language swift --out-dir here")), None);
        assert_eq!(written_by(&said("--version")), None);
        let text = format!("before\n{GENERATED}after\n");
        assert_eq!(reusing(&text), Some(format!("before\n{REUSING}after\n")));
        assert_eq!(reusing("something else"), None);
        assert_eq!(reusing(&format!("{GENERATED}{GENERATED}")), None);
    }
}
