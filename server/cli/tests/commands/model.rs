//! `folkmoot model …`

use super::Recorded;

pub const COMMANDS: &[Recorded] = &[
    ("model files", &["", "--json", "--api-key nothing"]),
    ("model create", &["other.onnx", "other.onnx --json", "two_files.onnx", "data.csv"]),
    ("model show", &["$MODEL", "$MODEL --json", "$NO_MODEL", "digits"]),
    ("model list", &["$DIGITS", "$DIGITS --limit 2 --json", "$PRIVATE", "$UNKNOWN"]),
    (
        "model download",
        &[
            "$DIGITS --out newest.onnx",
            "$DIGITS --version 1 --out first.onnx --json",
            "$DIGITS --version 9 --out none.onnx",
            "$DIGITS --out nowhere/none.onnx",
        ],
    ),
];
