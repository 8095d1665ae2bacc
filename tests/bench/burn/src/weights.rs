//! Where a model's first weights come from.

use std::path::Path;

use burn::tensor::{Device, Tensor, TensorData};

use crate::{Failure, draws::Draws, examples};

const SEED: u64 = 1;

/// First weights, handed out tensor by tensor, in the order of our model's schema.
pub struct Weights {
    source: Source,
    taken: usize,
    device: Device,
}

enum Source {
    /// Values that were read, those not yet taken at the end.
    Read(Vec<f32>),
    Drawn(Draws),
}

/// What a tensor starts with, where no file says it.
#[derive(Clone, Copy)]
pub enum First {
    /// Draws of this variance around zero.
    Spread(f32),
    /// The same everywhere.
    Value(f32),
}

impl Weights {
    /// Reads `weights.f32` of the folder, or draws if there is no folder.
    pub fn new(folder: Option<&Path>, device: &Device) -> Result<Self, Failure> {
        let source = match folder {
            Some(folder) => Source::Read(examples::floats(folder, "weights.f32")?),
            None => Source::Drawn(Draws::new(SEED)),
        };
        Ok(Self { source, taken: 0, device: device.clone() })
    }

    /// Takes the next tensor, which is to be trained.
    ///
    /// # Errors
    /// Returns that the file ends before.
    pub fn trained<const D: usize>(&mut self, shape: [usize; D], first: First) -> Result<Tensor<D>, Failure> {
        let values = self.values(shape.iter().product(), first)?;
        Ok(Tensor::from_data(TensorData::new(values, shape), &self.device).require_grad())
    }

    /// Takes the next tensor, a matrix that our model keeps the other way round.
    ///
    /// # Errors
    /// Returns that the file ends before.
    pub fn transposed(&mut self, [rows, columns]: [usize; 2], first: First) -> Result<Tensor<2>, Failure> {
        let values = self.values(rows * columns, first)?;
        let element = |index: usize| values[index % rows * columns + index / rows];
        let values: Vec<f32> = (0..values.len()).map(element).collect();
        Ok(Tensor::from_data(TensorData::new(values, [columns, rows]), &self.device).require_grad())
    }

    /// Takes the next tensor, which no gradient changes: a running statistic.
    ///
    /// # Errors
    /// Returns that the file ends before.
    pub fn untrained(&mut self, length: usize, value: f32) -> Result<Tensor<1>, Failure> {
        let values = self.values(length, First::Value(value))?;
        Ok(Tensor::from_data(TensorData::new(values, [length]), &self.device.clone().without_autodiff()))
    }

    /// Returns how many parameters were taken.
    ///
    /// # Errors
    /// Returns that the file holds more.
    pub fn finish(self) -> Result<usize, Failure> {
        match self.source {
            Source::Read(rest) if !rest.is_empty() => {
                Err(format!("{} values of weights.f32 belong to no layer", rest.len()).into())
            }
            _ => Ok(self.taken),
        }
    }

    fn values(&mut self, count: usize, first: First) -> Result<Vec<f32>, Failure> {
        self.taken += count;
        match (&mut self.source, first) {
            (Source::Read(values), _) if values.len() < count => {
                Err(format!("weights.f32 ends before its parameter {}", self.taken).into())
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
