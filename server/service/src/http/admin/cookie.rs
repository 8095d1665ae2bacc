//! The cookie of a session, and the token that goes with it against cross-site request forgery (OWASP's signed double
//! submit: the token is derived from the cookie, and only a page of this origin learns it).

use axum::http::{HeaderMap, Method, header};
use folkmoot_protocol::ErrorCode;
use folkmoot_rounds::{credential::Credential, refusal::Refusal};

/// The cookie's name.
const NAME: &str = "folkmoot_session";
/// The header that has to say the token.
pub const TOKEN_HEADER: &str = "x-folkmoot-csrf";

/// Reads the session that a request names, if it has the form of one.
pub fn read(headers: &HeaderMap) -> Option<Credential> {
    let texts = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let mut cookies =
        texts.flat_map(|text| text.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
    cookies.find(|(name, _)| *name == NAME).and_then(|(_, value)| value.parse().ok())
}

/// Writes the cookie. No script can read it, no other site's page sends it, and it travels encrypted only (a browser takes
/// its own machine for that).
pub fn set(session: &Credential, seconds: u64) -> String {
    format!("{NAME}={session}; Path=/v1/admin; Max-Age={seconds}; HttpOnly; Secure; SameSite=Strict")
}

/// Writes that the cookie goes.
pub fn clear() -> String {
    format!("{NAME}=; Path=/v1/admin; Max-Age=0; HttpOnly; Secure; SameSite=Strict")
}

/// Derives the token of a session.
pub fn token_of(session: &Credential) -> String {
    blake3::derive_key("folkmoot 2026-11 csrf token of a session", session.to_string().as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Refuses a request that changes something and does not say the session's token.
pub fn check_token(session: &Credential, method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
    let is_right =
        headers.get(TOKEN_HEADER).is_some_and(|token| token.as_bytes() == token_of(session).as_bytes());
    if method == Method::GET || is_right {
        return Ok(());
    }
    let detail = format!(
        "a session's {method} needs the header {TOKEN_HEADER} with the csrf_token of GET /v1/admin/session"
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
