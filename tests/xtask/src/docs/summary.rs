//! Reads the list of chapters, completes it, and makes the navigation of the site from it.
//!
//! A chapter that is a folder's `README.md` gets the folder's other pages as subchapters, unless the list has them.

use super::{html::escaped, links};
use crate::workspace::{Failure, files, read, write};
use std::fmt::Write as _;
use std::path::Path;

const SUMMARY: &str = "SUMMARY.md";

/// A part of the site, such as the tutorials. The part before the first title has an empty one.
#[derive(Debug, Default, PartialEq, Eq)]
struct Part {
    title: String,
    chapters: Vec<Chapter>,
}

#[derive(Debug, PartialEq, Eq)]
struct Chapter {
    name: String,
    /// The path of the page in the site's sources.
    page: String,
    pages_below: Vec<Chapter>,
}

/// Completes the list of chapters in the folder `pages`, and writes the navigation as a template of the theme.
///
/// # Errors
/// Names chapters without a page, and pages that the list does not have.
pub fn complete(pages: &Path, navigation: &Path) -> Result<(), Failure> {
    let path = pages.join(SUMMARY);
    let mut parts = parse(&read(&path)?);
    let mut names = files(pages)?;
    names.retain(|name| name.ends_with(".md") && name != SUMMARY);
    add_pages_below(&mut parts, &names, |page| title(&pages.join(page)))?;
    check(&parts, &names)?;
    write(&path, render(&parts))?;
    write(navigation, template(&parts))
}

fn parse(text: &str) -> Vec<Part> {
    let mut parts = vec![Part::default()];
    for line in text.lines().skip(1) {
        if let Some(title) = line.strip_prefix("# ") {
            parts.push(Part { title: title.to_owned(), chapters: Vec::new() });
        } else if let Some((name, rest)) =
            line.trim_start_matches("- ").strip_prefix('[').and_then(|line| line.split_once("]("))
        {
            let page = links::renamed(rest.trim_end_matches(')'));
            let chapter = Chapter { name: name.to_owned(), page, pages_below: Vec::new() };
            parts.last_mut().expect("there is a first part").chapters.push(chapter);
        }
    }
    parts
}

fn add_pages_below(
    parts: &mut [Part],
    names: &[String],
    title: impl Fn(&str) -> Result<String, Failure>,
) -> Result<(), Failure> {
    let listed: Vec<String> = all(parts).into_iter().map(str::to_owned).collect();
    for chapter in parts.iter_mut().flat_map(|part| &mut part.chapters) {
        let Some(folder) = chapter.page.strip_suffix("/index.md").map(|folder| format!("{folder}/")) else {
            continue;
        };
        for name in names.iter().filter(|name| name.starts_with(&folder) && !listed.contains(name)) {
            let below = Chapter { name: title(name)?, page: name.clone(), pages_below: Vec::new() };
            chapter.pages_below.push(below);
        }
    }
    Ok(())
}

/// Returns the first heading of a page.
fn title(page: &Path) -> Result<String, Failure> {
    let text = read(page)?;
    let heading = text.lines().find_map(|line| line.strip_prefix("# "));
    heading.map(|heading| heading.replace('`', "")).ok_or_else(|| {
        Failure(format!("{} has no heading. Begin the page with `# ` and its title", page.display()))
    })
}

/// Returns the pages of all chapters.
fn all(parts: &[Part]) -> Vec<&str> {
    parts.iter().flat_map(|part| all_of(&part.chapters)).map(|chapter| chapter.page.as_str()).collect()
}

fn check(parts: &[Part], names: &[String]) -> Result<(), Failure> {
    let listed = all(parts);
    let orphans = names.iter().filter(|name| !listed.contains(&name.as_str()));
    let missing = listed.iter().filter(|page| !names.iter().any(|name| name == *page));
    let mut faults: Vec<String> =
        orphans.map(|name| format!("{name} is in no chapter. Add it to docs/{SUMMARY}")).collect();
    faults.extend(missing.map(|page| format!("docs/{SUMMARY} names {page}, which does not exist")));
    match faults.is_empty() {
        true => Ok(()),
        false => Err(Failure(faults.join("\n"))),
    }
}

