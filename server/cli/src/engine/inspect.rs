use std::path::PathBuf;

use folkmoot_engine::{Cost, InnerValue, InspectedParameter, Inspection};
use serde::Serialize;

use super::{CliError, failed, plan::PlanArgs, read_model};
use crate::output::{OutputArgs, table};

/// The flags of `folkmoot engine inspect`.
#[derive(clap::Args)]
pub struct Args {
    /// The ONNX file of the model.
    #[arg(value_name = "MODEL.onnx")]
    model: PathBuf,
    /// Also lists the values inside of the model that plan.output and plan.model_contrast.features can name.
    #[arg(long)]
    values: bool,
    #[command(flatten)]
    plan: PlanArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Shows a model's tensors and operators, and the cost of a training step.
///
/// # Errors
/// If a file cannot be read, or the plan does not fit the model.
pub fn run(args: &Args) -> Result<(), CliError> {
    let (file, model) = read_model(&args.model)?;
    let plan = args.plan.read(&model)?;
    let inspection = Inspection::new(&model, &plan).map_err(failed(&args.model))?;
    let values = args.values.then(|| model.inner_values()).transpose().map_err(failed(&args.model))?;
    args.output.print(&Inspected { data_files: file.data_files, inspection, values }, text)
}

/// The result of an inspection.
#[derive(Serialize)]
struct Inspected {
    /// The files beside the model's file that hold weights.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    data_files: Vec<String>,
    #[serde(flatten)]
    inspection: Inspection,
    /// The values inside of the model, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Vec<InnerValue>>,
}

fn text(inspected: &Inspected) -> String {
    let Inspected { data_files, inspection, values } = inspected;
    let operators: Vec<String> =
        inspection.operators.iter().map(|(operator, count)| format!("{operator} {count}")).collect();
    let weights: String = data_files.iter().map(|file| format!("\nweights     from {file}")).collect();
    let others = inspection.outputs.join(", ");
    let several = if others.is_empty() { others } else { format!("{}, of {others}", inspection.output) };
    let memory = &inspection.memory;
    let listed = match values {
        None => String::new(),
        Some(values) => {
            let row = |value: &InnerValue| {
                [value.name.clone(), value.operator.clone(), format!("[N{}]", dims(&value.shape))]
            };
            format!("\n{}\n", table(["VALUE", "OPERATOR", "SHAPE"], values.iter().map(row)))
        }
    };
    let lines = [
        format!("input       [N{}]{}", dims(&inspection.input_shape), columns(inspection)),
        format!("output      [N{}] {}", dims(&inspection.output_shape), several).trim_end().to_owned(),
        format!("operators   {}", operators.join(", ")),
        String::new(),
        table(["TENSOR", "SHAPE", "ROLE", "ELEMENTS"], inspection.parameters.iter().map(row)),
        listed,
        format!("trained     {} elements{weights}", inspection.trained_elements),
        inspection.remarks.iter().map(|remark| format!("note        {}\n", remark.text)).collect(),
        format!("a step of {} examples", inspection.batch_size),
        format!("  forward   {}", cost(&inspection.forward)),
        format!("  training  {}", cost(&inspection.step)),
        format!(
            "  memory    {}: weights {}, gradients {}, optimizer {}, activations {} (at most {} alive), working {}",
            bytes(memory.total()),
            bytes(memory.weights),
            bytes(memory.gradients),
            bytes(memory.optimizer_state),
            bytes(memory.arena),
            bytes(memory.live_activations),
            bytes(memory.working)
        ),
        format!(
            "            {:.2} times the minimum that any memory layout needs",
            memory.total() as f64 / memory.indispensable() as f64
        ),
    ];
    lines.join("\n")
}

/// Lists the columns of the features that belong to each input, if there are several inputs, and the free length, if
/// there is one.
fn columns(inspection: &Inspection) -> String {
    let (inputs, mut end) = (&inspection.inputs, 0);
    let columns = inputs.iter().map(|input| {
        let start = end;
        end += input.shape.iter().product::<usize>();
        format!("\n            columns {start} to {}: {} [N{}]", end - 1, input.name, dims(&input.shape))
    });
    let columns: String = if inputs.len() > 1 { columns.collect() } else { String::new() };
    let length = inputs.iter().find_map(|input| input.length_axis.map(|axis| input.shape[axis]));
    let length = length.map(|length| {
        format!("\nlength      free: each client's examples determine it; the figures here are for {length}")
    });
    columns + &length.unwrap_or_default()
}

fn row(parameter: &InspectedParameter) -> [String; 4] {
    let elements: usize = parameter.shape.iter().product();
    [
        parameter.name.clone(),
        format!("{:?}", parameter.shape),
        parameter.role.to_owned(),
        elements.to_string(),
    ]
}

fn cost(cost: &Cost) -> String {
    let kernels: Vec<String> =
        cost.kernels.iter().map(|(kernel, count)| format!("{kernel} {count}")).collect();
    format!("{:.3} MFLOP; kernels: {}", cost.flops as f64 / 1e6, kernels.join(", "))
}

fn dims(shape: &[usize]) -> String {
    shape.iter().map(|size| format!(", {size}")).collect()
}

fn bytes(count: usize) -> String {
    match count {
        0..=9_999 => format!("{count} B"),
        10_000..=9_999_999 => format!("{:.1} kB", count as f64 / 1e3),
        _ => format!("{:.1} MB", count as f64 / 1e6),
    }
}
