//! The characters of LEAF's Shakespeare set, as numbers.

use crate::Fault;

/// The alphabet of S. Caldas et al., "LEAF: A Benchmark for Federated Settings", 2018 (its `language_utils`). A
/// character's number is its index here, so models for that benchmark are compatible.
const LETTERS: &str = "\n !\"&'(),-.0123456789:;>?ABCDEFGHIJKLMNOPQRSTUVWXYZ[]abcdefghijklmnopqrstuvwxyz}";

/// Returns the number of a character, from 0 to 79.
pub(super) fn number(letter: char) -> Result<u8, Fault> {
    // All characters are single bytes, so byte positions are character positions.
    let place = LETTERS.find(letter).and_then(|place| u8::try_from(place).ok());
    place.ok_or_else(|| {
        let reason = format!("{letter:?} is not one of the 80 characters of LEAF's Shakespeare set");
        Fault::new(
            reason,
            "only Shakespeare is supported among LEAF's text sets; convert the texts of other sets to numbers",
        )
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
