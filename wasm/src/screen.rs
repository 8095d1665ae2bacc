use std::collections::BTreeMap;

use folkmoot_client::{
    DeviceConditions,
    parts::{Consent, WorkError, parse_plan},
};
use folkmoot_protocol::messages::Assignment;
use wasm_bindgen::{JsError, prelude::wasm_bindgen};

use crate::error::{thrown, work_failed};

/// Looks at the plan of an assignment (JSON) before anything else is fetched for it, and returns about how many bytes its
/// update has: throws if this build cannot do what it asks, or if its device rules do not hold for these private attributes
/// (JSON), which go nowhere.
#[wasm_bindgen]
pub fn screen(plan: &[u8], private_attributes: &str, assignment: &str) -> Result<f64, JsError> {
    let plan = parse_plan(plan).map_err(work_failed)?;
    let attributes: BTreeMap<String, String> =
        serde_json::from_slice(private_attributes.as_bytes()).map_err(thrown)?;
    let assignment: Assignment = serde_json::from_slice(assignment.as_bytes()).map_err(thrown)?;
    match Consent::new(attributes, None).rules_hold(&plan, &DeviceConditions::default()) {
        true => Ok(plan.update_bytes(assignment.recipe.as_deref()) as f64),
        false => Err(work_failed(WorkError::declined())),
    }
}
