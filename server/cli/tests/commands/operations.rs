//! `folkmoot login`, `folkmoot whoami`, `folkmoot logout`, `folkmoot overview` and `folkmoot system`

use super::Recorded;

pub const COMMANDS: &[Recorded] = &[
    ("login", &["", "--url $LOCALHOST --json", "--provider nobody"]),
    // By the clock of this machine, the session has long ended.
    ("whoami", &["", "--json", "--api-key="]),
    ("logout", &["", "--url $LOCALHOST --json", ""]),
    ("overview", &["", "--json", "--api-key nothing"]),
    ("system", &["", "--lines 0 --json", "--url ftp://nowhere"]),
];
