//! `folkmoot overview` and `folkmoot system`

use super::Recorded;

pub const COMMANDS: &[Recorded] = &[
    ("overview", &["", "--json", "--api-key nothing"]),
    ("system", &["", "--lines 0 --json", "--url ftp://nowhere"]),
];
