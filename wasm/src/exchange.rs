use folkmoot_protocol::{
    messages::Assignment,
    secure::{Identity, SecureProgress},
};
use folkmoot_session::ExchangeStep;
use folkmoot_training::{
    self as parts, Budget, DeviceKey, ExchangeOrder, WorkError, parse_plan, secure_setting,
};
use rand::{TryRng, rngs::SysRng};
use wasm_bindgen::{JsError, prelude::wasm_bindgen};

use crate::error::{thrown, work_failed};

/// One step of secure aggregation. The worker performs the order, and then calls the function that the order names.
#[wasm_bindgen]
pub struct Exchange {
    exchange: parts::Exchange,
    order: ExchangeOrder,
}

#[wasm_bindgen]
impl Exchange {
    /// Begins a step, for the first time or again. `step`, `assignment` and `budget` are JSON. `device_key` has 32 secret
    /// bytes, and `stored` is the journal that was stored last.
    pub fn begin(
        step: &str,
        assignment: &str,
        plan: &[u8],
        budget: &str,
        device_key: &[u8],
        stored: Option<String>,
    ) -> Result<Self, JsError> {
        let step: ExchangeStep = serde_json::from_slice(step.as_bytes()).map_err(thrown)?;
        let assignment: Assignment = serde_json::from_slice(assignment.as_bytes()).map_err(thrown)?;
        let budget: Budget = serde_json::from_slice(budget.as_bytes()).map_err(thrown)?;
        let device_key = device_key_of(device_key)?;
        let mut random = [0; 32];
        SysRng.try_fill_bytes(&mut random).map_err(thrown)?;
        begin(step, &assignment, plan, &budget, device_key, stored.as_deref(), random).map_err(work_failed)
    }

    /// The order to perform, as JSON: `{stores, sends, next}`.
    #[wasm_bindgen(getter)]
    pub fn order(&self) -> Result<String, JsError> {
        serde_json::to_string(&self.order).map_err(thrown)
    }

    /// The journal to store. It has no secret in the clear.
    #[wasm_bindgen(getter)]
    pub fn journal(&self) -> Result<String, JsError> {
        serde_json::to_string(self.exchange.journal()).map_err(thrown)
    }

    /// Continues with the signature of the client's key, both in base64.
    pub fn signed(&mut self, public_key: String, signature: String) -> Result<(), JsError> {
        self.order = self.exchange.signed(Identity { public_key, signature }).map_err(work_failed)?;
        Ok(())
    }

    /// Continues with the coordinator's answer, as JSON.
    pub fn answered(&mut self, progress: &str) -> Result<(), JsError> {
        let progress: SecureProgress = serde_json::from_slice(progress.as_bytes()).map_err(thrown)?;
        self.order = self.exchange.answered(progress).map_err(work_failed)?;
        Ok(())
    }
}

fn begin(
    step: ExchangeStep,
    assignment: &Assignment,
    plan: &[u8],
    budget: &Budget,
    device_key: DeviceKey,
    stored: Option<&str>,
    random: [u8; 32],
) -> Result<Exchange, WorkError> {
    let setting = secure_setting(assignment, &parse_plan(plan)?, budget)?;
    // A journal that cannot be read counts as missing.
    let stored = stored.and_then(|stored| serde_json::from_slice(stored.as_bytes()).ok());
    let (exchange, order) = parts::Exchange::begin(step, setting, device_key, stored, random)?;
    Ok(Exchange { exchange, order })
}

/// Reads the secret of the device under which journals are stored.
pub(crate) fn device_key_of(bytes: &[u8]) -> Result<DeviceKey, JsError> {
    bytes.try_into().map(DeviceKey).map_err(|_| JsError::new("the device key does not have 32 bytes"))
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::{Plan, Protection, messages::AbortReason, secure::Threat};
    use folkmoot_work::samples;
    use serde_json::{Value, from_str, json};

    use super::*;

    const BUDGET: &str = r#"{"cohort_min": 3}"#;

    fn plan(threat: Threat) -> Vec<u8> {
        let protection = Protection::SecureAggregation(samples::secure_terms(threat));
        let plan = Plan { protection, ..samples::plan() };
        serde_json::to_vec(&plan).unwrap()
    }

    fn assignment() -> Assignment {
        Assignment { is_masked: true, ..samples::assignment() }
    }

    fn begun(threat: Threat, stored: Option<String>) -> Exchange {
        let assignment = serde_json::to_string(&assignment()).unwrap();
        Exchange::begin(r#""keys""#, &assignment, &plan(threat), BUDGET, &[5; 32], stored).unwrap()
    }

    fn order(exchange: &Exchange) -> Value {
        from_str(&exchange.order().unwrap()).unwrap()
    }

    #[test]
    fn keys_are_the_same_after_a_reload_and_the_journal_hides_the_secret() {
        let first = begun(Threat::HonestButCurious, None);
        let sent = order(&first);
        assert_eq!((&sent["stores"], &sent["sends"]["step"]), (&json!(true), &json!("keys")));
        assert_eq!(sent["next"], json!({ "ask": "keys" }));
        let again = order(&begun(Threat::HonestButCurious, Some(first.journal().unwrap())));
        assert_eq!((&again["stores"], &again["sends"]), (&json!(false), &sent["sends"]));
        let other = order(&begun(Threat::HonestButCurious, None));
        assert_ne!(other["sends"], sent["sends"], "another journal has another secret");
    }

    #[test]
    fn keys_are_signed_if_the_coordinator_may_be_malicious() {
        let mut exchange = begun(Threat::Malicious, None);
        let before = order(&exchange);
        assert_eq!((&before["stores"], &before["sends"]), (&json!(true), &Value::Null));
        assert!(before["next"]["sign"].is_string());
        exchange.signed("key".to_owned(), "signature".to_owned()).unwrap();
        let after = order(&exchange);
        let identity = json!({ "public_key": "key", "signature": "signature" });
        assert_eq!(after["sends"]["advertisement"]["identity"], identity);
        exchange.answered(r#"{"kind": "wait"}"#).unwrap();
        assert_eq!(order(&exchange)["next"], json!({ "end": "waiting" }));
    }

    #[test]
    fn a_lost_journal_and_a_plan_without_terms_end_the_work() {
        let (assignment, budget) = (assignment(), Budget::default());
        let begin = |plan: &[u8], stored| {
            let key = DeviceKey([5; 32]);
            begin(ExchangeStep::Shares, &assignment, plan, &budget, key, stored, [1; 32]).err().unwrap()
        };
        for stored in [None, Some("damaged")] {
            let error = begin(&plan(Threat::Malicious), stored);
            assert_eq!(error.reason, AbortReason::StateLost);
            assert!(error.detail.contains("missing"), "{}", error.detail);
        }
        let plain = serde_json::to_vec(&samples::plan()).unwrap();
        assert_eq!(begin(&plain, None).reason, AbortReason::PlanUnsupported);
    }
}
