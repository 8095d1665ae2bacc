use crate::chance::{Stream, uniform};

/// The updates on which hostile clients agree for one version of the model.
#[derive(Clone, Debug, PartialEq)]
pub enum Agreed {
    /// All upload the same values.
    Same(Vec<f32>),
    /// Each draws every value uniformly between the two given for its parameter.
    Between(Vec<f32>, Vec<f32>),
}

impl Agreed {
    /// Returns the update of one hostile client. `seed` must differ between assignments.
    pub fn update(&self, seed: u64) -> Vec<f32> {
        match self {
            Agreed::Same(values) => values.clone(),
            Agreed::Between(one, other) => {
                let mut rng = Stream::new(seed, &[]);
                let mut draw = |one: f32, other: f32| {
                    let (one, other) = (f64::from(one), f64::from(other));
                    (one + uniform(&mut rng) * (other - one)) as f32
                };
                one.iter().zip(other).map(|(one, other)| draw(*one, *other)).collect()
            }
        }
    }
}
