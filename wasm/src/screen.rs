use std::collections::BTreeMap;

use folkmoot_client::{
    DeviceConditions,
    parts::{Budget, Consent, WorkError, parse_plan},
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

/// Checks the limits that the app set (JSON), and throws if one makes no sense. Returns the bytes that the model and its weights
/// may have.
#[wasm_bindgen(js_name = checkBudget)]
pub fn check_budget(budget: &str) -> Result<f64, JsError> {
    let budget: Budget = serde_json::from_slice(budget.as_bytes()).map_err(thrown)?;
    budget.validate().map_err(thrown)?;
    Ok(budget.model_bytes_max as f64)
}

/// Says which limit of the app's an assignment and its plan pass, for the page's user alone; nothing if none. Without a plan it looks
/// at whether the plan may be fetched.
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
