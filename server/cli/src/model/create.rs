use std::path::PathBuf;

use folkmoot_api::models::ModelView;
use folkmoot_client::read_model_file;

use crate::{CliError, connection::ConnectionArgs, output::OutputArgs};

/// The arguments of `folkmoot model create`.
#[derive(clap::Args)]
pub struct Args {
    /// The ONNX file.
    #[arg(value_name = "FILE.onnx")]
    file: PathBuf,
    /// A display name for the model. The default is the name of the file.
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Uploads an ONNX model.
///
/// # Errors
/// Fails if the file cannot be read, or if the coordinator cannot be reached or refuses the model, for example because
/// it cannot be trained.
pub async fn run(args: Args) -> Result<(), CliError> {
    let onnx = read_model_file(&args.file)?.onnx;
    let of_file = || args.file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = args.name.or_else(of_file).unwrap_or_default();
    let model = args.connection.connect()?.create_model_named(onnx, &name).await?;
    args.output.print(&model, text)
}

fn text(model: &ModelView) -> String {
    let mut lines =
        vec![format!("model      {}", model.model), format!("parameters {}", model.parameter_count)];
    let tensors = &model.schema.tensors;
    lines.extend(tensors.iter().map(|tensor| format!("tensor     {} {:?}", tensor.name, tensor.shape)));
    lines.join("\n")
}
