//! `folkmoot rollout …`

use super::Recorded;

pub const COMMANDS: &[Recorded] = &[
    (
        "rollout create",
        &[
            "$DIGITS --version 1",
            "$DIGITS --channel beta --share 0.1 --json",
            "$DIGITS --share 2",
            "$DIGITS --version 9",
            "$UNKNOWN",
        ],
    ),
    ("rollout set", &["digits 1 --share 0.5", "digits 1 --failures-max 0.1 --json", "digits 9 --share 1"]),
    ("rollout hold", &["digits 1", "digits 2 --json", "digits 9"]),
    ("rollout resume", &["digits 1", "digits 1 --json", "digits 9"]),
    ("rollout list", &["digits", "digits --limit 1 --json", "digits --limit 0"]),
    ("rollout fetch", &["--state device --out fetched.onnx", "--state device --out fetched.onnx --json"]),
];
