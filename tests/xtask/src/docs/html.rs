//! Escapes texts for pages, and checks the built ones: every link and picture leads to a file or an anchor of the site, and
//! nothing is loaded from another host.

use crate::workspace::{self, Failure, write};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The anchors of a page, and everything to which it refers.
#[derive(Debug, Default)]
struct Page {
    anchors: BTreeSet<String>,
    links: Vec<String>,
    /// The addresses of pictures, scripts and styles.
    loaded: Vec<String>,
}

/// Escapes a text for HTML and SVG, outside of attributes.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// Turns empty header cells into plain cells. Markdown has no tables without headers, and a header without a text
/// confuses screen readers.
///
/// # Errors
/// Names the page that cannot be read or written.
pub fn mend_tables(site: &Path) -> Result<(), Failure> {
    for name in workspace::files(site)? {
        if name.ends_with(".html") {
            let path = site.join(name);
            write(&path, workspace::read(&path)?.replace("<th></th>", "<td></td>"))?;
        }
    }
    Ok(())
}

/// Checks all pages of the site. Returns their number.
///
/// # Errors
/// Names every broken link, and everything that a page loads from elsewhere.
pub fn check(site: &Path) -> Result<usize, Failure> {
    let files: BTreeSet<String> = workspace::files(site)?.into_iter().collect();
    let mut pages = BTreeMap::new();
    for name in files.iter().filter(|name| name.ends_with(".html")) {
        pages.insert(name.clone(), read(&workspace::read(&site.join(name))?));
    }
    let faults = faults(&pages, &files);
    match faults.is_empty() {
        true => Ok(pages.len()),
        false => Err(Failure(format!("the site has faults:\n  {}", faults.join("\n  ")))),
    }
}

fn faults(pages: &BTreeMap<String, Page>, files: &BTreeSet<String>) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, page) in pages {
        for address in &page.loaded {
            if is_elsewhere(address) {
                faults.push(format!("{name} loads {address}. Copy the file into the site"));
            } else if !files.contains(&resolved(name, address).0) {
                faults.push(format!("{name} loads {address}, which does not exist"));
            }
        }
        for address in page.links.iter().filter(|address| !is_elsewhere(address)) {
            let (file, anchor) = resolved(name, address);
            if !files.contains(&file) {
                faults.push(format!("{name}: the link {address} leads nowhere"));
            } else if pages
                .get(&file)
                .is_some_and(|page| !anchor.is_empty() && !page.anchors.contains(&anchor))
            {
                faults.push(format!("{name}: the link {address} leads to a heading that does not exist"));
            }
        }
    }
    faults
}

fn is_elsewhere(address: &str) -> bool {
    address.contains("://") || address.starts_with("mailto:") || address.starts_with("//")
}

/// Returns the file in the site to which an address leads, and the anchor in it.
fn resolved(page: &str, address: &str) -> (String, String) {
    let (path, anchor) = address.split_once('#').unwrap_or((address, ""));
    if path.is_empty() {
        return (page.to_owned(), anchor.to_owned());
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    // The page for addresses that do not exist is sent for any of them, so its links begin at the site's root.
    if path.starts_with('/') {
        parts.clear();
    }
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    (parts.join("/"), anchor.to_owned())
}

/// Reads the anchors, links and resources of a page.
fn read(text: &str) -> Page {
    let mut page = Page::default();
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        if rest.starts_with("!--") {
            rest = rest.split_once("-->").map_or("", |(_, rest)| rest);
            continue;
        }
        if !rest.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
            continue;
        }
        let end = tag_end(rest);
        let tag = &rest[..end];
        let name = tag.split(|letter: char| !letter.is_ascii_alphanumeric()).next().unwrap_or_default();
        for (attribute, value) in attributes(tag) {
            match (name, attribute) {
                (_, "id") => drop(page.anchors.insert(value)),
                ("a", "href") => page.links.push(value),
                ("link", "href") | (_, "src") => page.loaded.push(value),
                _ => {}
            }
        }
        rest = &rest[end..];
        if matches!(name, "script" | "style") {
            rest = rest.split_once("</").map_or("", |(_, rest)| rest);
        }
    }
    page
}

/// Returns the position of the `>` that ends a tag.
fn tag_end(text: &str) -> usize {
    let mut quote = None;
    for (index, letter) in text.char_indices() {
        match (quote, letter) {
            (None, '>') => return index,
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            _ => {}
        }
    }
    text.len()
}

/// Returns the quoted attributes of a tag.
fn attributes(tag: &str) -> Vec<(&str, String)> {
    let mut found = Vec::new();
    let mut rest = tag;
    while let Some((before, after)) = rest.split_once("=\"") {
        let (value, next) = after.split_once('"').unwrap_or((after, ""));
        let name = before.rsplit(|letter: char| letter.is_whitespace()).next().unwrap_or_default();
        found.push((name, value.replace("&amp;", "&")));
        rest = next;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(pages: &[(&str, &str)]) -> Vec<String> {
        let files = ["a.html", "b/c.html", "images/d.svg"].map(str::to_owned).into();
        let pages = pages.iter().map(|(name, text)| ((*name).to_owned(), read(text))).collect();
        faults(&pages, &files)
    }

    #[test]
    fn links_and_anchors_are_followed() {
        let good = [
            (
                "a.html",
                "<h1 id=\"top\">A</h1><a href=\"b/c.html#part\">c</a> <a href=\"https://e.example/\">e</a>",
            ),
            (
                "b/c.html",
                "<h2 id=\"part\"></h2><a href=\"../a.html\">a</a><img src=\"../images/d.svg\"><a href=\"#part\">p</a>",
            ),
        ];
        assert_eq!(faults_of(&good), [""; 0]);
        let bad = [
            (
                "a.html",
                "<a class=\"x\" href=\"b/c.html#none\">c</a><img src=\"e.svg\"><script src=\"https://e.example/x.js\"></script>",
            ),
            (
                "b/c.html",
                "<a href=\"d.html\">d</a> &lt;a href=\"code.html\"&gt; <!-- <a href=\"f.html\"> -->",
            ),
        ];
        assert_eq!(
            faults_of(&bad),
            [
                "a.html loads e.svg, which does not exist",
                "a.html loads https://e.example/x.js. Copy the file into the site",
                "a.html: the link b/c.html#none leads to a heading that does not exist",
                "b/c.html: the link d.html leads nowhere",
            ]
        );
    }
}
