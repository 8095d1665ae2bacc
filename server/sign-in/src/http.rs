//! Requests to identity providers, within limits.

use std::{pin::Pin, time::Duration};

use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse, http};
use reqwest::{Certificate, redirect, tls};

use crate::config::is_safe;

/// The limits of one request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HttpLimits {
    /// The time limit of a request with its response.
    pub timeout: Duration,
    /// The largest response, in bytes. A discovery document has about 5 kB, a set of keys seldom more than 10 kB.
    pub bytes_max: usize,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(10), bytes_max: 256 * 1024 }
    }
}

/// The HTTP client of one provider: no redirects, and plain HTTP only on this machine.
#[derive(Debug)]
pub(crate) struct Http {
    client: reqwest::Client,
    limits: HttpLimits,
}

/// A request failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    #[error("{} is not encrypted; the provider must use https", .0)]
    Plain(reqwest::Url),
    #[error("{}", with_causes(.0))]
    Request(#[from] reqwest::Error),
    #[error("the response has more than {0} bytes")]
    TooLarge(usize),
    #[error(transparent)]
    Http(#[from] http::Error),
}

/// Joins an error and its causes, because the first seldom says what went wrong.
fn with_causes(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

impl Http {
    /// Creates a client. If `ca_pem` is given, the client trusts only these root certificates.
    ///
    /// # Errors
    /// If the PEM has no usable certificate.
    pub fn new(ca_pem: Option<&[u8]>, limits: HttpLimits) -> Result<Self, String> {
        // Keep the crypto provider that the process has installed. Losing a race to install one is no error.
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let mut builder = reqwest::Client::builder()
            .tls_backend_rustls()
            .tls_version_min(tls::Version::TLS_1_2)
            .timeout(limits.timeout)
            // A redirect could lead requests with the client secret anywhere.
            .redirect(redirect::Policy::none());
        if let Some(pem) = ca_pem {
            let certificates = Certificate::from_pem_bundle(pem).map_err(|error| error.to_string())?;
            if certificates.is_empty() {
                return Err("the file has no certificate; give root certificates as PEM".into());
            }
            builder = builder.tls_certs_only(certificates);
        }
        let client = builder.build().map_err(|error| with_causes(&error))?;
        Ok(Self { client, limits })
    }

    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let request = reqwest::Request::try_from(request)?;
        // The provider's own documents name its other endpoints.
        if !is_safe(request.url()) {
            return Err(HttpError::Plain(request.url().clone()));
        }
        let mut response = self.client.execute(request).await?;
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await? {
            if body.len() + piece.len() > self.limits.bytes_max {
                return Err(HttpError::TooLarge(self.limits.bytes_max));
            }
            body.extend_from_slice(&piece);
        }
        let mut answer = http::Response::builder().status(response.status());
        for (name, value) in response.headers() {
            answer = answer.header(name, value);
        }
        Ok(answer.body(body)?)
    }
}

impl<'c> AsyncHttpClient<'c> for Http {
    type Error = HttpError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.send(request))
    }
}
