//! The cookie of an attempt to sign in.

use axum::http::HeaderMap;
use folkmoot_sign_in::Attempt;

use crate::http::admin::cookie;

/// The name of the cookie. Because of the prefix, browsers accept it only from this host itself, not from a
/// neighbouring one.
const NAME: &str = "__Host-folkmoot_sign_in";
/// The time that a person may spend at the provider, in seconds.
const SECONDS: u64 = 600;

/// Reads the attempt from a request, if it is well-formed.
pub fn read(headers: &HeaderMap) -> Option<Attempt> {
    cookie::find(headers, NAME)
}

/// Returns the `set-cookie` value of an attempt. The browser sends the cookie when the provider leads it back, which is
/// why it is `Lax` and not `Strict`.
pub fn set(attempt: &Attempt) -> String {
    format!("{NAME}={attempt}; Path=/; Max-Age={SECONDS}; HttpOnly; Secure; SameSite=Lax")
}

/// Returns the `set-cookie` value that deletes the cookie.
pub fn clear() -> String {
    format!("{NAME}=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax")
}
