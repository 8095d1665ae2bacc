//! Requests about the caller, and sign-in with an identity provider.

use std::time::Duration;

use folkmoot_protocol::Disposition;
use reqwest::{Method, StatusCode};

use super::{AdminClient, AdminError, request};
use crate::session::{
    CallerView, DeviceSignInRequest, DeviceSignInState, DeviceSignInView, EndSessionsRequest,
    EndedSessionsView, OpenSessionView, ProvidersView, SignedOutView,
};

/// The time by which the interval grows if the provider asks to slow down, in seconds (RFC 8628, section 3.5).
const SLOW_DOWN_SECONDS: u64 = 5;

impl AdminClient {
    /// Returns the holder of the API key or session.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn me(&self) -> Result<CallerView, AdminError> {
        self.get("me").await
    }

    /// Lists the newest open sessions of the organisation's keys and people, at most 1,000.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn sessions(&self) -> Result<Vec<OpenSessionView>, AdminError> {
        self.get("sessions").await
    }

    /// Ends a session of the organisation. `id` is its id or the beginning of its id.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn end_session(&self, id: &str) -> Result<(), AdminError> {
        self.ask_nothing(Method::DELETE, &format!("sessions/{}", request::segment(id))).await
    }

    /// Ends all sessions of a person.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn end_sessions_of(
        &self,
        provider: &str,
        subject: &str,
    ) -> Result<EndedSessionsView, AdminError> {
        let request = EndSessionsRequest { provider: provider.to_owned(), subject: subject.to_owned() };
        self.send("sessions/end", &request).await
    }

    /// Lists the identity providers. Needs no key.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn identity_providers(&self) -> Result<ProvidersView, AdminError> {
        self.get("sign-in").await
    }

    /// Begins a sign-in that a person finishes in a browser. Needs no key.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator or the provider cannot be reached or refuses the request.
    pub async fn begin_device_sign_in(&self, provider: &str) -> Result<DeviceSignInView, AdminError> {
        self.ask(Method::POST, &format!("sign-in/{}/device", request::segment(provider))).await
    }

    /// Asks once whether the person has finished. Needs no key.
    ///
    /// # Errors
    /// [`AdminError`] if the person declined, the code has expired, or the coordinator or the provider cannot be
    /// reached or refuses the request.
    pub async fn device_sign_in(
        &self,
        provider: &str,
        device_code: &str,
    ) -> Result<DeviceSignInState, AdminError> {
        let request = DeviceSignInRequest { device_code: device_code.to_owned() };
        self.send(&format!("sign-in/{}/device/token", request::segment(provider)), &request).await
    }

    /// Asks until the person has finished, and waits in between. Returns a state other than `SignedIn` if nobody
    /// entered the code in time.
    ///
    /// # Errors
    /// The errors of [`Self::device_sign_in`], except for errors that a later request can overcome.
    pub async fn await_device_sign_in<S: Future<Output = ()>>(
        &self,
        provider: &str,
        begun: &DeviceSignInView,
        sleep: impl Fn(Duration) -> S,
    ) -> Result<DeviceSignInState, AdminError> {
        wait(begun, async || self.device_sign_in(provider, &begun.device_code).await, sleep).await
    }

    /// Ends the session that this client sends. Succeeds even if it has already ended. Returns the page at which the
    /// person also signs out at the identity provider, if there is one.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn sign_out(&self) -> Result<Option<SignedOutView>, AdminError> {
        let response = self.answer(Method::DELETE, "session").await?;
        match response.status() {
            StatusCode::NO_CONTENT => Ok(None),
            _ => request::parsed(response).await.map(Some),
        }
    }
}

async fn wait<S: Future<Output = ()>>(
    begun: &DeviceSignInView,
    ask: impl AsyncFn() -> Result<DeviceSignInState, AdminError>,
    sleep: impl Fn(Duration) -> S,
) -> Result<DeviceSignInState, AdminError> {
    let (mut interval, mut waited) = (begun.interval_seconds, 0);
    while waited < begun.expires_in_seconds {
        match ask().await {
            Ok(DeviceSignInState::Pending) => {}
            Ok(DeviceSignInState::SlowDown) => interval += SLOW_DOWN_SECONDS,
            Err(AdminError::Refused(problem)) if problem.disposition == Disposition::Retry => {
                interval += SLOW_DOWN_SECONDS;
            }
            ended => return ended,
        }
        sleep(Duration::from_secs(interval)).await;
        waited += interval;
    }
    Ok(DeviceSignInState::Pending)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use folkmoot_protocol::{ErrorCode, Problem};
    use serde_json::json;

    use super::*;

    type Answer = Result<DeviceSignInState, AdminError>;

    fn refusal(code: ErrorCode) -> Answer {
        Err(AdminError::Refused(Box::new(Problem::new(code, "a reason"))))
    }

    /// Returns the end of a sign-in with these answers, and the seconds of each pause.
    async fn outcome(answers: Vec<Answer>) -> (Answer, Vec<u64>) {
        let begun = json!({
            "device_code": "secret",
            "user_code": "WDJB",
            "verification_uri": "https://login.example",
            "expires_in_seconds": 60,
            "interval_seconds": 5,
        });
        let begun: DeviceSignInView = serde_json::from_value(begun).unwrap();
        let (answers, pauses) = (RefCell::new(answers.into_iter()), RefCell::new(Vec::new()));
        let next = || answers.borrow_mut().next().unwrap_or(Ok(DeviceSignInState::Pending));
        let sleep = async |pause: Duration| pauses.borrow_mut().push(pause.as_secs());
        let end = wait(&begun, async || next(), sleep).await;
        (end, pauses.into_inner())
    }

    #[tokio::test]
    async fn the_pauses_are_those_of_the_provider() {
        use DeviceSignInState::{Pending, SlowDown};
        let unavailable = refusal(ErrorCode::IdentityProviderUnavailable);
        let ended = refusal(ErrorCode::SignInFailed);
        let (end, pauses) = outcome(vec![Ok(Pending), Ok(SlowDown), Ok(Pending), unavailable, ended]).await;
        assert_eq!(end.err().and_then(|error| error.code()), Some(ErrorCode::SignInFailed));
        assert_eq!(pauses, [5, 10, 10, 15]);
        let (end, pauses) = outcome(Vec::new()).await;
        assert!(matches!(end, Ok(Pending)));
        assert_eq!(pauses, [5; 12]);
    }
}
