//! Parses any text as a coordinator's configuration. A valid configuration must be convertible to the coordinator's
//! settings.

#![no_main]

use std::path::Path;

use folkmoot_fuzz::prepare;
use folkmoot_settings::{Config, KEYS, toml_file};
use libfuzzer_sys::fuzz_target;

/// Returns a seed for each setting of the default configuration, and one for all settings together.
fn seeds() -> Vec<Vec<u8>> {
    let whole = toml::to_string(&Config::default()).expect("the defaults are TOML");
    let lines =
        |key: &&str| key.split_once('.').map(|(table, key)| format!("[{table}]\n{key} = 1\n").into_bytes());
    KEYS.iter().filter_map(lines).chain([whole.into_bytes()]).collect()
}

fuzz_target!(init: prepare(seeds), |text: &str| {
    let Ok(config) = toml_file::parse::<Config>(Path::new("folkmoot.toml"), text) else { return };
    if config.check().is_ok() {
        config.host_config();
    }
});
