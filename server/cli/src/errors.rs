//! The reference of errors, in every language: made from the codes themselves.

use folkmoot_protocol::{Disposition, ErrorCode};
use serde::Serialize;

use super::{
    CliError,
    output::{self, OutputArgs, table},
};

/// Which codes.
#[derive(clap::Args)]
pub struct Args {
    /// The code, such as round_closed; all of them without one.
    code: Option<ErrorCode>,
    /// Print the page of all errors instead, in Markdown.
    #[arg(long, hide = true)]
    reference: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// One code, for humans.
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
            format!("{} (HTTP {})\n{}\nA client: {todo}.", one.code, one.http_status, one.meaning)
        }),
        None => {
            let all: Vec<Explained> = ErrorCode::ALL.iter().map(|code| Explained::of(*code)).collect();
            args.output.print(all.as_slice(), |all| {
                let rows = all
                    .iter()
                    .map(|one| [one.code.to_string(), one.http_status.to_string(), one.meaning.to_owned()]);
                table(["CODE", "HTTP", "MEANS"], rows)
            })
        }
    }
}

fn remedy(disposition: Disposition) -> &'static str {
    match disposition {
        Disposition::Retry => "sends the same again, later and with jitter",
        Disposition::CheckIn => "drops the assignment and checks in again",
        Disposition::GiveUp => "stops: a human or an update of the app must change something first",
    }
}

/// What a client itself throws: name, what it means, and what to do.
const CLIENT_ERRORS: [(&str, &str, &str); 11] = [
    ("BadOption", "An option makes no sense or passes a limit.", "Mend what the detail names."),
    ("BadExample", "Examples do not have the shape or the values that they must have.", "Mend the examples."),
    ("NoExamples", "There is nothing to train on.", "Add examples, or give a trainer that has its own."),
    ("NotEnrolled", "The client is not enrolled, and has no token.", "Give an enrolment token."),
    ("Refused", "The coordinator refuses this client.", "Look the code up below."),
    (
        "Unreachable",
        "No coordinator answers there.",
        "Check address, network and certificate; try again later.",
    ),
    ("StorageFailed", "The state directory cannot be used.", "Check path, space and rights."),
    ("NoModel", "No assignment has brought a model yet.", "Wait for the first assignment."),
    ("AlreadyRunning", "It runs already.", "Stop it first."),
    ("Forgotten", "The client was forgotten or closed.", "Connect again."),
    ("Internal", "The library has a mistake.", "Report it, with the detail."),
];

/// Returns the page of all errors.
fn reference() -> String {
    let mut page = String::from(
        "# Errors\n\n\
         Made by `cargo xtask errors` from the codes themselves. `folkmoot errors CODE` says the same in a terminal.\n\n\
         ## What a client throws\n\n\
         | Rust, Kotlin | Swift | Python | what it means | what to do |\n|---|---|---|---|---|\n",
    );
    for (name, means, todo) in CLIENT_ERRORS {
        let (swift, python) = (client_error_in_swift(name), client_error_in_python(name));
        page += &format!("| `{name}` | `{swift}` | `{python}` | {means} | {todo} |\n");
    }
    page += "\nKotlin's are classes in `FolkmootException`, Swift's are cases of `FolkmootError`. In the browser, \
             `FolkmootError.code` has codes of its own ([guide](../guides/browser.md#what-goes-wrong)); a code from below is in \
             the text of `refused` and in the `detail` of `stopped`.\n\n\
             ## What a coordinator answers\n\n\
             The text of a code never changes and is never used again for another. `Refused` carries it.\n\n\
             | code, in JSON and TypeScript | Rust | Kotlin, Python | Swift | HTTP | what it means | a client |\n\
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

/// `internal` is a word of Swift's own.
fn client_error_in_swift(name: &str) -> String {
    if name == "Internal" { "internalError".into() } else { lower_first(name) }
}

fn client_error_in_python(name: &str) -> String {
    if name == "StorageFailed" { "StorageError".into() } else { format!("{name}Error") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The surface of the bindings, which a test of theirs keeps true.
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
