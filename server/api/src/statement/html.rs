//! The statement as an HTML page.

use super::Statement;

/// The style sheet of the page.
const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem;\
    color:#1b2530}dt{font-weight:600;margin-top:1rem}dd{margin:0}";

impl Statement {
    /// Returns the statement as a self-contained HTML page, which loads no other files.
    pub fn html(&self) -> String {
        let rows: String = self
            .sentences
            .iter()
            .map(|one| format!("<dt>{}</dt><dd>{}</dd>\n", escaped(&one.about), escaped(&one.text)))
            .collect();
        let title = format!("Privacy of {}", escaped(&self.name));
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
             content=\"width=device-width\">\n<title>{title}</title>\n<style>{STYLE}</style>\n<h1>{title}</h1>\n\
             <p>Task {}, population {}.</p>\n<dl>\n{rows}</dl>\n</html>\n",
            self.task_id, self.population
        )
    }
}

/// Escapes text for HTML. Names can contain anything, including markup.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}
