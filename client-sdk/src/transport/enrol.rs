use folkmoot_protocol::messages::{CheckInRequest, CheckInResponse, EnrolRequest, EnrolResponse};

use super::{Transport, TransportError, response::read_json};

impl Transport {
    /// Enrols the key and stores the client id. Enrolling the same key again returns the same id.
    ///
    /// # Errors
    /// [`TransportError`] if the coordinator refuses or cannot be reached.
    pub async fn enrol(&self, token: &str) -> Result<EnrolResponse, TransportError> {
        let request = self.enrol_request(token);
        let response: EnrolResponse = read_json(self.post("/v1/enrol", None, &request, 0).await?).await?;
        self.learn_time(response.server_time);
        self.set_client_id(response.client_id);
        Ok(response)
    }

    /// Returns the message that an enrolment sends.
    pub(crate) fn enrol_request(&self, token: &str) -> EnrolRequest {
        EnrolRequest { token: token.to_owned(), public_key: self.0.key.public_key() }
    }

    /// Checks in and waits for an assignment, as long as the request says.
    ///
    /// # Errors
    /// [`TransportError`] if the coordinator refuses or cannot be reached.
    pub async fn check_in(
        &self,
        request: &CheckInRequest,
        wait_seconds: u32,
    ) -> Result<CheckInResponse, TransportError> {
        let path = format!("/v1/check-in?wait_seconds={wait_seconds}");
        let client = self.enrolled_id()?;
        read_json(self.post(&path, Some(client), request, wait_seconds.into()).await?).await
    }
}
