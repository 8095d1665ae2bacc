//! The training plan of a command: a file, and flags that override it.

use std::path::PathBuf;

use folkmoot_engine::{LocalOptimizer, Loss, Model, TrainingPlan};

use super::CliError;

/// The flags of the training plan.
#[derive(Clone, Debug, clap::Args)]
pub struct PlanArgs {
    /// A TOML file with the keys of the `plan` table of a task. The default is softmax cross-entropy, or squared
    /// error for a model with a single output, with SGD.
    #[arg(long, value_name = "FILE.toml")]
    plan: Option<PathBuf>,
    /// The output that is trained, or a value inside of the graph; by default the plan's, or the only one that fits.
    #[arg(long, value_name = "NAME")]
    output: Option<String>,
    /// The learning rate of SGD, if there is no plan file.
    #[arg(long, default_value_t = 0.05, conflicts_with = "plan")]
    learning_rate: f32,
    /// The number of passes over the examples.
    #[arg(long)]
    epochs: Option<u32>,
    /// The number of examples in a step.
    #[arg(long)]
    batch_size: Option<u32>,
}

impl PlanArgs {
    /// Returns the plan for a model.
    ///
    /// # Errors
    /// If the file cannot be read, or the plan is invalid.
    pub fn read(&self, model: &Model) -> Result<TrainingPlan, CliError> {
        let mut plan = match &self.plan {
            Some(path) => {
                let text = std::fs::read_to_string(path).map_err(CliError::read(path))?;
                toml::from_str(&text).map_err(|error| {
                    CliError::new(format!("{}: {}", path.display(), error.to_string().trim_end()))
                })?
            }
            None => self.default_plan(model)?,
        };
        plan.output = self.output.clone().or(plan.output);
        plan.epochs = self.epochs.unwrap_or(plan.epochs);
        plan.batch_size = self.batch_size.unwrap_or(plan.batch_size);
        plan.validate().map_err(|error| CliError::new(format!("the plan is invalid: {error}")))?;
        Ok(plan)
    }

    fn default_plan(&self, model: &Model) -> Result<TrainingPlan, CliError> {
        let chosen = self.output.as_deref().map_or(Ok(model.clone()), |name| model.with_output(name));
        let model = chosen.map_err(|error| CliError::new(format!("--output: {error}")))?;
        let is_single = model.output_shape().iter().product::<usize>() == 1;
        let loss = if is_single { Loss::MeanSquaredError } else { Loss::SoftmaxCrossEntropy };
        let optimizer = LocalOptimizer::Sgd {
            learning_rate: self.learning_rate,
            momentum: 0.9,
            nesterov: false,
            weight_decay: 0.0,
        };
        Ok(TrainingPlan { epochs: 5, batch_size: 32, ..TrainingPlan::new(loss, optimizer) })
    }
}
