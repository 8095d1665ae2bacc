//! `folkmoot privacy …`

use super::Recorded;

pub const COMMANDS: &[Recorded] = &[
    (
        "privacy plan",
        &[
            "--clients 100000 --report-goal 1000 --rounds 100 --epsilon 8 --participations 10",
            "--clients 100000 --report-goal 1000 --rounds 10 --epsilon 8 --amplification poisson --json",
            "--clients 1000 --report-goal 100 --rounds 10 --epsilon 1",
            "--clients 1000 --report-goal 100 --rounds 10 --epsilon 0",
        ],
    ),
    ("privacy audit", &["missing.toml", "task.toml --json"]),
    (
        "privacy statement",
        &["$PRIVATE", "$PRIVATE --json", "$PRIVATE --html statement.html", "$DIGITS", "$UNKNOWN"],
    ),
    (
        "privacy ledger",
        &["digits", "digits --limit 1 --json", "digits --after 1 --delta 1e-9", "digits --delta 2"],
    ),
    (
        "privacy export",
        &[
            "digits",
            "digits --output ledger.jsonl",
            "digits --output ledger.jsonl --json",
            "digits --output no/where",
        ],
    ),
    (
        "privacy verify",
        &[
            "digits",
            "--file ledger.jsonl",
            "digits --head ledger.jsonl --json",
            "--file broken.jsonl",
            "digits --head 9",
        ],
    ),
];
