//! `cargo xtask openapi`: the description of the coordinator's API, generated from its code.

use crate::workspace::{Failure, cargo, root, spelled};
use clap::Args;
use std::fs;
use std::process::Stdio;

const DOCUMENT: &str = "server/api/openapi.json";

/// Whether to write or to compare.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Change nothing; fail if the committed file is not what the code says
    #[arg(long)]
    check: bool,
}

/// Writes the document, or compares it with the committed one.
///
/// # Errors
/// Returns the first line that differs, or why the document could not be generated or written.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let generated = generate()?;
    let path = root().join(DOCUMENT);
    if arguments.check {
        let committed = fs::read_to_string(&path).unwrap_or_default();
        return compare(&committed, &generated);
    }
    let folder = path.parent().expect("the document lies in a folder");
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, generated));
    written.map_err(|error| Failure(format!("{DOCUMENT} cannot be written: {error}")))?;
    println!("xtask: wrote {DOCUMENT}");
    Ok(())
}

/// Asks the program itself, by a command that is hidden from its help.
fn generate() -> Result<String, Failure> {
    let mut command =
        cargo(&["run", "--quiet", "-p", "folkmoot-server", "--bin", "folkmoot", "--", "openapi"]);
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| Failure(format!("`{}` cannot start: {error}", spelled(&command))))?;
    if !output.status.success() {
        return Err(Failure(format!("`{}` ended with {}", spelled(&command), output.status)));
    }
    let text =
        String::from_utf8(output.stdout).map_err(|_| Failure("the document is not UTF-8".to_owned()))?;
    match text.trim_end() {
        "" => Err(Failure(format!("`{}` printed nothing", spelled(&command)))),
        // One newline at the end, however the program ends its output.
        document => Ok(format!("{document}\n")),
    }
}

fn compare(committed: &str, generated: &str) -> Result<(), Failure> {
    if committed == generated {
        println!("xtask: {DOCUMENT} is up to date");
        return Ok(());
    }
    let same = committed.lines().zip(generated.lines()).take_while(|(before, after)| before == after).count();
    let line = |text: &str| text.lines().nth(same).unwrap_or("(the end)").to_owned();
    Err(Failure(format!(
        "{DOCUMENT} is out of date from line {}:\n  - {}\n  + {}\nrun `cargo xtask openapi` and commit it",
        same + 1,
        line(committed),
        line(generated),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_shown() {
        assert!(compare("{\n}\n", "{\n}\n").is_ok());
        let failure = compare("{\n  \"a\": 1\n}\n", "{\n  \"a\": 2\n}\n").unwrap_err().0;
        assert!(
            failure.contains("line 2")
                && failure.contains("-   \"a\": 1")
                && failure.contains("+   \"a\": 2")
        );
        assert!(compare("", "{\n}\n").unwrap_err().0.contains("- (the end)"));
    }
}
