use folkmoot_api::models::ModelGraphView;
use folkmoot_protocol::BlobDigest;

use crate::{
    CliError,
    connection::ConnectionArgs,
    output::{OutputArgs, table},
};

/// Which model.
#[derive(clap::Args)]
pub struct Args {
    /// Its digest, as `folkmoot model files` lists it.
    model: BlobDigest,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Shows what is in an ONNX file that was brought; `folkmoot engine inspect` does for one on this machine.
///
/// # Errors
/// If the coordinator refuses.
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
