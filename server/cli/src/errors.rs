//! Explains error codes, and generates the error reference for all languages.

use folkmoot_protocol::{Disposition, ErrorCode};
use serde::Serialize;

use super::{
    CliError,
    output::{self, OutputArgs, table},
};

/// The arguments of `folkmoot errors`.
#[derive(clap::Args)]
pub struct Args {
    /// The error code, for example round_closed. Without it, all codes are listed.
    code: Option<ErrorCode>,
    /// Print the reference page of all errors in Markdown.
    #[arg(long, hide = true)]
    reference: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// An error code with its explanation.
#[derive(Serialize)]
struct Explained {
    code: ErrorCode,
    http_status: u16,
    disposition: Disposition,
    meaning: &'static str,
}

impl Explained {
    fn of(code: ErrorCode) -> Self {
        let (http_status, disposition) = (code.http_status(), code.disposition());
        Self { code, http_status, disposition, meaning: code.meaning() }
    }
}

/// Explains error codes.
///
/// # Errors
/// If stdout cannot be written.
pub fn run(args: &Args) -> Result<(), CliError> {
    if args.reference {
        return output::line(&reference());
    }
    match args.code {
        Some(code) => args.output.print(&Explained::of(code), |one| {
            let todo = remedy(one.disposition);
            format!(
                "{} (HTTP {})\n{}\nWhat a client does: it {todo}.",
                one.code, one.http_status, one.meaning
            )
        }),
        None => {
            let all: Vec<Explained> = ErrorCode::ALL.iter().map(|code| Explained::of(*code)).collect();
            args.output.print(all.as_slice(), |all| {
                let rows = all
                    .iter()
                    .map(|one| [one.code.to_string(), one.http_status.to_string(), one.meaning.to_owned()]);
                table(["CODE", "HTTP", "MEANING"], rows)
            })
        }
    }
}

fn remedy(disposition: Disposition) -> &'static str {
    match disposition {
        Disposition::Retry => "retries the same request later, with jitter",
        Disposition::CheckIn => "drops the assignment and checks in again",
        Disposition::GiveUp => "stops, until a person or an app update fixes the cause",
    }
}

/// The errors that clients throw: name, meaning and remedy.
const CLIENT_ERRORS: [(&str, &str, &str); 12] = [
    ("BadOption", "An option is invalid or exceeds a limit.", "Fix the option that the detail names."),
    ("BadExample", "Examples have the wrong shape or invalid values.", "Fix the examples."),
    ("NoExamples", "There is nothing to train on.", "Add examples, or pass a trainer that has its own."),
    ("NotEnrolled", "The client is not enrolled and has no token.", "Pass an enrolment token."),
    ("Refused", "The coordinator refused the client.", "Look up the code below."),
    (
        "Unreachable",
        "The coordinator cannot be reached.",
        "Check the URL, the network and the certificate, and try again later.",
    ),
    (
        "StorageFailed",
        "The state folder cannot be read or written.",
        "Check the path, the free space and the permissions.",
    ),
    (
        "NoModel",
        "The client has not downloaded a model yet.",
        "Update the model, or wait for the first assignment.",
    ),
    (
        "ModelUnusable",
        "The model that the operator has rolled out cannot be used on this device. Predictions keep the model before.",
        "Roll out a version that the device can use. The detail says why this one does not work.",
    ),
    ("AlreadyRunning", "The client is already running.", "Stop the client first."),
    ("Forgotten", "The client was forgotten or closed.", "Connect again."),
    ("Internal", "The library has a bug.", "Report it with the detail."),
];

/// Returns the reference page of all errors.
fn reference() -> String {
    let mut page = String::from(
        "# Errors\n\n\
         `cargo xtask errors` generates this page from the code. `folkmoot errors CODE` explains a code in the terminal.\n\n\
         ## Errors that a client throws\n\n\
         | Rust, Kotlin | Swift | Python | meaning | what to do |\n|---|---|---|---|---|\n",
    );
    for (name, means, todo) in CLIENT_ERRORS {
        let (swift, python) = (client_error_in_swift(name), client_error_in_python(name));
        page += &format!("| `{name}` | `{swift}` | `{python}` | {means} | {todo} |\n");
    }
    page += "\nIn Kotlin, these are classes in `FolkmootException`; in Swift, cases of `FolkmootError`. In the browser, \
             `FolkmootError.code` has its own codes ([guide](../guides/browser.md#what-goes-wrong)); a code from the table below \
             is in the text of `refused` and in the `detail` of `stopped`.\n\n\
             ## Errors that a coordinator returns\n\n\
             The name of a code never changes, and is never reused for another error. The error `Refused` contains this code.\n\n\
             | code, in JSON and TypeScript | Rust | Kotlin, Python | Swift | HTTP | meaning | what a client does |\n\
             |---|---|---|---|---|---|---|\n";
    for code in ErrorCode::ALL {
        let (rust, upper) = (format!("{code:?}"), code.as_str().to_uppercase());
        page += &format!(
            "| `{code}` | `{rust}` | `{upper}` | `{}` | {} | {} | {} |\n",
            lower_first(&rust),
            code.http_status(),
            code.meaning(),
            remedy(code.disposition())
        );
    }
    page
}

fn lower_first(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// Returns the Swift name of a client error. `internal` is a Swift keyword.
fn client_error_in_swift(name: &str) -> String {
    if name == "Internal" { "internalError".into() } else { lower_first(name) }
}

fn client_error_in_python(name: &str) -> String {
    if name == "StorageFailed" { "StorageError".into() } else { format!("{name}Error") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The public API of the bindings; a test of the bindings keeps the file up to date.
    const SURFACE: &str = include_str!("../../../mobile-bindings/api.txt");
    const PYTHON: &str = include_str!("../../../mobile-bindings/python/src/folkmoot/errors.py");
    const SWIFT: &str = include_str!("../../../mobile-bindings/swift/Sources/Folkmoot/Errors.swift");
    const KOTLIN: &str =
        include_str!("../../../mobile-bindings/kotlin/core/src/main/kotlin/org/folkmoot/Errors.kt");

    #[test]
    fn the_committed_page_is_what_the_code_says() {
        let committed = include_str!("../../../docs/reference/errors.md");
        assert_eq!(committed.trim_end(), reference().trim_end(), "run `cargo xtask errors`");
    }

    #[test]
    fn every_error_of_every_language_is_in_it_by_its_name() {
        let section = SURFACE.split("\nFolkmootError\n").nth(1).unwrap();
        let names = section.lines().take_while(|line| line.starts_with("    "));
        let names: Vec<&str> = names.map(|line| line.trim().split('(').next().unwrap()).collect();
        assert_eq!(names, CLIENT_ERRORS.map(|(name, ..)| name));
        for (name, ..) in CLIENT_ERRORS {
            let (swift, python) = (client_error_in_swift(name), client_error_in_python(name));
            assert!(SWIFT.contains(&format!("case {swift}")), "{swift}");
            assert!(PYTHON.contains(&format!("class {python}(")), "{python}");
            assert!(KOTLIN.contains(&format!("class {name}")), "{name}");
        }
        for code in ErrorCode::ALL {
            let upper = code.as_str().to_uppercase();
            assert!(PYTHON.contains(&format!("    {upper} = \"{code}\"")), "{upper}");
            assert!(SURFACE.contains(&format!("    {upper}\n")), "{upper}");
        }
    }
}
