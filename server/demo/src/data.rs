//! The digits that the demo trains on, split over the clients.

use folkmoot_engine::{
    Examples, Labels,
    data::{CsvOptions, read_csv},
};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde::Serialize;

use super::{
    error::DemoError,
    partition::{partition, shuffle},
};

/// An untrained classifier of digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum DemoModel {
    /// A multilayer perceptron 64-64-10.
    Mlp,
    /// Two convolutions, max pooling and a dense layer.
    Cnn,
}

impl DemoModel {
    /// Returns the ONNX file.
    pub fn onnx(self) -> &'static [u8] {
        match self {
            Self::Mlp => include_bytes!("../../../examples/digits/model.onnx"),
            Self::Cnn => include_bytes!("../../../examples/digits/cnn.onnx"),
        }
    }
}

const DIGITS: &[u8] = include_bytes!("../../../examples/digits/digits.csv");
/// One of this many examples is held out, which is 20 %.
const HELD_OUT_ONE_OF: usize = 5;

/// The digits: one part for each client, and the held-out examples.
pub struct Data {
    /// Each client's own examples.
    pub parts: Vec<Examples>,
    /// The examples on which every version is evaluated.
    pub held_out: Examples,
    /// The line numbers of the file in shuffled order, with the held-out ones first.
    order: Vec<usize>,
}

impl Data {
    /// Returns all digits as CSV lines, with the held-out ones last.
    pub fn csv(&self) -> String {
        let text = std::str::from_utf8(DIGITS).expect("digits and commas are UTF-8");
        let lines: Vec<&str> = text.lines().collect();
        let (held_out, training) = self.order.split_at(self.held_out.len());
        training.iter().chain(held_out).map(|&line| format!("{}\n", lines[line])).collect()
    }
}

/// Splits the digits over `clients`. The same seed gives the same parts.
///
/// # Errors
/// [`DemoError::TooManyClients`] if there are fewer examples than clients.
pub fn deal(clients: usize, alpha: f64, seed: u64) -> Result<Data, DemoError> {
    let all =
        read_csv(DIGITS, &CsvOptions::default()).expect("the embedded file is well-formed, a test reads it");
    let Labels::Classes(labels) = all.labels() else { unreachable!("the options ask for classes") };
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut order: Vec<usize> = (0..all.len()).collect();
    shuffle(&mut order, &mut rng);
    let (held_out, training) = order.split_at(all.len() / HELD_OUT_ONE_OF);
    if clients > training.len() {
        return Err(DemoError::TooManyClients { clients, examples: training.len() });
    }
    let parts = partition(training, labels, clients, alpha, &mut rng);
    let subset = |indices: &[usize]| all.subset(indices).expect("the indices are those of the rows");
    let (parts, held_out) = (parts.iter().map(|part| subset(part)).collect(), subset(held_out));
    Ok(Data { parts, held_out, order })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_fifths_are_dealt_out() {
        let data = deal(20, 1.0, 1).unwrap();
        let dealt: usize = data.parts.iter().map(Examples::len).sum();
        assert_eq!((data.parts.len(), dealt, data.held_out.len()), (20, 1438, 359));
        assert_eq!(data.held_out, deal(20, 1.0, 1).unwrap().held_out);
        assert_ne!(data.held_out, deal(20, 1.0, 2).unwrap().held_out);
    }

    #[test]
    fn the_lines_that_nobody_trains_on_come_last() {
        let data = deal(20, 1.0, 1).unwrap();
        let csv = data.csv();
        let all = read_csv(csv.as_bytes(), &CsvOptions::default()).unwrap();
        let last: Vec<usize> = (all.len() - data.held_out.len()..all.len()).collect();
        assert_eq!((all.len(), all.subset(&last).unwrap()), (1797, data.held_out));
    }

    #[test]
    fn more_clients_than_examples_are_refused() {
        assert!(matches!(
            deal(5000, 1.0, 1),
            Err(DemoError::TooManyClients { clients: 5000, examples: 1438 })
        ));
    }
}
