//! Legends: the names of the lines.

use std::fmt::Write as _;

use super::{colours, html::Escaped};

/// Renders a list of names, each after a sample of its line.
pub(super) fn legend<'a>(names: impl Iterator<Item = (usize, &'a str)>) -> String {
    let mut html = String::from("<ul class=\"legend\">");
    for (colour, name) in names {
        let stroke = colours::attribute(colour);
        let _ = write!(
            html,
            "<li><svg class=\"key\" viewBox=\"0 0 112 40\" width=\"28\" height=\"10\" aria-hidden=\"true\">\
             <line x1=\"0\" y1=\"20\" x2=\"112\" y2=\"20\" stroke=\"{stroke}\" stroke-width=\"12\"/></svg>{}</li>",
            Escaped(name)
        );
    }
    html.push_str("</ul>\n");
    html
}
