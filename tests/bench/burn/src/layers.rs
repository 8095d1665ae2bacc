//! Layers with weights.

use burn::tensor::{Tensor, module::{batch_norm_train, conv2d, layer_norm, linear}, ops::ConvOptions};

use crate::{Failure, training::Update, weights::{First, Weights}};

/// The constant that normalizations add to the variance, as in the example models.
const EPSILON: f64 = 1e-5;
/// The weight of a batch's statistic in the update of a running statistic.
const MOMENTUM: f32 = 0.1;

/// A dense layer. burn stores its weights as `[inputs, outputs]`.
pub struct Dense {
    weight: Tensor<2>,
    bias: Option<Tensor<1>>,
}

impl Dense {
    /// Reads the weights of a `Gemm`, stored as `[outputs, inputs]`, and a bias.
    pub fn of_gemm(weights: &mut Weights, inputs: usize, outputs: usize) -> Result<Self, Failure> {
        let weight = weights.transposed([outputs, inputs], First::Spread(2.0 / inputs as f32))?;
        Ok(Self { weight, bias: Some(weights.trained([outputs], First::Value(0.0))?) })
    }

    /// Reads the weights of a `MatMul`, stored as `[inputs, outputs]`, and a bias.
    pub fn of_product(weights: &mut Weights, inputs: usize, outputs: usize) -> Result<Self, Failure> {
        let without_bias = Self::without_bias(weights, inputs, outputs)?;
        Ok(Self { bias: Some(weights.trained([outputs], First::Value(0.0))?), ..without_bias })
    }

    /// Reads the weights of a `MatMul` without a bias.
    pub fn without_bias(weights: &mut Weights, inputs: usize, outputs: usize) -> Result<Self, Failure> {
        Ok(Self {
            weight: weights.trained([inputs, outputs], First::Spread(1.0 / inputs as f32))?,
            bias: None,
        })
    }

    /// Applies the layer to the last dimension.
    pub fn forward<const D: usize>(&self, value: Tensor<D>) -> Tensor<D> {
        linear(value, self.weight.clone(), self.bias.clone())
    }

    /// Updates the weights.
    pub fn update(&mut self, update: &mut Update) {
        update.apply(&mut self.weight);
        if let Some(bias) = &mut self.bias {
            update.apply(bias);
        }
    }
}

/// A square convolution of stride 1 whose padding keeps the image size.
pub struct Convolution {
    weight: Tensor<4>,
    bias: Option<Tensor<1>>,
}

impl Convolution {
    /// Reads a filter of `[filters, channels, kernel, kernel]` and a bias.
    pub fn new(
        weights: &mut Weights,
        channels: usize,
        filters: usize,
        kernel: usize,
    ) -> Result<Self, Failure> {
        let without_bias = Self::without_bias(weights, channels, filters, kernel)?;
        Ok(Self { bias: Some(weights.trained([filters], First::Value(0.0))?), ..without_bias })
    }

    /// Reads only the filter. A bias would have no effect, because the normalization that follows removes it.
    pub fn without_bias(
        weights: &mut Weights,
        channels: usize,
        filters: usize,
        kernel: usize,
    ) -> Result<Self, Failure> {
        let first = First::Spread(2.0 / (channels * kernel * kernel) as f32);
        Ok(Self { weight: weights.trained([filters, channels, kernel, kernel], first)?, bias: None })
    }

    /// Applies the layer to `[N, channels, height, width]`.
    pub fn forward(&self, image: Tensor<4>) -> Tensor<4> {
        let padding = self.weight.dims()[3] / 2;
        let options = ConvOptions::new([1, 1], [padding, padding], [1, 1], 1);
        conv2d(image, self.weight.clone(), self.bias.clone(), options)
    }

    /// Updates the weights.
    pub fn update(&mut self, update: &mut Update) {
        update.apply(&mut self.weight);
        if let Some(bias) = &mut self.bias {
            update.apply(bias);
        }
    }
}

/// The scale and bias of a normalization.
pub struct Normalization {
    scale: Tensor<1>,
    bias: Tensor<1>,
}

impl Normalization {
    /// Reads a scale and a bias for every channel.
    pub fn new(weights: &mut Weights, channels: usize) -> Result<Self, Failure> {
        let scale = weights.trained([channels], First::Value(1.0))?;
        Ok(Self { scale, bias: weights.trained([channels], First::Value(0.0))? })
    }

    /// Normalizes over the last dimension.
    pub fn over_last<const D: usize>(&self, value: Tensor<D>) -> Tensor<D> {
        layer_norm(value, self.scale.clone(), Some(self.bias.clone()), EPSILON)
    }

    /// Normalizes each group of an image's channels with the operations of burn's `GroupNorm`, which has no special
    /// kernel.
    pub fn over_groups(&self, image: Tensor<4>, groups: usize) -> Tensor<4> {
        let shape = image.dims();
        let [rows, channels, height, width] = shape;
        let grouped: Tensor<3> = image.reshape([rows, groups, channels / groups * height * width]);
        let centred = grouped.clone() - grouped.mean_dim(2);
        let deviation = (centred.clone().square().mean_dim(2) + EPSILON).sqrt();
        let per_channel = |tensor: &Tensor<1>| tensor.clone().reshape([1, channels, 1, 1]);
        (centred / deviation).reshape(shape) * per_channel(&self.scale) + per_channel(&self.bias)
    }

    /// Normalizes each channel over the batch, and updates the running statistics.
    pub fn over_batch(&self, image: Tensor<4>, running: &mut RunningStatistics) -> Tensor<4> {
        let normalized = batch_norm_train(image, self.scale.clone(), self.bias.clone(), EPSILON);
        running.learn(normalized.mean.inner(), normalized.variance.inner());
        normalized.output
    }

    /// Updates the weights.
    pub fn update(&mut self, update: &mut Update) {
        update.apply(&mut self.scale);
        update.apply(&mut self.bias);
    }
}

/// The running statistics of batch normalization, which inference uses.
pub struct RunningStatistics {
    mean: Tensor<1>,
    variance: Tensor<1>,
}

impl RunningStatistics {
    /// Reads a mean and a variance for every channel.
    pub fn new(weights: &mut Weights, channels: usize) -> Result<Self, Failure> {
        Ok(Self { mean: weights.untrained(channels, 0.0)?, variance: weights.untrained(channels, 1.0)? })
    }

    fn learn(&mut self, mean: Tensor<1>, variance: Tensor<1>) {
        let moved = |own: &Tensor<1>, of_batch| own.clone() * (1.0 - MOMENTUM) + of_batch * MOMENTUM;
        (self.mean, self.variance) = (moved(&self.mean, mean), moved(&self.variance, variance));
    }
}
