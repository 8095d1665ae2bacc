//! A setting of a client has the same name in every language. Names differ only in the case that the language uses.
//!
//! The records of `mobile-bindings/src` are the reference. Python and Swift use its records for the device policy and
//! the limits as they are. A language may lack a setting, or have one that makes sense only there, if it is listed here.

use crate::finding::Finding;
use crate::repository::Repository;
use std::collections::{BTreeMap, BTreeSet};

/// A group of settings, and where each language declares it.
struct Group {
    reference: Declaration,
    languages: &'static [Language],
}

/// The declarations of one language, and how it differs from the reference.
struct Language {
    declarations: &'static [Declaration],
    lacks: &'static [&'static str],
    own: &'static [&'static str],
}

/// The lines of a file from the one that contains `begin` to the next one that consists of white space and `end`. In
/// each line, the name is the text between `before` and one of [`AFTER_A_NAME`].
struct Declaration {
    path: &'static str,
    begin: &'static str,
    end: &'static str,
    before: &'static str,
}

/// The characters that follow the name in a declaration.
const AFTER_A_NAME: [char; 5] = [':', '?', '(', ' ', '='];

const BINDINGS: &str = "mobile-bindings/src/care.rs";
const KOTLIN: &str = "mobile-bindings/kotlin/core/src/main/kotlin/org/folkmoot/DeviceCare.kt";
const TYPESCRIPT: &str = "wasm/js/src/types.ts";

const GROUPS: [Group; 3] = [
    Group {
        reference: rust(BINDINGS, "pub struct DevicePolicy {"),
        languages: &[
            Language {
                declarations: &[rust("client-sdk/work/src/care/policy.rs", "pub struct DevicePolicy {")],
                lacks: &[],
                own: &[],
            },
            Language { declarations: &[kotlin(KOTLIN, "data class DevicePolicy(")], lacks: &[], own: &[] },
            Language {
                declarations: &[typescript("export interface Policy {")],
                // A page cannot see these conditions.
                lacks: &["requires_charging", "requires_idle", "thermal_max"],
                own: &["pause_when_hidden", "respect_save_data", "cpu_share"],
            },
        ],
    },
    Group {
        reference: rust(BINDINGS, "pub struct Limits {"),
        languages: &[
            Language {
                declarations: &[
                    rust("client-sdk/work/src/budget/mod.rs", "pub struct Budget {"),
                    rust("client-sdk/work/src/traffic/mod.rs", "pub struct TrafficLimits {"),
                ],
                // The builder has them.
                lacks: &["training_seconds_per_day", "battery_seconds_per_day"],
                own: &[],
            },
            Language { declarations: &[kotlin(KOTLIN, "data class Limits(")], lacks: &[], own: &[] },
            Language {
                declarations: &[typescript("export interface Limits {")],
                lacks: &["bytes_per_second", "training_seconds_per_day", "battery_seconds_per_day"],
                own: &[],
            },
        ],
    },
    Group {
        reference: rust("mobile-bindings/src/options.rs", "pub struct ConnectOptions {"),
        languages: &[
            Language {
                declarations: &[Declaration {
                    path: "client-sdk/src/client/builder.rs",
                    begin: "impl ClientBuilder {",
                    end: "pub fn build(self) -> Result<Client, ClientError> {",
                    before: "    pub fn ",
                }],
                // `Client::builder` takes the coordinator. Attributes come one by one, the limits in several methods, and a
                // client certificate with its key.
                lacks: &["coordinator", "attributes", "limits", "client_key"],
                own: &[
                    "ask_before",
                    "attribute",
                    "battery_seconds_per_day",
                    "budget",
                    "examples",
                    "example_source",
                    "host",
                    "http",
                    "memory_bytes_max",
                    "on_event",
                    "private_attribute",
                    "secrets",
                    "trainer",
                    "training_seconds_per_day",
                    "training_slots",
                    "traffic_limits",
                ],
            },
            Language {
                declarations: &[kotlin(
                    "mobile-bindings/kotlin/core/src/main/kotlin/org/folkmoot/ClientOptions.kt",
                    "class ClientOptions(",
                )],
                lacks: &[],
                own: &["ask_before", "secrets", "trainer"],
            },
            Language {
                declarations: &[Declaration {
                    path: "mobile-bindings/swift/Sources/Folkmoot/ClientOptions.swift",
                    begin: "public struct ClientOptions",
                    end: "public init(",
                    before: "    public var ",
                }],
                lacks: &[],
                own: &[],
            },
            Language {
                declarations: &[Declaration {
                    path: "mobile-bindings/python/src/folkmoot/client.py",
                    begin: "def __init__(",
                    end: ") -> None:",
                    before: "        ",
                }],
                lacks: &[],
                own: &["ask_before", "secrets", "trainer"],
            },
            Language {
                declarations: &[
                    typescript("export interface CommonOptions {"),
                    typescript("export interface TrainerOptions {"),
                ],
                // The browser has one store for each origin, and its own certificates.
                lacks: &[
                    "state_directory",
                    "certificate",
                    "client_certificate",
                    "client_key",
                    "pins",
                    "blob_cache_bytes_max",
                ],
                own: &["ask_before", "examples", "name", "trainer", "worker_url"],
            },
        ],
    },
];

const fn rust(path: &'static str, begin: &'static str) -> Declaration {
    Declaration { path, begin, end: "}", before: "    pub " }
}

