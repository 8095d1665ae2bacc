use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use folkmoot_protocol::Timestamp;
use reqwest::{header::CONTENT_TYPE, redirect, tls};
use ring::hmac;
use serde_json::json;

use crate::{
    DeliveryError, Notice, NotificationConfigError, WebhookConfig, WebhookFormat,
    secret::{self, Secret},
};

/// The time limit of a request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The prefix of a secret, as Standard Webhooks has it.
const SECRET_PREFIX: &str = "whsec_";
/// The shortest secret in bytes, as Standard Webhooks has it.
const SECRET_BYTES_MIN: usize = 24;

/// A URL that gets a POST request for each notice. No redirect is followed, and the answer is not read beyond its status.
#[derive(Debug)]
pub(crate) struct Webhook {
    url: Secret,
    format: WebhookFormat,
    key: Option<hmac::Key>,
    client: reqwest::Client,
}

impl Webhook {
    /// Reads the secrets of a channel.
    pub fn new(
        config: &WebhookConfig,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, NotificationConfigError> {
        let here = |error: NotificationConfigError| config.error(&error.key, error.message);
        let read = |key, file, variable| secret::read(key, file, variable, environment).map_err(here);
        let url = match &config.url {
            Some(url) => Secret::new(url),
            None => read("url", config.url_file.as_deref(), config.url_variable.as_deref())?
                .ok_or_else(|| config.error("url", "give url, url_file or url_variable"))?,
        };
        config.checked_url(url.text())?;
        let key = read("secret", config.secret_file.as_deref(), config.secret_variable.as_deref())?;
        let key = key.map(|secret| key_of(config, &secret)).transpose()?;
        Ok(Self {
            url,
            format: config.format,
            key,
            client: client().map_err(|error| config.error("url", error))?,
        })
    }

    /// Sends the notice. The signature covers the time of this attempt, so that recipients can refuse old requests.
    pub async fn send(&self, notice: &Notice, now: Timestamp) -> Result<(), DeliveryError> {
        let body = match self.format {
            WebhookFormat::Standard => notice.json(),
            WebhookFormat::Slack => json!({ "text": notice.chat() }).to_string(),
        };
        let mut request = self.client.post(self.url.text()).header(CONTENT_TYPE, "application/json");
        if self.format == WebhookFormat::Standard {
            let seconds = now.0 / 1000;
            request = request.header("webhook-id", &notice.id).header("webhook-timestamp", seconds);
            if let Some(key) = &self.key {
                request = request.header("webhook-signature", signature(key, &notice.id, seconds, &body));
            }
        }
        let status = request.body(body).send().await.map_err(reqwest::Error::without_url)?.status();
        if status.is_success() { Ok(()) } else { Err(DeliveryError::Status(status.as_u16())) }
    }
}

/// Signs a request by Standard Webhooks 1.0: HMAC-SHA256 of the id, the time in seconds and the body, with dots between
/// them.
fn signature(key: &hmac::Key, id: &str, seconds: u64, body: &str) -> String {
    let tag = hmac::sign(key, format!("{id}.{seconds}.{body}").as_bytes());
    format!("v1,{}", STANDARD.encode(tag))
}

fn key_of(config: &WebhookConfig, secret: &Secret) -> Result<hmac::Key, NotificationConfigError> {
    let text = secret.text();
    let bytes = STANDARD.decode(text.strip_prefix(SECRET_PREFIX).unwrap_or(text)).ok();
    match bytes {
        Some(bytes) if bytes.len() >= SECRET_BYTES_MIN => Ok(hmac::Key::new(hmac::HMAC_SHA256, &bytes)),
        _ => {
            let message = format!(
                "the secret must be `{SECRET_PREFIX}` and Base64 of at least {SECRET_BYTES_MIN} bytes; make one with \
                 `echo {SECRET_PREFIX}$(openssl rand -base64 32)`"
            );
            Err(config.error("secret", message))
        }
    }
}

fn client() -> Result<reqwest::Client, String> {
    // Keep the crypto provider that the process has installed. Losing a race to install one is no error.
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    reqwest::Client::builder()
        .tls_backend_rustls()
        .tls_version_min(tls::Version::TLS_1_2)
        .timeout(TIMEOUT)
        .redirect(redirect::Policy::none())
        .user_agent(concat!("folkmoot/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the Standard Webhooks specification, 1.0.0, section “Verifying webhook authenticity”.
    #[test]
    fn the_published_example_has_its_signature() {
        let secret = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let key = hmac::Key::new(hmac::HMAC_SHA256, &secret);
        let signed =
            signature(&key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}
