//! `folkmoot task …`

use super::Recorded;

pub const COMMANDS: &[Recorded] = &[
    ("task new", &["", "--scheduling buffered --output new.toml", "--output new.toml"]),
    (
        "task check",
        &["task.toml", "task.toml --model model.onnx --json", "faulty.toml", "faulty.toml --json"],
    ),
    ("task explain", &["task.toml --model model.onnx", "task.toml --json", "missing.toml"]),
    ("task schema", &["", "--nothing"]),
    ("task list", &["", "--json", "--state paused", "--name PRIV --limit 1", "--limit 200"]),
    (
        "task show",
        &["$DIGITS", "$DIGITS --json", "$PRIVATE", "$PAUSED", "$UNKNOWN", "digits", "00000000", "nobody"],
    ),
    ("task rounds", &["$DIGITS", "$DIGITS --limit 1 --json", "$DIGITS --before 2", "$UNKNOWN"]),
    ("task round", &["$ROUND", "$ROUND --json", "$UNKNOWN"]),
    ("task series", &["$DIGITS", "$DIGITS --json", "$PRIVATE", "$DIGITS --points 0"]),
    ("task stats", &["$DIGITS", "$DIGITS --limit 1 --json", "$PRIVATE", "$UNKNOWN"]),
    (
        "task evaluations",
        &[
            "$DIGITS",
            "$DIGITS --json",
            "$DIGITS --version 2",
            "$DIGITS --version 2 --json",
            "$DIGITS --version 9",
            "$DRAFT",
            "$UNKNOWN",
        ],
    ),
    (
        "task create",
        &[
            "task.toml --model model.onnx --evaluation-data data.csv",
            "task.toml --model model.onnx",
            "task.toml --model model.onnx --evaluation-data data.csv --warm-start $DIGITS@1 --json",
            "task.toml --model model.onnx --warm-start $UNKNOWN",
            "faulty.toml --model model.onnx",
        ],
    ),
    ("task activate", &["$DRAFT", "$SECOND_DRAFT --json", "$PRIVATE"]),
    ("task pause", &["$DRAFT", "$SECOND_DRAFT --json", "$PRIVATE"]),
    ("task roll-back", &["$PAUSED 0", "$PAUSED 1 --json", "$PAUSED 9", "$DIGITS 1"]),
    ("task resume", &["$DRAFT", "$SECOND_DRAFT --json", "$PRIVATE"]),
    ("task cancel", &["$DRAFT", "$SECOND_DRAFT --json", "$PRIVATE"]),
];
