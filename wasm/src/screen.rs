use std::collections::BTreeMap;

use folkmoot_client::parts::{Consent, WorkError, parse_plan};
use wasm_bindgen::{JsError, prelude::wasm_bindgen};

use crate::error::{thrown, work_failed};

/// Looks at a plan before anything else is fetched for it: throws if this build cannot do what it asks, or if its device
/// rules do not hold for these private attributes (JSON), which go nowhere.
#[wasm_bindgen]
pub fn screen(plan: &[u8], private_attributes: &str) -> Result<(), JsError> {
    let plan = parse_plan(plan).map_err(work_failed)?;
    let attributes: BTreeMap<String, String> =
        serde_json::from_slice(private_attributes.as_bytes()).map_err(thrown)?;
    match Consent::new(attributes, None).rules_hold(&plan) {
        true => Ok(()),
        false => Err(work_failed(WorkError::declined())),
    }
}
