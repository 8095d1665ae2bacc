use std::path::PathBuf;

use folkmoot_data::{
    Format, ReadOptions,
    schema::{
        ColumnSummary, DataSchema, ImageFit, ImageInferOptions, InferOptions, Inferred, InferredImages,
        TableLabel, infer, infer_images,
    },
};

use crate::{
    CliError,
    output::{OutputArgs, table},
    replace,
};

/// The flags of `folkmoot data schema`.
#[derive(clap::Args)]
pub struct Args {
    /// The table, a .csv file with a header line, or the images, a folder with one folder for each class.
    #[arg(value_name = "DATA")]
    data: PathBuf,
    /// Tables: the column to predict, by default the last one.
    #[arg(long, value_name = "NAME")]
    label_column: Option<String>,
    /// Tables: predict a number instead of a class.
    #[arg(long)]
    targets: bool,
    /// Tables: a column that is neither feature nor label, such as a name or the owner of the row. Can be repeated.
    #[arg(long, value_name = "NAME")]
    exclude: Vec<String>,
    /// Images: the width of the model's input in pixels. By default, images keep their size, which must be the same for
    /// all.
    #[arg(long, value_name = "PIXELS", requires = "height")]
    width: Option<u32>,
    /// Images: the height of the model's input in pixels.
    #[arg(long, value_name = "PIXELS", requires = "width")]
    height: Option<u32>,
    /// Images: use one channel of brightness, even if images are in colour.
    #[arg(long)]
    grey: bool,
    /// Images: the treatment of images whose proportions differ from the model's input.
    #[arg(long, value_name = "FIT", default_value = "crop")]
    fit: FitChoice,
    /// The schema file to write.
    #[arg(long, value_name = "FILE.json")]
    out: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

/// The treatments of images with other proportions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FitChoice {
    /// Keep the centre. Use it for photographs.
    Crop,
    /// Keep all of the image, and fill the rest with its mean. Use it where edges matter.
    Pad,
    /// Distort the image.
    Stretch,
}

impl From<FitChoice> for ImageFit {
    fn from(choice: FitChoice) -> Self {
        match choice {
            FitChoice::Crop => Self::Crop,
            FitChoice::Pad => Self::Pad,
            FitChoice::Stretch => Self::Stretch,
        }
    }
}

/// Derives a schema from a table or from images, writes it, and shows what they become.
///
/// # Errors
/// If the data cannot be read, a flag is for the other kind of data, a column has no clear kind, the images have
/// different sizes and there is no flag for the size, or the schema cannot be written.
pub fn run(args: &Args) -> Result<(), CliError> {
    let format = ReadOptions::default().format_of(&args.data);
    if format.map_err(|error| CliError::new(error.to_string()))? == Format::Images {
        args.refuse(args.label_column.is_some() || args.targets || !args.exclude.is_empty(), "tables")?;
        let options = ImageInferOptions {
            size: args.width.zip(args.height),
            grey: args.grey,
            fit: args.fit.into(),
            ..ImageInferOptions::default()
        };
        let inferred =
            infer_images(&args.data, &options).map_err(|error| CliError::new(error.to_string()))?;
        args.write(&inferred.schema.clone().into())?;
        return args.output.print(&inferred, text_of_images);
    }
    args.refuse(args.width.is_some() || args.grey || args.fit != FitChoice::Crop, "images")?;
    let options = InferOptions {
        label_column: args.label_column.clone(),
        is_target: args.targets,
        excluded: args.exclude.clone(),
        ..InferOptions::default()
    };
    let inferred = infer(&args.data, &options).map_err(|error| CliError::new(error.to_string()))?;
    args.write(&inferred.schema.clone().into())?;
    args.output.print(&inferred, text)
}

impl Args {
    fn refuse(&self, has_others: bool, kind: &str) -> Result<(), CliError> {
        if !has_others {
            return Ok(());
        }
        let message =
            format!("{}: a flag for {kind} is given, but the data are not {kind}", self.data.display());
        Err(CliError::with_remedy(
            message,
            "omit it; `folkmoot data schema --help` says which flag is for which data",
        ))
    }

    fn write(&self, schema: &DataSchema) -> Result<(), CliError> {
        let content = serde_json::to_string_pretty(schema)
            .map_err(|error| CliError::new(format!("the schema cannot be written as JSON: {error}")))?;
        replace::write(&self.out, content + "\n")
    }
}

fn text_of_images(inferred: &InferredImages) -> String {
    let schema = &inferred.schema;
    let classes = schema.classes.iter().zip(&inferred.class_counts);
    let numbers = |values: &[f64]| values.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
    let lines = [
        table(["CLASS", "IMAGES"], classes.map(|(name, count)| [name.clone(), count.to_string()])),
        String::new(),
        format!("images      {}", inferred.image_count),
        format!("shape       {:?}", schema.feature_shape()),
        format!("mean        {}", numbers(&schema.mean)),
        format!("deviation   {}", numbers(&schema.deviation)),
    ];
    lines.join("\n")
}

fn text(inferred: &Inferred) -> String {
    let label = match &inferred.schema.label {
        Some(TableLabel::Class { name, classes }) => format!("{name}: {} classes", classes.len()),
        Some(TableLabel::Target { name }) => format!("{name}: a number"),
        None => "none".to_owned(),
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
