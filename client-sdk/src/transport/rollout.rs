use std::time::Duration;

use folkmoot_protocol::{
    ChannelName,
    messages::{Rollout, RolloutReport, RolloutResponse},
};
use reqwest::Method;

use super::{
    Transport, TransportError,
    request::{CONTROL_SECONDS_MAX, Payload, Unsigned},
    response::read_json,
};

impl Transport {
    /// Asks which model is rolled out to this device in a channel.
    ///
    /// # Errors
    /// [`TransportError`] if the coordinator refuses or cannot be reached.
    pub async fn rollout(&self, channel: &ChannelName) -> Result<Option<Rollout>, TransportError> {
        let unsigned = Unsigned {
            method: Method::GET,
            path: &format!("/v1/model?channel={channel}"),
            client: Some(self.enrolled_id()?),
            payload: Payload::Nothing { range_start: 0 },
            timeout: Some(Duration::from_secs(CONTROL_SECONDS_MAX)),
        };
        let response: RolloutResponse = read_json(self.send(&unsigned).await?).await?;
        Ok(response.rollout)
    }

    /// Reports whether this device could load the model that is rolled out to it.
    ///
    /// # Errors
    /// [`TransportError`] if the coordinator refuses or cannot be reached.
    pub async fn report_rollout(&self, report: &RolloutReport) -> Result<(), TransportError> {
        self.post("/v1/model/report", Some(self.enrolled_id()?), report, 0).await.map(drop)
    }
}
