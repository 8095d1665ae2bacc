//! JSON Web Tokens (RFC 7519) that the app's own server signs, so that only its users enrol, each under their own name.

use folkmoot_protocol::{ErrorCode, Timestamp};
use folkmoot_storage::TokenRecord;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, dangerous::insecure_decode, decode};
use serde::Deserialize;

use crate::{credential::is_id, refusal::Refusal};

/// The longest time that a JWT may be valid, in seconds. Whoever has a JWT can enrol a device until it expires.
pub const LIFETIME_SECONDS_MAX: u64 = 86_400;
/// The allowed difference between the clocks of the signer and the coordinator, in seconds.
const SKEW_SECONDS: u64 = 60;
/// The longest subject, in bytes, as for the users of enrolment tokens.
const SUBJECT_BYTES_MAX: usize = 128;
/// The maximum number of audiences that are searched for the token's id.
const AUDIENCES_MAX: usize = 8;
/// The largest number of public keys of a token.
pub const KEYS_MAX: usize = 8;
/// The largest public key, in bytes of PEM.
const KEY_BYTES_MAX: usize = 4_096;

/// The claims that count. Others are ignored.
#[derive(Deserialize)]
pub(super) struct Claims {
    aud: Audience,
    sub: String,
    exp: f64,
    #[serde(default)]
    nbf: f64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

impl Audience {
    fn names(&self) -> &[String] {
        match self {
            Audience::One(name) => std::slice::from_ref(name),
            Audience::Many(names) => &names[..names.len().min(AUDIENCES_MAX)],
        }
    }
}

/// Returns whether a text has the three parts of a JWT. Tokens of the coordinator have two.
pub(super) fn is_jwt(text: &str) -> bool {
    text.split('.').count() == 3
}

/// Returns the ids of enrolment tokens that a JWT claims to be for. Nothing is verified yet.
pub(super) fn claimed_tokens(jwt: &str) -> Result<Vec<String>, Refusal> {
    let claims = insecure_decode::<Claims>(jwt).map_err(|error| malformed(&error))?.claims;
    Ok(claims.aud.names().iter().filter(|name| is_id(name)).cloned().collect())
}

/// Verifies a JWT with the keys of a token, and returns its subject: the user.
///
/// # Errors
/// [`ErrorCode::EnrolmentTokenInvalid`] if no key fits, or a claim is missing or wrong, and
/// [`ErrorCode::EnrolmentTokenExpired`] if it has expired.
pub(super) fn verified_user(jwt: &str, token: &TokenRecord, now: Timestamp) -> Result<String, Refusal> {
    let algorithm = jsonwebtoken::decode_header(jwt).map_err(|error| malformed(&error))?.alg;
    let mut validation = Validation::new(algorithm);
    // These are checked below, with the coordinator's clock.
    (validation.validate_exp, validation.validate_nbf, validation.validate_aud) = (false, false, false);
    validation.required_spec_claims.clear();
    let keys = token.jwt_keys.iter().filter_map(|pem| key_of(pem).ok());
    let mut of_algorithm = keys.filter(|(of, _)| *of == algorithm);
    let claims = of_algorithm
        .find_map(|(_, key)| decode::<Claims>(jwt, &key, &validation).ok())
        .ok_or_else(|| refused("no key of its enrolment token verifies the signature"))?
        .claims;
    let seconds = (now.0 / 1000) as f64;
    let (skew, lifetime) = (SKEW_SECONDS as f64, LIFETIME_SECONDS_MAX as f64);
    if claims.exp + skew <= seconds {
        let detail = "the JWT has expired; get a new one from the app's server";
        return Err(Refusal::new(ErrorCode::EnrolmentTokenExpired, detail));
    }
    if !claims.aud.names().contains(&token.id) {
        return Err(refused(
            "its audience is another enrolment token; the server must set `aud` to this token's id",
        ));
    }
    if claims.exp - seconds > lifetime + skew {
        return Err(refused("it is valid for more than a day; the server must set an earlier `exp`"));
    }
    if claims.nbf - skew > seconds {
        return Err(refused("it is not valid yet; compare the clocks of the two servers"));
    }
    match claims.sub.len() {
        1..=SUBJECT_BYTES_MAX => Ok(claims.sub),
        bytes => {
            Err(refused(&format!("its subject has {bytes} bytes; it must have 1 to {SUBJECT_BYTES_MAX}")))
        }
    }
}

/// Checks the public keys of a token.
///
/// # Errors
/// The reason why a key, or their number, is not right.
pub fn check_keys(pems: &[String]) -> Result<(), String> {
    if pems.len() > KEYS_MAX {
        return Err(format!("there are {} public keys; a token can have {KEYS_MAX}", pems.len()));
    }
    pems.iter().try_for_each(|pem| key_of(pem).map(|_| ()))
}

/// Reads a public key: Ed25519, P-256 or RSA. Each is for one algorithm, so that a JWT cannot choose a weaker one.
fn key_of(pem: &str) -> Result<(Algorithm, DecodingKey), String> {
    let bytes = pem.as_bytes();
    if bytes.len() > KEY_BYTES_MAX {
        return Err(format!("a public key has {} bytes; it may have {KEY_BYTES_MAX}", bytes.len()));
    }
    if !pem.contains("-----BEGIN PUBLIC KEY-----") {
        return Err("a public key must be PEM with the line `-----BEGIN PUBLIC KEY-----`".into());
    }
    DecodingKey::from_ed_pem(bytes)
        .map(|key| (Algorithm::EdDSA, key))
        .or_else(|_| DecodingKey::from_ec_pem(bytes).map(|key| (Algorithm::ES256, key)))
        .or_else(|_| DecodingKey::from_rsa_pem(bytes).map(|key| (Algorithm::RS256, key)))
        .map_err(|error| {
            format!("a public key cannot be read: {error}; give an Ed25519, P-256 or RSA key as PEM")
        })
}

fn malformed(error: &jsonwebtoken::errors::Error) -> Refusal {
    refused(&format!("it cannot be read ({error}); it needs the claims aud, sub and exp"))
}

fn refused(reason: &str) -> Refusal {
    Refusal::new(ErrorCode::EnrolmentTokenInvalid, format!("the JWT is refused: {reason}"))
}

#[cfg(test)]
mod tests;
