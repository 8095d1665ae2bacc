//! `folkmoot overview`, `folkmoot system` and `folkmoot prune`

use super::Recorded;

pub const COMMANDS: &[Recorded] = &[
    ("overview", &["", "--json", "--api-key nothing"]),
    ("system", &["", "--lines 0 --json", "--url ftp://nowhere"]),
    ("prune", &["--data data --dry-run", "--data data --json", "--data data --at-once", "--data missing"]),
];
