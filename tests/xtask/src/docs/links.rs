//! Rewrites the links of a page for the site.

use std::path::{Component, Path, PathBuf};

/// The address of the repository's files. Links to folders work there, too.
const REPOSITORY: &str = "https://github.com/folkmoot/folkmoot/blob/main/";

/// Rewrites the relative links of a page, and returns its new text.
///
/// `page` is the page's path in the repository, such as `docs/guides/python.md`, and `folder` the folder of all pages.
/// Links within the folder stay relative, and every other link leads to the repository. `exists` says whether a path
/// exists in the repository or is generated.
///
/// # Errors
/// Names the first link to a file that does not exist, with its line.
pub fn rewrite(
    text: &str,
    page: &str,
    folder: &str,
    exists: impl Fn(&str) -> bool,
) -> Result<String, String> {
    let (mut result, mut in_block) = (String::with_capacity(text.len()), false);
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        }
        if in_block {
            result += line;
        } else {
            let rewritten = rewrite_line(line, page, folder, &exists);
            result += &linked_picture(rewritten.map_err(|why| format!("{page}, line {}: {why}", index + 1))?);
        }
        result.push('\n');
    }
    Ok(result)
}

/// Turns a line that is only a picture into a link to the picture. Otherwise mdBook would add a control to it.
fn linked_picture(line: String) -> String {
    let path = line
        .strip_prefix("![")
        .and_then(|rest| rest.strip_suffix(')'))
        .and_then(|rest| rest.split_once("]("));
    match path {
        Some((_, path)) => format!("[{line}]({path})"),
        None => line,
    }
}

fn rewrite_line(
    line: &str,
    page: &str,
    folder: &str,
    exists: &impl Fn(&str) -> bool,
) -> Result<String, String> {
    let (mut result, mut rest) = (String::with_capacity(line.len()), line);
    while let Some(start) = link_start(rest) {
        let (before, after) = rest.split_at(start);
        let end = after.find(')').ok_or_else(|| format!("the link `]({after}` has no end"))?;
        result += before;
        result += &target(&after[..end], page, folder, exists)?;
        rest = &after[end..];
    }
    Ok(result + rest)
}

/// Returns the position after the next `](` outside of code.
fn link_start(text: &str) -> Option<usize> {
    let (mut in_code, mut is_escaped) = (false, false);
    for (index, letter) in text.char_indices() {
        if std::mem::take(&mut is_escaped) {
            continue;
        }
        match letter {
            '\\' => is_escaped = !in_code,
            '`' => in_code = !in_code,
            ']' if !in_code && text[index..].starts_with("](") => return Some(index + 2),
            _ => {}
        }
    }
    None
}

/// Returns the new target of one link.
fn target(link: &str, page: &str, folder: &str, exists: &impl Fn(&str) -> bool) -> Result<String, String> {
    if link.contains("://") || link.starts_with('#') || link.starts_with("mailto:") {
        return Ok(link.to_owned());
    }
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let here = Path::new(page).parent().expect("a page is in a folder");
    let found = normalise(&here.join(path));
    if !exists(&found) {
        return Err(format!("the link `{link}` leads to {found}, which does not exist"));
    }
    let anchor = anchor.map(|anchor| format!("#{anchor}")).unwrap_or_default();
    match found.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')) {
        true => Ok(renamed(path) + &anchor),
        false => Ok(format!("{REPOSITORY}{found}{anchor}")),
    }
}

/// Returns the path of a page in the site's sources: a folder's `README.md` becomes its `index.md`.
pub fn renamed(path: &str) -> String {
    match path.strip_suffix("README.md") {
        Some(folder) if folder.is_empty() || folder.ends_with('/') => format!("{folder}index.md"),
        _ => path.to_owned(),
    }
}

/// Removes `.` and `..` from a relative path.
fn normalise(path: &Path) -> String {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                parts.pop();
            }
            Component::Normal(name) => parts.push(name),
            _ => {}
        }
    }
    parts.to_string_lossy().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: [&str; 5] =
        ["docs/a.md", "docs/decisions/README.md", "docs/images/a.png", "examples/digits", "README.md"];

    fn rewritten(line: &str) -> Result<String, String> {
        let text = rewrite(line, "docs/guides/b.md", "docs", |path| FILES.contains(&path));
        text.map(|text| text.trim_end().to_owned())
    }

    #[test]
    fn links_within_the_pages_stay_and_others_lead_to_the_repository() {
        let unchanged = "[a](../a.md#b) ![c](../images/a.png) <d> [e](https://e.example/) [f](#f)";
        assert_eq!(rewritten(unchanged).unwrap(), unchanged);
        assert_eq!(rewritten("[d](../decisions/README.md)").unwrap(), "[d](../decisions/index.md)");
        assert_eq!(
            rewritten("[`digits`](../../examples/digits), [R](../../README.md#x)").unwrap(),
            format!("[`digits`]({REPOSITORY}examples/digits), [R]({REPOSITORY}README.md#x)")
        );
    }

    #[test]
    fn a_picture_is_a_link_to_itself() {
        assert_eq!(rewritten("![a](../images/a.png)").unwrap(), "[![a](../images/a.png)](../images/a.png)");
    }

    #[test]
    fn code_is_left_alone() {
        for text in ["`[a](none.md)`", r"\[a\](none.md)", "```text\n[a](none.md)\n```"] {
            assert_eq!(rewritten(text).unwrap(), text);
        }
    }

    #[test]
    fn a_link_to_nothing_is_named_with_its_line() {
        let failure = rewritten("a\n[b](../c.md#d)").unwrap_err();
        assert_eq!(
            failure,
            "docs/guides/b.md, line 2: the link `../c.md#d` leads to docs/c.md, which does not exist"
        );
    }
}
