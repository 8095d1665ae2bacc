//! The initial weights of a model.

use std::path::Path;

use burn::tensor::{Device, Tensor, TensorData};

use crate::{Failure, draws::Draws, examples};

const SEED: u64 = 1;

/// Initial weights. They are returned tensor by tensor, in the order of our model's schema.
pub struct Weights {
    source: Source,
    taken: usize,
    device: Device,
}

enum Source {
    /// Values from a file that were not returned yet.
    Read(Vec<f32>),
    Drawn(Draws),
}

/// The initial values of a tensor if there is no file.
#[derive(Clone, Copy)]
pub enum First {
    /// Random values with mean 0 and this variance.
    Spread(f32),
    /// The same value for all elements.
    Value(f32),
}

impl Weights {
    /// Reads `weights.f32` from the folder. Without a folder, the weights are random.
    pub fn new(folder: Option<&Path>, device: &Device) -> Result<Self, Failure> {
        let source = match folder {
            Some(folder) => Source::Read(examples::floats(folder, "weights.f32")?),
            None => Source::Drawn(Draws::new(SEED)),
        };
        Ok(Self { source, taken: 0, device: device.clone() })
    }

    /// Returns the next tensor for training.
    ///
    /// # Errors
    /// Fails if the file is too short.
    pub fn trained<const D: usize>(&mut self, shape: [usize; D], first: First) -> Result<Tensor<D>, Failure> {
        let values = self.values(shape.iter().product(), first)?;
        Ok(Tensor::from_data(TensorData::new(values, shape), &self.device).require_grad())
    }

    /// Returns the next tensor for training, a matrix that our model stores transposed.
    ///
    /// # Errors
    /// Fails if the file is too short.
    pub fn transposed(&mut self, [rows, columns]: [usize; 2], first: First) -> Result<Tensor<2>, Failure> {
        let values = self.values(rows * columns, first)?;
        let element = |index: usize| values[index % rows * columns + index / rows];
        let values: Vec<f32> = (0..values.len()).map(element).collect();
        Ok(Tensor::from_data(TensorData::new(values, [columns, rows]), &self.device).require_grad())
    }

    /// Returns the next tensor without gradients: a running statistic.
    ///
    /// # Errors
    /// Fails if the file is too short.
    pub fn untrained(&mut self, length: usize, value: f32) -> Result<Tensor<1>, Failure> {
        let values = self.values(length, First::Value(value))?;
        Ok(Tensor::from_data(TensorData::new(values, [length]), &self.device.clone().without_autodiff()))
    }

    /// Checks that all values of the file were used, and returns the number of parameters.
    ///
    /// # Errors
    /// Fails if the file has more values.
    pub fn finish(self) -> Result<usize, Failure> {
        match self.source {
            Source::Read(rest) if !rest.is_empty() => {
                Err(format!("weights.f32 has {} values more than the model has parameters", rest.len()).into())
            }
            _ => Ok(self.taken),
        }
    }

    fn values(&mut self, count: usize, first: First) -> Result<Vec<f32>, Failure> {
        self.taken += count;
        match (&mut self.source, first) {
            (Source::Read(values), _) if values.len() < count => {
                Err(format!("weights.f32 is too short; it ends before parameter {} of the model", self.taken).into())
            }
            (Source::Read(values), _) => Ok(values.drain(..count).collect()),
            (Source::Drawn(_), First::Value(value)) => Ok(vec![value; count]),
            (Source::Drawn(draws), First::Spread(variance)) => {
                let width = (12.0 * variance).sqrt();
                Ok((0..count).map(|_| width * (draws.unit() - 0.5)).collect())
            }
        }
    }
}