const fn kotlin(path: &'static str, begin: &'static str) -> Declaration {
    Declaration { path, begin, end: ")", before: "    val " }
}

const fn typescript(begin: &'static str) -> Declaration {
    Declaration { path: TYPESCRIPT, begin, end: "}", before: "  " }
}

/// Finds settings whose name differs from the reference, and outdated exceptions.
pub fn check(repository: &Repository) -> Vec<Finding> {
    GROUPS.iter().flat_map(|group| check_group(repository, group)).collect()
}

fn check_group(repository: &Repository, group: &Group) -> Vec<Finding> {
    let reference = match names(repository, &group.reference) {
        Ok(reference) => reference,
        Err(finding) => return vec![finding],
    };
    group.languages.iter().flat_map(|language| check_language(repository, language, &reference)).collect()
}

fn check_language(
    repository: &Repository,
    language: &Language,
    reference: &BTreeMap<String, usize>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    for declaration in language.declarations {
        let declared = match names(repository, declaration) {
            Ok(declared) => declared,
            Err(finding) => return vec![finding],
        };
        for (name, line) in declared {
            if !reference.contains_key(&name) && !language.own.contains(&name.as_str()) {
                let message = format!(
                    "the setting `{name}` has another name in mobile-bindings/src, or none. Use one name in every \
                     language, or list it in tests/tidy/rules/setting_names.rs"
                );
                findings.push(Finding::at(declaration.path, line, message));
            }
            seen.insert(name);
        }
    }
    let path = language.declarations[0].path;
    let lacks = |name: &str| language.lacks.contains(&name);
    for name in reference.keys().filter(|name| !seen.contains(*name) && !lacks(name)) {
        let message =
            format!("the setting `{name}` of mobile-bindings/src is missing here. Add it, or list it");
        findings.push(Finding::on(path, message));
    }
    for name in language.lacks.iter().filter(|name| seen.contains(**name)) {
        findings.push(Finding::on(path, format!("`{name}` is here. Remove it from `lacks`")));
    }
    for name in language.lacks.iter().filter(|name| !reference.contains_key(**name)) {
        findings.push(Finding::on(path, format!("`{name}` is no setting any more. Remove it from `lacks`")));
    }
    for name in language.own.iter().filter(|name| !seen.contains(**name) || reference.contains_key(**name)) {
        findings.push(Finding::on(path, format!("`{name}` is not here alone. Remove it from `own`")));
    }
    findings
}

/// Returns the names of a declaration in snake case, each with its line.
fn names(repository: &Repository, declaration: &Declaration) -> Result<BTreeMap<String, usize>, Finding> {
    let Declaration { path, begin, end, before } = declaration;
    let missing =
        |what: &str| Finding::on(path, format!("tests/tidy/rules/setting_names.rs finds no {what}"));
    let file = repository.file(path).ok_or_else(|| missing("such file"))?;
    let mut lines = file.text().lines().zip(1..).skip_while(|(line, _)| !line.contains(begin)).skip(1);
    let mut names = BTreeMap::new();
    for (line, number) in lines.by_ref() {
        if line.trim_start().starts_with(end) {
            return if names.is_empty() { Err(missing("names")) } else { Ok(names) };
        }
        let Some(rest) = line.strip_prefix(before) else { continue };
        let name = rest.split(AFTER_A_NAME).next().unwrap_or_default();
        let is_name = name.starts_with(|letter: char| letter.is_ascii_lowercase())
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        if is_name {
            names.insert(snake_case(name), number);
        }
    }
    Err(missing(&format!("`{begin}` that ends with `{end}`")))
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUST: &str = "pub struct Limits {\n    /// Words: a sentence.\n    pub bytes_per_day: u64,\n    pub cohort_min: u64,\n}\n";

    const LANGUAGE: Language = Language {
        declarations: &[kotlin("a.kt", "class Limits(")],
        lacks: &["cohort_min"],
        own: &["own_one"],
    };

    fn findings(kotlin: &str) -> Vec<String> {
        let repository = Repository::from_texts(&[("a.rs", RUST), ("a.kt", kotlin)]);
        let group = Group { reference: rust("a.rs", "pub struct Limits {"), languages: &[LANGUAGE] };
        check_group(&repository, &group).iter().map(|finding| finding.message.clone()).collect()
    }

    #[test]
    fn the_same_names_in_another_case_pass() {
        let kotlin =
            "class Limits(\n    /** Words. */\n    val bytesPerDay: Long,\n    val ownOne: Int = 3,\n) {\n";
        assert_eq!(findings(kotlin), [""; 0]);
    }

    #[test]
    fn another_name_is_found_twice() {
        let found = findings("class Limits(\n    val bytesADay: Long,\n    val ownOne: Int,\n) {\n");
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("`bytes_a_day`") && found[1].contains("`bytes_per_day`"), "{found:?}");
    }

    #[test]
    fn outdated_exceptions_and_a_missing_declaration_are_found() {
        let found = findings("class Limits(\n    val bytesPerDay: Long,\n    val cohortMin: Long,\n) {\n");
        assert_eq!(
            found,
            [
                "`cohort_min` is here. Remove it from `lacks`",
                "`own_one` is not here alone. Remove it from `own`"
            ]
        );
        for (text, missing) in
            [("class Limitations(\n)\n", "`class Limits(`"), ("class Limits(\n)\n", "names")]
        {
            let found = findings(text);
            assert!(found.len() == 1 && found[0].contains(&format!("finds no {missing}")), "{found:?}");
        }
    }
}
