use std::collections::BTreeMap;

use folkmoot_protocol::messages::Assignment;
use folkmoot_training::{Budget, Consent, DeviceConditions, WorkError, parse_plan};
use wasm_bindgen::{JsError, prelude::wasm_bindgen};

use crate::error::{thrown, work_failed};

/// Checks an assignment's plan before anything else is fetched, and returns the approximate size of its update in
/// bytes. All arguments are JSON. Throws an error if this build cannot carry out the plan, or if the plan's device
/// rules do not hold for these private attributes, which are never sent.
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

/// Checks the app's limits (JSON). Returns the maximum number of bytes of model and weights, or throws an error if a
/// limit is invalid.
#[wasm_bindgen(js_name = checkBudget)]
pub fn check_budget(budget: &str) -> Result<f64, JsError> {
    let budget: Budget = serde_json::from_slice(budget.as_bytes()).map_err(thrown)?;
    budget.validate().map_err(thrown)?;
    Ok(budget.model_bytes_max as f64)
}

/// Returns a text that names the app's limit that an assignment and its plan exceed, or nothing. The text is only for
/// the page's user. Without a plan, checks whether the plan itself may be fetched.
#[wasm_bindgen(js_name = overBudget)]
pub fn over_budget(plan: Option<Vec<u8>>, assignment: &str, budget: &str) -> Result<Option<String>, JsError> {
    let assignment: Assignment = serde_json::from_slice(assignment.as_bytes()).map_err(thrown)?;
    let budget: Budget = serde_json::from_slice(budget.as_bytes()).map_err(thrown)?;
    let checked = match plan {
        Some(plan) => budget.allows(&assignment, &parse_plan(&plan).map_err(work_failed)?),
        None => budget.allows_plan_of(assignment.plan.bytes),
    };
    Ok(checked.err().map(|over| over.to_string()))
}
