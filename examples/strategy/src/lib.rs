//! A strategy of your own, in three parts: a selection that prefers clients with large losses, an aggregator that learns how long a
//! usual update is, and a finalizer that steps by signs.

mod aggregator;
mod finalizer;
mod selection;

wit_bindgen::generate!({ path: "../../server/strategy/wit", world: "strategy" });

/// The component.
struct Strategy;

export!(Strategy);

/// Reads settings such as `quantile=0.5 rate=0.1`. Values that the text does not name keep their defaults.
fn read<const N: usize>(settings: &str, defaults: [(&str, f64); N]) -> Result<[f64; N], String> {
    let mut values = defaults.map(|(_, value)| value);
    for setting in settings.split_whitespace() {
        let (name, text) = setting.split_once('=').ok_or(format!("{setting:?} is not NAME=NUMBER"))?;
        let names = defaults.map(|(name, _)| name);
        let place = names.iter().position(|one| *one == name);
        let place = place.ok_or_else(|| format!("there is no {name:?}; there are {names:?}"))?;
        let value: f64 = text.parse().map_err(|_| format!("{text:?} is not a number"))?;
        values[place] = value;
    }
    Ok(values)
}
