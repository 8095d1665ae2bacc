//! `folkmoot population …`, `folkmoot site …`, `folkmoot token …`, `folkmoot key …`, `folkmoot session …`,
//! `folkmoot organisation …`, `folkmoot endorsement …`, `folkmoot audit …`, `folkmoot login`, `folkmoot whoami` and `folkmoot logout`

use super::Recorded;

pub const COMMANDS: &[Recorded] = &[
    ("population list", &["", "--json", "--api-key nothing"]),
    ("population clients", &["digits", "digits --json", "nobody"]),
    ("population show-client", &["$CLIENT", "$CLIENT --json", "$UNKNOWN"]),
    ("population revoke-client", &["$CLIENT --keep-token-open", "$CLIENT", "$CLIENT --json", "$UNKNOWN"]),
    (
        "population set",
        &[
            "homes --epsilon 8 --delta 1e-6",
            "surveys --unit user --json",
            "homes --no-budget",
            "homes --no-budget --weaken renewed",
            "digits --unit user",
            "digits --epsilon 8",
            "wards --clients sites",
            "digits --clients sites",
            "wards --clients many",
            "digits --viewers-download false",
            "digits --viewers-download true --json",
        ],
    ),
    ("site list", &["clinics", "clinics --limit 1 --json", "digits"]),
    ("site revoke", &["South", "north --keep-token-open --json", "nobody"]),
    ("token list", &["", "--json", "--api-key nothing"]),
    (
        "token create",
        &[
            "digits",
            "digits --uses 3 --no-expiry",
            "clinics --name east",
            "clinics",
            "digits --unlimited-uses",
            "digits --uses 3 --unlimited-uses",
            "digits --jwt-key app.pub --unlimited-uses",
            "digits --jwt-key task.toml",
            "digits --user anna --expires-in 3600 --json",
            "Digits!",
        ],
    ),
    ("token clients", &["0000000000000001 --limit 2", "$TOKEN", "$TOKEN --json", "nothing"]),
    (
        "token revoke",
        &["$TOKEN", "$TOKEN --json", "$TOKEN --with-clients", "$TOKEN --with-clients --json", "nothing"],
    ),
    ("key list", &["", "--json", "--api-key nothing"]),
    (
        "key create",
        &[
            "dashboard",
            "robot --role operator --expires-in 3600 --json",
            "robot --expires-in 0",
            "robot --role owner",
        ],
    ),
    ("key rotate", &["$KEY", "$KEY --overlap 0 --json", "robot --overlap 31d", "nothing"]),
    ("key revoke", &["$KEY", "$KEY --json", "nothing"]),
    ("session list", &["", "--json", "--api-key nothing"]),
    ("session end", &["000000000000000a", "--person ada --json", "--person nobody", "", "ffff"]),
    (
        "organisation create",
        &[
            "clinic --api-key $SYSTEM_KEY",
            "ward --api-key $SYSTEM_KEY --json",
            "clinic --api-key $SYSTEM_KEY",
            "bank",
        ],
    ),
    (
        "organisation close",
        &["ward --api-key $SYSTEM_KEY", "ward --api-key $SYSTEM_KEY --json", "nobody --api-key $SYSTEM_KEY"],
    ),
    (
        "organisation set",
        &[
            "clinic --clients-max 10000 --requests-per-second-max 200 --api-key $SYSTEM_KEY",
            "clinic --clients-max none --api-key $SYSTEM_KEY --json",
            "clinic --tasks-max many --api-key $SYSTEM_KEY",
            "nobody --tasks-max 1 --api-key $SYSTEM_KEY",
        ],
    ),
    (
        "organisation usage",
        &["--api-key $SYSTEM_KEY", "--api-key $SYSTEM_KEY --csv", "--api-key $SYSTEM_KEY --json", ""],
    ),
    ("usage", &["", "--csv", "--json", "--from 2026-02-01"]),
    ("organisation list", &["--api-key $SYSTEM_KEY", "--api-key $SYSTEM_KEY --json", ""]),
    ("endorsement key", &["--out signer.pem", "--out second.pem --json", "--out signer.pem"]),
    (
        "endorsement prepare",
        &[
            "$DIGITS --out prepared",
            "$PRIVATE --out private --for https://coordinator.example --days 30 --json",
            "$DIGITS --out prepared --for http://coordinator.example",
        ],
    ),
    (
        "endorsement sign",
        &[
            "prepared --key signer.pem",
            "private --key second.pem --json",
            "prepared --key prepared/statement.json",
            "nowhere --key signer.pem",
        ],
    ),
    ("endorsement publish", &["prepared", "private --json", "prepared"]),
    ("endorsement show", &["$DIGITS", "$DIGITS --json", "$DRAFT", "$UNKNOWN"]),
    ("audit list", &["--limit 5", "--limit 2 --after 1 --json", "--limit 101"]),
    ("audit export", &["--output audit.jsonl", "--output audit.jsonl --json", "--output no/where"]),
    ("audit verify", &["", "--file audit.jsonl --json", "--file task.toml", "--head 3"]),
    ("login", &["", "--url $LOCALHOST --json", "--provider nobody"]),
    // By the clock of this machine, the session has long ended.
    ("whoami", &["", "--api-key $SYSTEM_KEY --json", "--api-key="]),
    ("logout", &["", "--url $LOCALHOST --json", ""]),
    ("key recover", &["--data data --json", "--data missing", "--data missing --role system"]),
];
