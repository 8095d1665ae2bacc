//! Decodes any bytes as a complete update with its header, with and without support for codecs.

#![no_main]

use std::convert::Infallible;

use folkmoot_fuzz::{Choices, decoder_bytes_max, prepare, seeds, within};
use folkmoot_update::{Piece, UpdateDecoder};
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: prepare(|| seeds::of_codecs(|_, number, payload| seeds::updates(number, payload))), |input: &[u8]| {
    let Some((Choices { schema, recipe, piece }, bytes)) = Choices::read(input) else { return };
    let mut seen = 0;
    // The callback also gets the pieces as bytes, which needs memory for one more tile. Float32 updates need less.
    within(2 * decoder_bytes_max(&schema), || {
        let mut decoder = match &recipe {
            Some(recipe) => UpdateDecoder::with_recipe(&schema, recipe),
            None => UpdateDecoder::new(),
        };
        let mut visit = |piece: Piece<'_>| -> Result<(), Infallible> {
            if let Piece::Values { first, bytes } = piece {
                assert_eq!((first, bytes.len() % 4), (seen, 0));
                seen += bytes.len() as u64 / 4;
            }
            Ok(())
        };
        let outcome = bytes.chunks(piece).try_for_each(|piece| decoder.push(piece, &mut visit));
        let announced = decoder.header().map(|header| header.element_count);
        assert!(seen <= announced.unwrap_or(0));
        assert!(outcome.is_err() || !decoder.is_complete() || announced == Some(seen));
    });
});