/// Returns the list of chapters for mdBook.
fn render(parts: &[Part]) -> String {
    let mut text = "# Summary\n".to_owned();
    for Part { title, chapters } in parts {
        if !title.is_empty() {
            let _ = write!(text, "\n# {title}\n");
        }
        for chapter in chapters {
            // A chapter before the first part has no number, so mdBook wants no list there.
            let mark = if title.is_empty() { "" } else { "- " };
            let _ = write!(text, "\n{mark}[{}]({})", chapter.name, chapter.page);
            for below in &chapter.pages_below {
                let _ = write!(text, "\n    - [{}]({})", below.name, below.page);
            }
        }
        text.push('\n');
    }
    text
}

/// Returns the navigation as a Handlebars template. It marks the current page and opens its part.
fn template(parts: &[Part]) -> String {
    let mut text = String::new();
    for Part { title, chapters } in parts {
        if title.is_empty() {
            text += &format!("<ul>{}</ul>\n", chapters.iter().map(item).collect::<String>());
            continue;
        }
        let _ = writeln!(
            text,
            "<details{}><summary>{title}</summary><ul>{}</ul></details>",
            on_pages(&all_of(chapters), " open"),
            chapters.iter().map(item).collect::<String>()
        );
    }
    text
}

/// Returns the chapters and all chapters below them.
fn all_of(chapters: &[Chapter]) -> Vec<&Chapter> {
    chapters.iter().flat_map(|chapter| std::iter::once(chapter).chain(&chapter.pages_below)).collect()
}

/// Returns a template with a text that appears only on the pages of these chapters.
fn on_pages(chapters: &[&Chapter], text: &str) -> String {
    chapters
        .iter()
        .map(|Chapter { page, .. }| format!("{{{{#if (eq path \"{page}\")}}}}{text}{{{{/if}}}}"))
        .collect()
}

fn item(chapter: &Chapter) -> String {
    let link = link(chapter);
    if chapter.pages_below.is_empty() {
        return format!("<li>{link}</li>\n");
    }
    let below: String = chapter.pages_below.iter().map(item).collect();
    // The subchapters are only there for the pages that need them: some chapters have dozens.
    let needed = on_pages(&all_of(std::slice::from_ref(chapter)), "{{> below}}");
    format!("<li>{link}{{{{#*inline \"below\"}}}}<ul>{below}</ul>{{{{/inline}}}}{needed}</li>\n")
}

fn link(chapter: &Chapter) -> String {
    let file = chapter.page.strip_suffix(".md").unwrap_or(&chapter.page);
    let current = on_pages(&[chapter], " aria-current=\"page\"");
    format!("<a href=\"{{{{ path_to_root }}}}{file}.html\"{current}>{}</a>", escaped(&chapter.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Summary\n\n[Start](index.md)\n\n# Reference\n\n- [Commands](cli/README.md)\n- [Errors](errors.md)\n";

    fn completed(names: &[&str]) -> (Vec<Part>, Result<(), Failure>) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut parts = parse(TEXT);
        add_pages_below(&mut parts, &names, |page| Ok(page.to_uppercase())).unwrap();
        let checked = check(&parts, &names);
        (parts, checked)
    }

    #[test]
    fn the_pages_of_a_folder_become_subchapters() {
        let (parts, checked) = completed(&["index.md", "cli/index.md", "cli/serve.md", "errors.md"]);
        checked.unwrap();
        assert_eq!(
            render(&parts),
            "# Summary\n\n[Start](index.md)\n\n# Reference\n\n- [Commands](cli/index.md)\n    \
             - [CLI/SERVE.MD](cli/serve.md)\n- [Errors](errors.md)\n"
        );
    }

    #[test]
    fn orphans_and_missing_pages_are_named() {
        let (_, checked) = completed(&["index.md", "cli/index.md", "other.md"]);
        let faults = checked.unwrap_err().0;
        assert_eq!(
            faults,
            "other.md is in no chapter. Add it to docs/SUMMARY.md\ndocs/SUMMARY.md names errors.md, which does not exist"
        );
    }

    #[test]
    fn the_navigation_links_from_the_root_and_marks_the_page() {
        let (parts, _) = completed(&["index.md", "cli/index.md", "cli/serve.md", "errors.md"]);
        let template = template(&parts);
        assert!(template.contains(
            "<a href=\"{{ path_to_root }}errors.html\"{{#if (eq path \"errors.md\")}} aria-current=\"page\"{{/if}}>Errors</a>"
        ));
        assert!(template.contains("{{#if (eq path \"cli/serve.md\")}} open{{/if}}"));
    }
}
