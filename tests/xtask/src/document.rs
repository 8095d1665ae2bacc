//! Committed documents that the `folkmoot` program generates.

use crate::process::spelled;
use crate::workspace::{Failure, cargo, root};
use std::fs;
use std::process::Stdio;

/// A committed document.
#[derive(Debug)]
pub struct Document {
    /// The document's path, relative to the root of the workspace.
    pub path: &'static str,
    /// The arguments with which the `folkmoot` program prints the document.
    pub question: &'static [&'static str],
    /// The command of this program that writes the document.
    pub command: &'static str,
}

impl Document {
    /// Writes the document, or compares it with the committed one.
    ///
    /// # Errors
    /// Fails if the document cannot be generated or written, or if the committed one differs. The error names the first
    /// line that differs.
    pub fn write_or_check(&self, is_check: bool) -> Result<(), Failure> {
        let generated = self.generate()?;
        let path = root().join(self.path);
        if is_check {
            let committed = fs::read_to_string(&path).unwrap_or_default();
            return self.compare(&committed, &generated);
        }
        let folder = path.parent().expect("the document is in a folder");
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, generated));
        written.map_err(|error| Failure(format!("{} cannot be written: {error}", self.path)))?;
        println!("xtask: wrote {}", self.path);
        Ok(())
    }

    /// Runs the program and returns the document that it prints.
    fn generate(&self) -> Result<String, Failure> {
        let run = ["run", "--quiet", "-p", "folkmoot-cli", "--bin", "folkmoot", "--"];
        let mut command = cargo(&[&run, self.question].concat());
        let output = command.stderr(Stdio::inherit()).output();
        let output =
            output.map_err(|error| Failure(format!("`{}` cannot start: {error}", spelled(&command))))?;
        if !output.status.success() {
            return Err(Failure(format!("`{}` ended with {}", spelled(&command), output.status)));
        }
        let text =
            String::from_utf8(output.stdout).map_err(|_| Failure(format!("{} is not UTF-8", self.path)))?;
        match text.trim_end() {
            "" => Err(Failure(format!("`{}` printed nothing", spelled(&command)))),
            // The file ends with exactly one newline, regardless of the end of the program's output.
            document => Ok(format!("{document}\n")),
        }
    }

    fn compare(&self, committed: &str, generated: &str) -> Result<(), Failure> {
        if committed == generated {
            println!("xtask: {} is up to date", self.path);
            return Ok(());
        }
        let lines = committed.lines().zip(generated.lines());
        let same = lines.take_while(|(before, after)| before == after).count();
        let line = |text: &str| text.lines().nth(same).unwrap_or("(the end)").to_owned();
        Err(Failure(format!(
            "{} is out of date from line {}:\n  - {}\n  + {}\nRun `cargo xtask {}` and commit the file.",
            self.path,
            same + 1,
            line(committed),
            line(generated),
            self.command,
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_shown() {
        let document = Document { path: "a.json", question: &["a"], command: "letters" };
        assert!(document.compare("{\n}\n", "{\n}\n").is_ok());
        let failure = document.compare("{\n  \"a\": 1\n}\n", "{\n  \"a\": 2\n}\n").unwrap_err().0;
        assert!(
            failure.contains("a.json is out of date from line 2")
                && failure.contains("-   \"a\": 1")
                && failure.contains("+   \"a\": 2")
                && failure.contains("`cargo xtask letters`")
        );
        assert!(document.compare("", "{\n}\n").unwrap_err().0.contains("- (the end)"));
    }
}
