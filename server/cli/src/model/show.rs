use folkmoot_api::models::ModelGraphView;

use crate::{
    CliError,
    connection::ConnectionArgs,
    output::{OutputArgs, table},
};

/// The arguments of `folkmoot model show`.
#[derive(clap::Args)]
pub struct Args {
    /// The model's name, its digest, or the beginning of its digest, as listed by `folkmoot model files`.
    model: String,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Shows the contents of an uploaded ONNX file. For a local file, use `folkmoot engine inspect`.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request.
pub async fn run(args: Args) -> Result<(), CliError> {
    let graph = args.connection.connect()?.model_graph(args.model).await?;
    args.output.print(&graph, text)
}

fn text(graph: &ModelGraphView) -> String {
    let dimensions = |shape: &[usize]| shape.iter().map(|size| format!(", {size}")).collect::<String>();
    let operators: Vec<String> =
        graph.operators.iter().map(|(operator, count)| format!("{operator} {count}")).collect();
    let rows =
        graph.parameters.iter().map(|one| [one.name.clone(), format!("{:?}", one.shape), one.role.clone()]);
    [
        format!("input       [N{}]", dimensions(&graph.input_shape)),
        format!("output      [N{}]", dimensions(&graph.output_shape)),
        format!("parameters  {}", graph.parameter_count),
        format!("operators   {}", operators.join(", ")),
        format!(
            "FLOP        {} forward, {} training, for one example",
            graph.forward_flops, graph.training_flops
        ),
        String::new(),
        table(["TENSOR", "SHAPE", "ROLE"], rows),
    ]
    .join("\n")
}
