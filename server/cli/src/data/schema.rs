use std::path::PathBuf;

use folkmoot_data::schema::{ColumnSummary, InferOptions, Inferred, TableLabel, infer};

use crate::{
    CliError,
    output::{OutputArgs, table},
    replace,
};

/// The flags of `folkmoot data schema`.
#[derive(clap::Args)]
pub struct Args {
    /// The table: a .csv file with a header line.
    #[arg(value_name = "TABLE.csv")]
    table: PathBuf,
    /// The column to predict, by default the last one.
    #[arg(long, value_name = "NAME")]
    label_column: Option<String>,
    /// Predict a number instead of a class.
    #[arg(long)]
    targets: bool,
    /// A column that is neither feature nor label, such as a name or the owner of the row. Can be repeated.
    #[arg(long, value_name = "NAME")]
    exclude: Vec<String>,
    /// The schema file to write.
    #[arg(long, value_name = "FILE.json")]
    out: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

/// Derives a schema from a table, writes it, and shows what the columns become.
///
/// # Errors
/// If the table cannot be read, a column has no clear kind, or the schema cannot be written.
pub fn run(args: &Args) -> Result<(), CliError> {
    let options = InferOptions {
        label_column: args.label_column.clone(),
        is_target: args.targets,
        excluded: args.exclude.clone(),
        ..InferOptions::default()
    };
    let inferred = infer(&args.table, &options).map_err(|error| CliError::new(error.to_string()))?;
    let content = serde_json::to_string_pretty(&inferred.schema)
        .map_err(|error| CliError::new(format!("the schema cannot be written as JSON: {error}")))?;
    replace::write(&args.out, content + "\n")?;
    args.output.print(&inferred, text)
}

fn text(inferred: &Inferred) -> String {
    let label = match &inferred.schema.label {
        TableLabel::Class { name, classes } => format!("{name}: {} classes", classes.len()),
        TableLabel::Target { name } => format!("{name}: a number"),
    };
    let lines = [
        table(["COLUMN", "KIND", "FEATURES", "GAPS", "NOTE"], inferred.columns.iter().map(row)),
        String::new(),
        format!("rows        {}", inferred.row_count),
        format!("features    {}", inferred.schema.feature_count()),
        format!("label       {label}"),
    ];
    lines.join("\n")
}

fn row(column: &ColumnSummary) -> [String; 5] {
    [
        column.name.clone(),
        column.kind.to_owned(),
        column.feature_count.to_string(),
        column.gap_count.to_string(),
        column.note.unwrap_or_default().to_owned(),
    ]
}
