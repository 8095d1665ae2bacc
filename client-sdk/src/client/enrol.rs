use std::time::Duration;

use folkmoot_protocol::Disposition;
use folkmoot_session::{Failure, back_off_until};
use folkmoot_work::Note;
use futures::future::BoxFuture;
use tokio::time::sleep;

use super::{Client, ClientError, ClientEvent};
use crate::storage::Enrolment;

impl Client {
    /// Enrols if the transport has no client id yet. Returns `false` if `shutdown` came first.
    pub(super) async fn ensure_enrolled(
        &self,
        shutdown: &mut BoxFuture<'_, ()>,
    ) -> Result<bool, ClientError> {
        if self.transport.client_id().is_some() {
            return Ok(true);
        }
        self.enrol(shutdown).await
    }

    /// Tries once to enrol, unless the client is enrolled already.
    ///
    /// # Errors
    /// [`ClientError`] if the client has no token, or the coordinator cannot be reached or refuses the enrolment.
    pub async fn enrol_if_needed(&self) -> Result<(), ClientError> {
        match (self.transport.client_id(), &self.token) {
            (Some(_), _) => Ok(()),
            (None, Some(token)) => self.enrol_once(token).await,
            (None, None) => Err(ClientError::NoEnrolmentToken),
        }
    }

    /// Enrols, even if the client has an id. Retries as long as the error's disposition is to retry. Returns `false` if
    /// `shutdown` came first.
    pub(super) async fn enrol(&self, shutdown: &mut BoxFuture<'_, ()>) -> Result<bool, ClientError> {
        let token = self.token.as_deref().ok_or(ClientError::NoEnrolmentToken)?;
        tokio::select! {
            biased;
            () = shutdown.as_mut() => Ok(false),
            result = self.enrol_with(token) => result.map(|()| true),
        }
    }

    async fn enrol_with(&self, token: &str) -> Result<(), ClientError> {
        let mut rng = self.host.fork_rng();
        let mut failures = 0;
        loop {
            let error = match self.enrol_once(token).await {
                Err(ClientError::Transport(error)) => error,
                enrolled => return enrolled,
            };
            let failure = Failure::from(&error);
            if failure.disposition != Disposition::Retry {
                return Err(error.into());
            }
            failures += 1;
            let now = self.host.now();
            let until = back_off_until(now, failures, failure.retry_after_milliseconds, &mut rng);
            (self.on_event)(ClientEvent::BackingOff { until, failures, detail: error.to_string() });
            sleep(Duration::from_millis(until.milliseconds_since(now))).await;
        }
    }

    async fn enrol_once(&self, token: &str) -> Result<(), ClientError> {
        let response = self.transport.enrol(token).await?;
        let (id, population) = (response.client_id, response.population);
        let enrolment = Enrolment::new(self.transport.coordinator(), id, population.clone());
        // The memories, personal tensors and the rolled-out model belong to the previous client identity.
        self.work.forget_all_tasks()?;
        self.models.end_rollout()?;
        self.state.save_enrolment(&enrolment)?;
        let request = self.transport.enrol_request(token);
        self.transparency_log.write(Note::enrolled(&request, &population));
        (self.on_event)(ClientEvent::Enrolled { client_id: id, population });
        Ok(())
    }
}
