use folkmoot_api::models::ModelSummary;

use crate::{
    CliError,
    connection::CoordinatorArgs,
    output::{moment, or_dash, table},
};

/// Lists the 100 newest uploaded ONNX files, newest first.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request.
pub async fn run(args: CoordinatorArgs) -> Result<(), CliError> {
    let models = args.connection.connect()?.models().await?;
    args.output.print(models.as_slice(), text)
}

fn text(models: &[ModelSummary]) -> String {
    let rows = models.iter().map(|model| {
        [
            model.model.to_string(),
            or_dash(model.name.clone()),
            model.parameter_count.to_string(),
            model.model_bytes.to_string(),
            moment(model.created_at),
        ]
    });
    table(["MODEL", "NAME", "PARAMETERS", "BYTES", "UPLOADED"], rows)
}
