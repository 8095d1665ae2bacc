use std::fmt::Display;

use folkmoot_client::parse_coordinator;
use folkmoot_protocol::Problem;
use reqwest::{Method, RequestBuilder, Response, Url, header};
use serde::{Serialize, de::DeserializeOwned};

use super::{AdminClient, AdminError, DownloadedModel, TIMEOUT};
use crate::versions::VERSION_HEADER;

/// The maximum number of characters that an error quotes from an unreadable response.
const SHOWN_CHARACTERS_MAX: usize = 200;

impl AdminClient {
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, AdminError> {
        self.ask(Method::GET, path).await
    }

    /// Sends a request without a body.
    pub(super) async fn ask<T: DeserializeOwned>(&self, method: Method, path: &str) -> Result<T, AdminError> {
        read(self.request(method, path)?.timeout(TIMEOUT)).await
    }

    /// Sends a request whose response has no body.
    pub(super) async fn ask_nothing(&self, method: Method, path: &str) -> Result<(), AdminError> {
        accepted(self.request(method, path)?.timeout(TIMEOUT)).await.map(|_| ())
    }

    /// Sends a request without a body, and returns the response unread.
    pub(super) async fn answer(&self, method: Method, path: &str) -> Result<Response, AdminError> {
        accepted(self.request(method, path)?.timeout(TIMEOUT)).await
    }

    /// Sends a JSON body.
    pub(super) async fn send<B: Serialize, T: DeserializeOwned>(
        &self,
        path: &str,
        body: &B,
    ) -> Result<T, AdminError> {
        read(self.request(Method::POST, path)?.timeout(TIMEOUT).json(body)).await
    }

    /// Sends a binary body, without a timeout.
    pub(super) async fn send_bytes<T: DeserializeOwned>(
        &self,
        path: &str,
        bytes: Vec<u8>,
    ) -> Result<T, AdminError> {
        let request =
            self.request(Method::POST, path)?.header(header::CONTENT_TYPE, "application/octet-stream");
        read(request.body(bytes)).await
    }

    /// Downloads a model, without a timeout.
    pub(super) async fn get_model(&self, path: &str) -> Result<DownloadedModel, AdminError> {
        let response = accepted(self.request(Method::GET, path)?).await?;
        let number =
            response.headers().get(VERSION_HEADER).and_then(|number| number.to_str().ok()?.parse().ok());
        let unnumbered = || answer(&response, format!("the header {VERSION_HEADER} is missing"));
        let number = number.ok_or_else(unnumbered)?;
        Ok(DownloadedModel { number, onnx: response.bytes().await?.into() })
    }

    pub(super) fn request(&self, method: Method, path: &str) -> Result<RequestBuilder, AdminError> {
        let invalid = |_| AdminError::Address(format!("{}v1/admin/{path}", self.base));
        let url = self.base.join(&format!("v1/admin/{path}")).map_err(invalid)?;
        let request = self.http.request(method, url);
        Ok(if self.api_key.is_empty() { request } else { request.bearer_auth(&self.api_key) })
    }
}

/// Sends a request and reads the JSON of its response.
pub(super) async fn read<T: DeserializeOwned>(request: RequestBuilder) -> Result<T, AdminError> {
    parsed(accepted(request).await?).await
}

/// Reads a response's JSON.
pub(super) async fn parsed<T: DeserializeOwned>(response: Response) -> Result<T, AdminError> {
    let (place, status) = (response.url().to_string(), response.status().as_u16());
    let bytes = response.bytes().await?;
    serde_json::from_slice(&bytes).map_err(|error| AdminError::Answer {
        place,
        status,
        detail: error.to_string(),
    })
}

/// Sends a request and returns the response if its status is a success.
pub(super) async fn accepted(request: RequestBuilder) -> Result<Response, AdminError> {
    let response = request.send().await?;
    if response.status().is_success() {
        return Ok(response);
    }
    let (place, status) = (response.url().to_string(), response.status().as_u16());
    let bytes = response.bytes().await?;
    Err(match serde_json::from_slice::<Problem>(&bytes) {
        Ok(problem) => AdminError::Refused(Box::new(problem)),
        Err(_) => {
            let detail = String::from_utf8_lossy(&bytes).chars().take(SHOWN_CHARACTERS_MAX).collect();
            AdminError::Answer { place, status, detail }
        }
    })
}

fn answer(response: &Response, detail: String) -> AdminError {
    AdminError::Answer { place: response.url().to_string(), status: response.status().as_u16(), detail }
}

/// Parses the coordinator's address. Plain HTTP is allowed only to this machine, because requests carry the API key.
pub(super) fn parse_base(text: &str) -> Result<Url, AdminError> {
    parse_coordinator(text.trim()).map_err(|_| AdminError::Address(text.to_owned()))
}

/// Encodes user input as one path segment or one query value: everything except ASCII letters, digits and `-`. A text
/// of dots alone would name another folder even if it is encoded, so it becomes `_`.
pub(super) fn segment(text: impl Display) -> String {
    let text = text.to_string();
    if matches!(text.as_str(), "." | "..") {
        return "_".to_owned();
    }
    let encoded = |byte: u8| match byte {
        b'-' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(encoded).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_goes_over_tls_or_stays_on_this_machine() {
        for good in
            ["https://a.example", "https://a.example:8443/", "http://127.0.0.1:1", "http://localhost:1"]
        {
            assert!(parse_base(good).is_ok(), "{good}");
        }
        for bad in
            ["", "a.example", "http://a.example", "https://a.example/x", "file:///x", "https://u@a.example"]
        {
            assert!(parse_base(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_id_stays_one_segment() {
        assert_eq!(segment("../tasks?x"), "%2E%2E%2Ftasks%3Fx");
        assert_eq!(segment("Klinik Süd"), "Klinik%20S%C3%BCd");
        assert_eq!([".", ".."].map(segment), ["_"; 2]);
    }
}
