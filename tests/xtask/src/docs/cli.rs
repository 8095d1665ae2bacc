//! Writes a page for each command of the program, from the help texts that it prints.

use super::help::{Entry, Help, Section, escaped};
use crate::process::output;
use crate::workspace::{self, Failure};
use std::env;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// Options that every command has.
const COMMON: [&str; 2] = ["-h, --help", "-V, --version"];

/// Writes a page for each command into a folder, and a page that lists them.
///
/// # Errors
/// Fails if the program does not print a help text, or if a page cannot be written.
pub fn write(program: &Path, folder: &Path) -> Result<(), Failure> {
    let top = help(program, &[])?;
    let mut index = format!(
        "# Command line\n\n{} Every command prints its help with `--help`, and commands that show results accept \
         `--json`. This page and those of the commands come from the program itself.\n\n| command | |\n|---|---|\n",
        top.about.join(" ")
    );
    for name in top.commands() {
        let mut page = String::new();
        let about = command(program, &[name], &mut page)?;
        let _ = writeln!(index, "| [`folkmoot {name}`]({name}.md) | {} |", escaped(&about));
        workspace::write(&folder.join(format!("{name}.md")), page)?;
    }
    workspace::write(&folder.join("index.md"), index)
}

/// Adds a command and its subcommands to a page. Returns the first paragraph about the command.
fn command(program: &Path, words: &[&str], page: &mut String) -> Result<String, Failure> {
    let help = help(program, words)?;
    let heading = "#".repeat(words.len());
    let _ = write!(page, "{heading} folkmoot {}\n\n", words.join(" "));
    for paragraph in &help.about {
        let _ = write!(page, "{}\n\n", escaped(paragraph));
    }
    let _ = write!(page, "```text\n{}\n```\n\n", help.usage.join("\n"));
    for section in help.sections.iter().filter(|section| section.title != "Commands") {
        add_section(section, words.len() + 1, page);
    }
    for name in help.commands() {
        command(program, &[words, &[name]].concat(), page)?;
    }
    Ok(help.about.first().cloned().unwrap_or_default())
}

fn add_section(section: &Section, level: usize, page: &mut String) {
    let entries = section.entries.iter().filter(|entry| !COMMON.contains(&entry.name.as_str()));
    let entries: Vec<&Entry> = entries.collect();
    if entries.is_empty() {
        return;
    }
    let _ = write!(page, "{} {}\n\n", "#".repeat(level.min(6)), section.title);
    for Entry { name, paragraphs } in entries {
        let _ = write!(page, "`{name}`\n: ");
        let texts = paragraphs.iter().map(|paragraph| match paragraph.strip_prefix("- ") {
            Some(item) => format!("- {}", escaped(item)),
            None => escaped(paragraph),
        });
        let text = texts.collect::<Vec<_>>().join("\n\n  ");
        // A definition cannot be empty.
        let _ = write!(page, "{}\n\n", if text.is_empty() { "No description." } else { &text });
    }
}

fn help(program: &Path, words: &[&str]) -> Result<Help, Failure> {
    let mut command = without_variables(program);
    Ok(Help::parse(&output(command.args(words).arg("--help"))?))
}

/// Returns a command that runs the program without the variables that configure it, since it shows their values.
pub fn without_variables(program: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("FOLKMOOT_")) {
        command.env_remove(name);
    }
    command
}
