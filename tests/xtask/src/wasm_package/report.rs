use super::Size;
use crate::workspace::{Failure, target};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

/// Crates with less code than this, in bytes, share one line.
const SHOWN_BYTES_MIN: u64 = 2000;

/// Writes a static page of the sizes and returns its path.
pub fn write(sizes: &[Size]) -> Result<PathBuf, Failure> {
    let path = target().join("wasm-size.html");
    fs::write(&path, page(sizes)).map_err(|error| Failure(format!("{}: {error}", path.display())))?;
    Ok(path)
}

fn page(sizes: &[Size]) -> String {
    let mut page = String::from(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>Folkmoot in a browser: size by crate</title>\n\
         <style>body{font:16px sans-serif;max-width:50rem;margin:2rem auto}td,th{padding:.1rem 1rem;\
         text-align:right}td:first-child{text-align:left}</style>\n<h1>Size by crate</h1>\n",
    );
    for size in sizes {
        let _ = writeln!(page, "<h2>{}</h2>\n<p>{}</p>\n<table>", size.name, size.line());
        let total: u64 = size.by_crate.values().sum();
        let _ = writeln!(page, "<tr><th>crate<th>bytes of code before wasm-opt<th>%");
        let mut crates: Vec<(&str, u64)> =
            size.by_crate.iter().map(|(name, bytes)| (name.as_str(), *bytes)).collect();
        crates.sort_by_key(|(name, bytes)| (std::cmp::Reverse(*bytes), *name));
        let rest: u64 = crates.iter().map(|(_, bytes)| bytes).filter(|bytes| **bytes < SHOWN_BYTES_MIN).sum();
        crates.retain(|(_, bytes)| *bytes >= SHOWN_BYTES_MIN);
        crates.push(("all others", rest));
        for (name, bytes) in crates {
            let share = 100.0 * bytes as f64 / total.max(1) as f64;
            let _ = writeln!(page, "<tr><td>{name}<td>{bytes}<td>{share:.1}");
        }
        page.push_str("</table>\n");
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_crate_comes_first_and_small_ones_are_one_line() {
        let by_crate = [("small", 10), ("serde", 3000), ("engine", 9000), ("tiny", 5)];
        let by_crate = by_crate.map(|(name, bytes)| (name.to_owned(), bytes)).into();
        let page = page(&[Size { name: "cpu", bytes: 12_015, compressed: 5, bytes_max: 9, by_crate }]);
        let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}: {page}"));
        assert!(at("<td>engine<td>9000") < at("<td>serde<td>3000"));
        assert!(at("<td>serde") < at("<td>all others<td>15"));
        assert!(!page.contains("tiny"));
    }
}
