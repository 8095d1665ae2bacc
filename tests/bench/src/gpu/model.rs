//! The models of the comparison, and examples for them.

use folkmoot_engine::{Examples, ImportLimits, Labels, Model, onnx::build};

use crate::{Failure, train::network::mixed};

const SEED: u64 = 1;
/// The number of examples from which steps gather their batch, in batches.
const BATCHES: usize = 4;

/// A model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum BenchModel {
    /// 784-200-200-10 with Relu
    #[value(name = "2nn")]
    TwoNn,
    /// Two convolutions of 5x5 with pools, two dense layers: 1,663,370 parameters
    Cnn,
    /// As `examples/models/residual_cnn_group_norm.onnx`
    ResidualCnnGroupNorm,
    /// As `examples/models/transformer.onnx`
    Transformer,
}

impl BenchModel {
    /// All models.
    pub const ALL: [Self; 4] = [Self::TwoNn, Self::Cnn, Self::ResidualCnnGroupNorm, Self::Transformer];

    /// Returns the name on the command line and in the tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::TwoNn => "2nn",
            Self::Cnn => "cnn",
            Self::ResidualCnnGroupNorm => "residual_cnn_group_norm",
            Self::Transformer => "transformer",
        }
    }

    /// Imports the model.
    pub fn model(self) -> Result<Model, Failure> {
        let onnx = match self {
            Self::TwoNn => build::mlp(&[784, 200, 200, 10], SEED),
            Self::Cnn => build::federated_averaging_cnn(SEED),
            Self::ResidualCnnGroupNorm => {
                include_bytes!("../../../../examples/models/residual_cnn_group_norm.onnx").to_vec()
            }
            Self::Transformer => include_bytes!("../../../../examples/models/transformer.onnx").to_vec(),
        };
        Ok(Model::from_onnx(&onnx, &ImportLimits::default())?)
    }

    /// Returns examples for several batches: images with random classes, or sequences in which each token determines
    /// the next.
    pub fn examples(self, batch: usize) -> Result<Examples, Failure> {
        let rows = BATCHES * batch;
        let shape = self.model()?.input_shape().to_vec();
        let width: usize = shape.iter().product();
        if self == Self::Transformer {
            return sequences(rows, shape, width);
        }
        let features = (0..(rows * width) as u64).map(|index| (mixed(index) >> 40) as f32 / (1 << 24) as f32);
        let labels = (0..rows as u64).map(|row| (mixed(row + (1 << 40)) % 10) as u32).collect();
        Ok(Examples::new(features.collect(), shape, Labels::Classes(labels))?)
    }
}

/// Returns sequences of tokens from the transformer's vocabulary of 32.
fn sequences(rows: usize, shape: Vec<usize>, positions: usize) -> Result<Examples, Failure> {
    let (mut features, mut labels) = (Vec::new(), Vec::new());
    for row in 0..rows as u64 {
        let mut token = (mixed(row) % 32) as u32;
        for _ in 0..positions {
            features.push(token as f32);
            token = (5 * token + 3) % 32;
            labels.push(token);
        }
    }
    Ok(Examples::new(features, shape, Labels::Sequences(labels, positions))?)
}
