//! Parses any text as a codec, and as the JSON of a recipe.

#![no_main]

use folkmoot_fuzz::{prepare, seeds, within};
use folkmoot_protocol::codec::{Codec, Recipe};
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: prepare(|| seeds::of_codecs(|codec, _, _| seeds::recipes(codec))), |text: &str| {
    // Thirty bytes of JSON can become a rule of a hundred bytes in memory, and a list grows by doubling its capacity.
    let most = (64 << 10) + 32 * text.len();
    within(most, || {
        if let Ok(codec) = text.parse::<Codec>() {
            assert_eq!(codec.to_string().parse(), Ok(codec), "{codec}");
        }
    });
    if let Ok(recipe) = within(most, || serde_json::from_str::<Recipe>(text)) {
        recipe.validate();
        let json = serde_json::to_string(&recipe).expect("a recipe is JSON");
        assert_eq!(serde_json::from_str::<Recipe>(&json).expect("it was written as JSON"), recipe);
    }
});
