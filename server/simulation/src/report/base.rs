use super::quantity::Unit;
use crate::record::RoundRow;

/// The quantity on the horizontal axis.
#[derive(Clone, Copy)]
pub(super) enum Base {
    Rounds,
    Time,
    Bytes,
}

impl Base {
    pub(super) fn words(self) -> &'static str {
        match self {
            Base::Rounds => "rounds",
            Base::Time => "virtual time",
            Base::Bytes => "traffic",
        }
    }

    /// Returns the horizontal position of each round of a run.
    pub(super) fn values(self, rounds: &[RoundRow]) -> Vec<f64> {
        let mut bytes = 0.0;
        let value = |row: &RoundRow| match self {
            Base::Rounds => row.round_number as f64,
            Base::Time => row.virtual_seconds,
            Base::Bytes => {
                bytes += row.bytes_down as f64 + row.bytes_up as f64;
                bytes
            }
        };
        rounds.iter().map(value).collect()
    }

    /// Returns the name of an axis that reaches to `most`, and the number of base units in its unit.
    pub(super) fn axis(self, most: f64) -> (String, f64) {
        let unit = match self {
            Base::Rounds => return (self.words().to_owned(), 1.0),
            Base::Time => Unit::of_time(most),
            Base::Bytes => Unit::of_bytes(most),
        };
        (format!("{} [{}]", self.words(), unit.name), unit.size)
    }
}
