//! The letters of LEAF's Shakespeare set, as numbers.

use crate::Fault;

/// The alphabet of S. Caldas et al., "LEAF: A Benchmark for Federated Settings", 2018 (its `language_utils`); a
/// letter's place in it is its number, so that models for that benchmark fit.
const LETTERS: &str = "\n !\"&'(),-.0123456789:;>?ABCDEFGHIJKLMNOPQRSTUVWXYZ[]abcdefghijklmnopqrstuvwxyz}";

/// Returns the number of a letter, from 0 to 79.
pub(super) fn number(letter: char) -> Result<u8, Fault> {
    // All letters are single bytes, so that a byte's place is a letter's.
    let place = LETTERS.find(letter).and_then(|place| u8::try_from(place).ok());
    place.ok_or_else(|| {
        let reason = format!("{letter:?} is none of the 80 letters of LEAF's Shakespeare set");
        Fault::new(reason, "of LEAF's sets of text only Shakespeare is read; turn others into numbers first")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_eighty_letters_in_the_order_of_their_codes() {
        let numbers: Vec<u8> = LETTERS.chars().map(|letter| number(letter).unwrap()).collect();
        assert_eq!(numbers, (0..80).collect::<Vec<u8>>());
        assert!(LETTERS.is_ascii() && LETTERS.as_bytes().is_sorted());
        assert_eq!([number('\n'), number('A'), number('a')], [Ok(0), Ok(25), Ok(53)]);
        assert!(number('é').unwrap_err().to_string().contains("only Shakespeare"));
    }
}
