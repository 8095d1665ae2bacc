//! Decodes any bytes as the payload of any model, with or without a required recipe.

#![no_main]

use std::convert::Infallible;

use folkmoot_fuzz::{Choices, decoder_bytes_max, prepare, seeds, within};
use folkmoot_update::codec::{Decoder, Tile, decode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: prepare(|| seeds::of_codecs(|_, number, payload| seeds::payloads(number, payload))), |input: &[u8]| {
    let Some((Choices { schema, recipe, piece }, bytes)) = Choices::read(input) else { return };
    let parameters = schema.parameter_count();
    let most = decoder_bytes_max(&schema);
    let mut seen = 0;
    let outcome = within(most, || {
        let mut decoder = match &recipe {
            Some(recipe) => Decoder::expecting(&schema, recipe),
            None => Decoder::new(&schema),
        };
        let mut visit = |tile: Tile<'_>| -> Result<(), Infallible> {
            assert_eq!(tile.first, seen);
            assert!(tile.values.present().len() <= tile.count);
            assert!(tile.values.present().iter().all(|value| value.is_finite()));
            seen += tile.count as u64;
            Ok(())
        };
        bytes.chunks(piece).try_for_each(|piece| decoder.push(piece, &mut visit)).map(|()| decoder.is_complete())
    });
    assert!(seen <= parameters);
    assert!(outcome != Ok(true) || seen == parameters);
    // The decoded vector needs additional memory, including spare capacity from growing.
    let dense = within(most + 3 * 4 * parameters as usize, || decode(&schema, bytes));
    if outcome == Ok(true) {
        assert_eq!(dense.expect("it was complete").len() as u64, parameters);
    }
});
