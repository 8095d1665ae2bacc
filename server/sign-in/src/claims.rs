//! The claims of an ID token that the coordinator uses.

use std::collections::BTreeMap;

use folkmoot_protocol::{Role, is_control};
use openidconnect::{AdditionalClaims, IdTokenClaims, core::CoreGenderClaim};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The longest display name that is kept, in characters.
const NAME_CHARACTERS_MAX: usize = 100;

/// The claims that OpenID Connect does not define, such as groups.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct OtherClaims(BTreeMap<String, Value>);

impl AdditionalClaims for OtherClaims {}

/// The claims of a person.
pub(crate) type Claims = IdTokenClaims<OtherClaims, CoreGenderClaim>;

/// Returns the highest role of the groups in the claim `claim`: a list of texts, or one text.
pub(crate) fn role(claims: &Claims, claim: &str, roles: &BTreeMap<String, Role>) -> Option<Role> {
    let groups = match claims.additional_claims().0.get(claim) {
        Some(Value::Array(groups)) => groups.as_slice(),
        Some(group @ Value::String(_)) => std::slice::from_ref(group),
        _ => &[],
    };
    groups.iter().filter_map(Value::as_str).filter_map(|group| roles.get(group)).max().copied()
}

/// Returns the name to show: the full name, the user name or the email address. If there is none, the subject.
pub(crate) fn name(claims: &Claims) -> String {
    let full = claims.name().and_then(|names| names.get(None)).map(|name| name.as_str());
    let user = claims.preferred_username().map(|name| name.as_str());
    let email = claims.email().map(|email| email.as_str());
    let candidates = [full, user, email, Some(claims.subject().as_str())];
    let printable = candidates.into_iter().flatten().map(printable);
    printable.into_iter().find(|name| !name.is_empty()).unwrap_or_default()
}

fn printable(text: &str) -> String {
    let text: String = text.chars().filter(|letter| !is_control(*letter)).collect();
    text.trim().chars().take(NAME_CHARACTERS_MAX).collect()
}
