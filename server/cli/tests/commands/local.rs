//! Commands that need no coordinator. For commands that run long or measure the machine, only an error is recorded;
//! other tests cover them.

use super::Recorded;

pub const COMMANDS: &[Recorded] = &[
    ("serve", &["--config wrong.toml --json"]),
    ("client", &["--state state --data missing.csv --json"]),
    ("demo", &["--clients 0 --json"]),
    (
        "load",
        &[
            "https://coordinator.example --token a --json",
            "https://127.0.0.1:1 --token a --devices 4 --connected 5",
            "https://127.0.0.1:1 --token a --devices 1000001",
        ],
    ),
    (
        "simulate",
        &[
            "task.toml --model model.onnx --data missing.csv --json",
            "task.toml --model model.onnx --data data.csv --compare fed_adam",
            "task.toml --model model.onnx --data data.csv --compare fed_adam,fed_yogy --output compared",
            "task.toml --model model.onnx --data data.csv --compare krum --output compared",
            "task.toml --model model.onnx --data data.csv --compare fed_adam,faulty.toml --output compared",
        ],
    ),
    (
        "attack",
        &[
            "task.toml --model model.onnx --data missing.csv --json",
            "task.toml --model model.onnx --data data.csv --picture 3x3",
            "task.toml --model model.onnx --data data.csv --hostile-share 1",
            "task.toml --model model.onnx --data data.csv --attacks inversion",
        ],
    ),
    (
        "eval",
        &["model.onnx --data data.csv", "model.onnx --data data.csv --json", "model.onnx --data missing.csv"],
    ),
    (
        "codec bench",
        &[
            "trained.onnx --base model.onnx --codec none",
            "trained.onnx --base model.onnx --codec top_k:0.1 --json",
            "trained.onnx",
        ],
    ),
    (
        "data schema",
        &[
            "visits.csv --out new.json",
            "visits.csv --exclude pulse --out new.json --json",
            "data.csv --label-column a --out new.json",
            "photos --out new.json",
            "photos --width 4 --height 4 --grey --out new.json --json",
            "photos --width 2 --height 2 --label-column a --out new.json",
            "photos --out new.json --width 2",
        ],
    ),
    (
        "data encode",
        &[
            "visits.csv --schema visits.json --out new.npz",
            "visits.csv --schema visits.json --out new.npz --json",
            "data.csv --schema visits.json --out new.npz",
            "photos --schema photos.json --out new.npz",
            "photos --schema visits.json --out new.npz",
            "visits.csv --schema photos.json --out new.npz",
            "photos --schema damaged.json --out new.npz",
        ],
    ),
    (
        "statistics prepare",
        &[
            "--number age=0..120 --category ward=north,south --population homes --out new",
            "--date admitted=2026-01-01..2026-12-31 --bins 4 --population homes --epsilon 2 --out new --json",
            "--number age=120..0 --population homes --out new",
            "--population homes --out new",
        ],
    ),
    (
        "statistics show",
        &[
            "statistics.onnx",
            "statistics.onnx --json",
            "statistics.onnx --schema new.json --label-column pulse",
            "model.onnx",
        ],
    ),
    ("engine devices", &["--json --nothing"]),
    (
        "engine inspect",
        &["model.onnx", "model.onnx --json", "two_files.onnx", "alone/two_files.onnx", "data.csv"],
    ),
    ("engine check", &["data.csv --json"]),
    ("engine train", &["model.onnx --data missing.csv --json"]),
    ("config check", &["", "--config folkmoot.toml --json", "--config wrong.toml"]),
    ("config show", &["", "--config folkmoot.toml --json", "--config missing.toml"]),
    ("config test-notifications", &["", "--config notices.toml", "--config notices.toml --json"]),
    // Other reports depend on the machine.
    ("doctor", &["--config wrong.toml", "--config wrong.toml --json"]),
    ("backup", &["--data missing --output saved", "--data missing --output saved --json"]),
    ("restore", &["--from missing --data new", "--from missing --data new --json"]),
    ("errors", &["round_closed", "round_closed --json", "", "nothing"]),
    ("completions", &["bash", "powerpoint"]),
    ("openapi", &["", "--nothing"]),
];
