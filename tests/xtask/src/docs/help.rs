//! Reads the help text of a command, as clap prints it.

/// The help of one command.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Help {
    /// The paragraphs before the usage.
    pub about: Vec<String>,
    pub usage: Vec<String>,
    pub sections: Vec<Section>,
}

/// A titled list, such as the options.
#[derive(Debug, PartialEq, Eq)]
pub struct Section {
    pub title: String,
    pub entries: Vec<Entry>,
}

/// A command, an argument or an option.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    pub paragraphs: Vec<String>,
}

/// Lines with a deeper indentation continue an entry.
const ENTRY_INDENT_MAX: usize = 6;

impl Help {
    /// Parses a help text.
    pub fn parse(text: &str) -> Self {
        let mut help = Self::default();
        let mut begins_paragraph = true;
        for line in text.lines() {
            let (words, indent) = (line.trim(), line.len() - line.trim_start().len());
            if words.is_empty() {
                begins_paragraph = true;
                continue;
            }
            if let Some(usage) = line.strip_prefix("Usage: ") {
                help.usage.push(usage.to_owned());
            } else if indent == 0 && words.ends_with(':') && !help.usage.is_empty() {
                let title = words.trim_end_matches(':').to_owned();
                help.sections.push(Section { title, entries: Vec::new() });
            } else if let Some(section) = help.sections.last_mut() {
                section.add(words, indent, begins_paragraph);
            } else if help.usage.is_empty() {
                append(&mut help.about, words, begins_paragraph);
            } else {
                help.usage.push(words.to_owned());
            }
            begins_paragraph = false;
        }
        help
    }

    /// Returns the names of the commands below this one.
    pub fn commands(&self) -> Vec<&str> {
        let sections = self.sections.iter().filter(|section| section.title == "Commands");
        sections
            .flat_map(|section| &section.entries)
            .map(|entry| entry.name.as_str())
            .filter(|name| *name != "help")
            .collect()
    }
}

impl Section {
    fn add(&mut self, words: &str, indent: usize, begins_paragraph: bool) {
        if indent > ENTRY_INDENT_MAX {
            if let Some(entry) = self.entries.last_mut() {
                append(&mut entry.paragraphs, words, begins_paragraph);
            }
            return;
        }
        // A short description stands behind the name, after at least two blanks.
        let (name, description) = words.split_once("  ").unwrap_or((words, ""));
        let mut entry = Entry { name: name.to_owned(), paragraphs: Vec::new() };
        if !description.is_empty() {
            entry.paragraphs.push(description.trim().to_owned());
        }
        self.entries.push(entry);
    }
}

/// Appends a line to the last paragraph, or begins another one. Items of a list and notes in brackets stand alone.
fn append(paragraphs: &mut Vec<String>, words: &str, begins: bool) {
    match paragraphs.last_mut() {
        Some(last) if !begins && !words.starts_with("- ") && !words.starts_with('[') => {
            last.push(' ');
            last.push_str(words);
        }
        _ => paragraphs.push(words.to_owned()),
    }
}

/// Escapes a help text for Markdown. Text between backticks stays code.
pub fn escaped(text: &str) -> String {
    let (mut result, mut in_code) = (String::with_capacity(text.len()), false);
    for letter in text.chars() {
        match letter {
            '`' => in_code = !in_code,
            '<' | '>' | '*' | '_' | '[' | ']' | '|' | '~' if !in_code => result.push('\\'),
            _ => {}
        }
        result.push(letter);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Run a coordinator.\n\nIt stops on ctrl-c.\n\nUsage: folkmoot serve [OPTIONS]\n\nCommands:\n  \
        show  Show a\n        thing\n  help  Print this message\n\nOptions:\n      --data <DIR>\n          The folder. It is\n          \
        private.\n\n          Possible values:\n          - a: One\n          [default: x]\n\n  -h, --help\n          Print help\n";

    #[test]
    fn both_layouts_are_read() {
        let help = Help::parse(TEXT);
        assert_eq!(help.about, ["Run a coordinator.", "It stops on ctrl-c."]);
        assert_eq!(help.usage, ["folkmoot serve [OPTIONS]"]);
        assert_eq!(help.commands(), ["show"]);
        assert_eq!(help.sections[0].entries[0].paragraphs, ["Show a thing"]);
        let data = &help.sections[1].entries[0];
        assert_eq!(data.name, "--data <DIR>");
        assert_eq!(
            data.paragraphs,
            ["The folder. It is private.", "Possible values:", "- a: One", "[default: x]"]
        );
        assert_eq!(help.sections[1].entries[1].name, "-h, --help");
    }

    #[test]
    fn only_text_outside_of_code_is_escaped() {
        assert_eq!(escaped("a_b <c> `d_e <f>`"), "a\\_b \\<c\\> `d_e <f>`");
    }
}
