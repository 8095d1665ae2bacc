//! The session cookie, and the token that protects it against cross-site request forgery. This is OWASP's signed
//! double-submit pattern: the token is derived from the cookie, and only pages of this origin can read it.

use std::str::FromStr;

use axum::http::{HeaderMap, Method, header};
use folkmoot_protocol::ErrorCode;
use folkmoot_rounds::{credential::Credential, refusal::Refusal};

/// The name of the cookie.
const NAME: &str = "folkmoot_session";
/// The request header that must contain the token.
pub const TOKEN_HEADER: &str = "x-folkmoot-csrf";

/// Reads the session from a request's cookie, if it is well-formed.
pub fn read(headers: &HeaderMap) -> Option<Credential> {
    find(headers, NAME)
}

/// Reads the cookie `name`, if it is well-formed.
pub fn find<T: FromStr>(headers: &HeaderMap, name: &str) -> Option<T> {
    let texts = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let mut cookies =
        texts.flat_map(|text| text.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
    cookies.find(|(found, _)| *found == name).and_then(|(_, value)| value.parse().ok())
}

/// Returns the `set-cookie` value of a session. Scripts cannot read the cookie, pages of other sites cannot send it,
/// and it travels only over encrypted connections (browsers count the local machine as one).
pub fn set(session: &Credential, seconds: u64) -> String {
    format!("{NAME}={session}; Path=/v1/admin; Max-Age={seconds}; HttpOnly; Secure; SameSite=Strict")
}

/// Returns the `set-cookie` value that deletes the cookie.
pub fn clear() -> String {
    format!("{NAME}=; Path=/v1/admin; Max-Age=0; HttpOnly; Secure; SameSite=Strict")
}

/// Derives a session's CSRF token from the session cookie.
pub fn token_of(session: &Credential) -> String {
    blake3::derive_key("folkmoot 2026-11 csrf token of a session", session.to_string().as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Rejects a request that changes something and lacks the session's token.
pub fn check_token(session: &Credential, method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
    let is_right =
        headers.get(TOKEN_HEADER).is_some_and(|token| token.as_bytes() == token_of(session).as_bytes());
    if method == Method::GET || is_right {
        return Ok(());
    }
    let detail = format!(
        "the header {TOKEN_HEADER} is missing or wrong; a {method} request in a session must send in it the csrf_token from GET /v1/admin/session"
    );
    Err(Refusal::new(ErrorCode::RoleInsufficient, detail))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn session(byte: u8) -> Credential {
        Credential::from_random_bytes([byte; 8], [byte; 32])
    }

    fn headers(cookie: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::COOKIE, HeaderValue::from_str(cookie).unwrap())])
    }

    #[test]
    fn the_cookie_is_found_among_others() {
        let one = session(1);
        let pair = set(&one, 5).split(';').next().unwrap().to_owned();
        assert_eq!(read(&headers(&format!("a=b; {pair} ;c=d"))), Some(one));
        for other in ["", "folkmoot_session", "folkmoot_session=", "folkmoot_session=nonsense", "x=y"] {
            assert_eq!(read(&headers(other)), None, "{other}");
        }
        assert!(clear().contains("Max-Age=0"));
    }

    #[test]
    fn what_changes_something_needs_the_sessions_own_token() {
        let [one, other] = [session(1), session(2)];
        let say = |token: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(TOKEN_HEADER, HeaderValue::from_str(token).unwrap());
            headers
        };
        assert_ne!(token_of(&one), token_of(&other));
        assert!(check_token(&one, &Method::GET, &HeaderMap::new()).is_ok());
        for method in [Method::POST, Method::DELETE, Method::PUT, Method::HEAD] {
            assert!(check_token(&one, &method, &say(&token_of(&one))).is_ok());
            for wrong in [HeaderMap::new(), say(""), say(&token_of(&other))] {
                let refusal = check_token(&one, &method, &wrong).unwrap_err();
                assert_eq!(refusal.code(), ErrorCode::RoleInsufficient);
            }
        }
    }
}
