use super::{CliError, output::OutputArgs};

/// Puts a coordinator under load and prints the result.
///
/// # Errors
/// If the test cannot begin, or its result cannot be written.
pub async fn run(args: folkmoot_load::Args) -> Result<(), CliError> {
    let output = OutputArgs { json: args.json };
    let report = folkmoot_load::run(args).await?;
    output.print(&report, folkmoot_load::Report::text)
}
