//! The models. Each equals the model in an ONNX file.

mod chain;
mod residual_cnn;
mod transformer;

use std::path::Path;

use burn::tensor::{Device, Tensor, TensorData};
use chain::Chain;
use residual_cnn::ResidualCnn;
use transformer::Transformer;

use crate::{Failure, examples::Examples, training::{Train, Training}, weights::Weights};

/// The number of pixels of an image for the two models of McMahan et al. 2017.
const LARGE_IMAGE: usize = 28 * 28;
const SMALL_IMAGE: usize = 8 * 8;
const CLASSES: u32 = 10;

/// A model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum ModelName {
    /// 784-200-200-10 with Relu
    #[value(name = "2nn")]
    TwoNn,
    /// Two convolutions of 5x5 with pools, two dense layers
    Cnn,
    /// As `examples/models/residual_cnn_group_norm.onnx`
    ResidualCnnGroupNorm,
    /// As `examples/models/residual_cnn_batch_norm.onnx`
    ResidualCnnBatchNorm,
    /// As `examples/models/transformer.onnx`
    Transformer,
}

impl ModelName {
    /// Returns the number of values and of labels of an example.
    fn widths(self) -> (usize, usize) {
        match self {
            Self::TwoNn | Self::Cnn => (LARGE_IMAGE, 1),
            Self::ResidualCnnGroupNorm | Self::ResidualCnnBatchNorm => (SMALL_IMAGE, 1),
            Self::Transformer => (transformer::POSITIONS, transformer::POSITIONS),
        }
    }

    fn draw(self, rows: usize) -> Examples {
        match self {
            Self::TwoNn | Self::Cnn => Examples::images(rows, LARGE_IMAGE, CLASSES, 1.0),
            Self::ResidualCnnGroupNorm | Self::ResidualCnnBatchNorm => {
                Examples::images(rows, SMALL_IMAGE, CLASSES, 16.0)
            }
            Self::Transformer => {
                Examples::sequences(rows, transformer::POSITIONS, transformer::VOCABULARY as u32)
            }
        }
    }
}

/// A model and the batch on which it trains.
pub struct Prepared {
    /// The model and its batch.
    pub training: Box<dyn Train>,
    /// The number of values of its weights and running statistics.
    pub parameters: usize,
}

/// Copies a model and a batch to the device.
///
/// If a folder is given, the weights and the batch are read from it; otherwise both are random. `rows` is the size of
/// the batch; it is required without a folder.
///
/// # Errors
/// Fails if the files do not fit the model.
pub fn prepare(
    model: ModelName,
    folder: Option<&Path>,
    rows: Option<usize>,
    device: &Device,
) -> Result<Prepared, Failure> {
    let examples = match (folder, rows) {
        (Some(folder), _) => Examples::read(folder)?,
        (None, Some(rows)) => model.draw(rows),
        (None, None) => return Err("the size of the batch is missing; without a folder, it must be given".into()),
    };
    let (width, labels) = (model.widths(), examples.labels.len());
    let found = labels / width.1;
    if rows.is_some_and(|rows| rows != found) || examples.features.len() != found * width.0 {
        let values = examples.features.len();
        return Err(format!("the batch has {values} values and {labels} labels, which do not fit the model").into());
    }
    let mut weights = Weights::new(folder, device)?;
    let training = train(model, examples, &mut weights, device)?;
    Ok(Prepared { training, parameters: weights.finish()? })
}

fn train(
    model: ModelName,
    examples: Examples,
    weights: &mut Weights,
    device: &Device,
) -> Result<Box<dyn Train>, Failure> {
    let (count, (width, per_example)) = (examples.labels.len(), model.widths());
    let shape = [count / per_example, width];
    let labels = Tensor::from_data(TensorData::new(examples.labels, [count, 1]), device);
    if model == ModelName::Transformer {
        let tokens = examples.features.into_iter().map(|token| token as i32).collect();
        let tokens = Tensor::from_data(TensorData::new::<i32, _>(tokens, shape), device);
        return Ok(Box::new(Training::new(Transformer::new(weights, device)?, tokens, labels)));
    }
    let pixels = Tensor::from_data(TensorData::new(examples.features, shape), device);
    Ok(match model {
        ModelName::TwoNn => Box::new(Training::new(Chain::two_nn(weights)?, pixels, labels)),
        ModelName::Cnn => Box::new(Training::new(Chain::cnn(weights)?, pixels, labels)),
        ModelName::ResidualCnnGroupNorm => {
            Box::new(Training::new(ResidualCnn::with_group_norm(weights)?, pixels, labels))
        }
        _ => Box::new(Training::new(ResidualCnn::with_batch_norm(weights)?, pixels, labels)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Backend;

    #[test]
    fn every_model_has_the_parameters_of_its_file_and_learns() {
        let device = Backend::Flex.device().unwrap();
        let models = [
            (ModelName::TwoNn, 199_210),
            (ModelName::Cnn, 1_663_370),
            (ModelName::ResidualCnnGroupNorm, 1_362),
            (ModelName::ResidualCnnBatchNorm, 1_410),
            (ModelName::Transformer, 19_552),
        ];
        for (model, parameters) in models {
            let mut prepared = prepare(model, None, Some(8), &device).unwrap();
            assert_eq!(prepared.parameters, parameters, "{model:?}");
            let mut step = || prepared.training.step(0.01).into_scalar::<f32>();
            let first = step();
            let last = (0..10).map(|_| step()).last().unwrap();
            assert!(last < first, "{model:?}: {first} to {last}");
        }
    }
}
