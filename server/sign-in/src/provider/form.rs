//! Requests to a provider's endpoints that the library does not build as we need them.

use base64::{Engine, engine::general_purpose::STANDARD};
use openidconnect::{
    AuthType, HttpRequest,
    http::{Request, header},
    url::form_urlencoded,
};

use super::Provider;
use crate::{SignInError, client::auth_type, metadata::Metadata};

impl Provider {
    /// Builds a form that authenticates the coordinator as the provider's documents say.
    pub(super) fn form(
        &self,
        metadata: &Metadata,
        endpoint: &str,
        pairs: &[(&str, &str)],
    ) -> Result<HttpRequest, SignInError> {
        let mut request = Request::post(endpoint)
            .header(header::ACCEPT, "application/json")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.extend_pairs(pairs);
        match (&self.client_secret, auth_type(metadata)) {
            (Some(secret), AuthType::BasicAuth) => {
                // RFC 6749, section 2.3.1, encodes both parts before they are joined.
                let [id, secret] = [self.client_id.as_str(), secret.secret()]
                    .map(|part| form_urlencoded::byte_serialize(part.as_bytes()).collect::<String>());
                let basic = STANDARD.encode(format!("{id}:{secret}"));
                request = request.header(header::AUTHORIZATION, format!("Basic {basic}"));
            }
            (secret, _) => {
                form.append_pair("client_id", &self.client_id);
                if let Some(secret) = secret {
                    form.append_pair("client_secret", secret.secret());
                }
            }
        }
        request.body(form.finish().into_bytes()).map_err(SignInError::unavailable)
    }
}
