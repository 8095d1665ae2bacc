//! The small residual network for digits from `examples/models/residual_cnn.py`.

use burn::tensor::{Tensor, activation::relu, module::max_pool2d, ops::MaxPoolOptions};

use crate::{Failure, layers::{Convolution, Dense, Normalization, RunningStatistics}, training::{Network, Update}, weights::Weights};

const CHANNELS: usize = 8;
const GROUPS: usize = 2;
const BRIGHTEST: f32 = 16.0;

/// A convolution, one residual block, a pool, the average of each channel, and a dense layer.
pub struct ResidualCnn {
    stem: NormalizedConvolution,
    block: [NormalizedConvolution; 2],
    logits: Dense,
}

impl ResidualCnn {
    /// Creates the model with group normalization.
    pub fn with_group_norm(weights: &mut Weights) -> Result<Self, Failure> {
        Self::new(weights, |_| Ok(None))
    }

    /// Creates the model with batch normalization.
    pub fn with_batch_norm(weights: &mut Weights) -> Result<Self, Failure> {
        Self::new(weights, |weights| Ok(Some(RunningStatistics::new(weights, CHANNELS)?)))
    }

    fn new(
        weights: &mut Weights,
        running: fn(&mut Weights) -> Result<Option<RunningStatistics>, Failure>,
    ) -> Result<Self, Failure> {
        let mut layer = |channels| {
            Ok::<_, Failure>(NormalizedConvolution {
                convolution: Convolution::without_bias(weights, channels, CHANNELS, 3)?,
                normalization: Normalization::new(weights, CHANNELS)?,
                running: running(weights)?,
            })
        };
        let (stem, block) = (layer(1)?, [layer(CHANNELS)?, layer(CHANNELS)?]);
        Ok(Self { stem, block, logits: Dense::of_gemm(weights, CHANNELS, 10)? })
    }
}

impl Network for ResidualCnn {
    type Input = Tensor<2>;

    fn logits(&mut self, pixels: &Tensor<2>) -> Tensor<2> {
        let rows = pixels.dims()[0];
        let image = (pixels.clone() * (1.0 / BRIGHTEST)).reshape([rows, 1, 8, 8]);
        let stem = relu(self.stem.forward(image));
        let [first, second] = &mut self.block;
        let block = second.forward(relu(first.forward(stem.clone())));
        let smaller = max_pool2d(relu(block + stem), MaxPoolOptions::new([2, 2]));
        let average: Tensor<3> = smaller.reshape([rows, CHANNELS, 16]).mean_dim(2);
        self.logits.forward(average.reshape([rows, CHANNELS]))
    }

    fn update(&mut self, update: &mut Update) {
        self.stem.update(update);
        self.block.iter_mut().for_each(|layer| layer.update(update));
        self.logits.update(update);
    }
}

/// A convolution without a bias, followed by a normalization: batch normalization if there are running statistics,
/// otherwise group normalization.
struct NormalizedConvolution {
    convolution: Convolution,
    normalization: Normalization,
    running: Option<RunningStatistics>,
}

impl NormalizedConvolution {
    fn forward(&mut self, image: Tensor<4>) -> Tensor<4> {
        let image = self.convolution.forward(image);
        match &mut self.running {
            Some(running) => self.normalization.over_batch(image, running),
            None => self.normalization.over_groups(image, GROUPS),
        }
    }

    fn update(&mut self, update: &mut Update) {
        self.convolution.update(update);
        self.normalization.update(update);
    }
}
