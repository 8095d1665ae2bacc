use folkmoot_protocol::{OrganisationId, PopulationName};
use jsonwebtoken::{EncodingKey, Header, encode};
use serde_json::{Value, json};

use super::*;

const NOW: Timestamp = Timestamp(1_769_862_600_000);
const TOKEN: &str = "0123456789abcdef";

/// Keys that were made for these tests: the private and the public part of each.
const ED25519: [&str; 2] = [
    "MC4CAQAwBQYDK2VwBCIEICLYXrq76G8ezRAGlhCcV7IQBG/bBGQgTYZL8BEmsxkm",
    "MCowBQYDK2VwAyEABRtLi8CpGS+WscR2oSi+IL28rOROsBxIfWIBf/oSb90=",
];
const P256: [&str; 2] = [
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg/Yx3pAQBH+fSxUhP\n\
PDHpvtCLsU+OX43/XwVaJedcnjehRANCAARhBKM7es96OnBQkN9qIPsOwWi3b3yv\n\
hTBMLgtjZrK5YU6sPLrUL1Ksu2Er0D14buVqT5TmLT12XtdPIVZ2LTQ/",
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEYQSjO3rPejpwUJDfaiD7DsFot298\n\
r4UwTC4LY2ayuWFOrDy61C9SrLthK9A9eG7lak+U5i09dl7XTyFWdi00Pw==",
];
const RSA: [&str; 2] = [
    "MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQCJfmFKZiIPKsVn\n\
sHmRXoAi4ctFa3e2QYc+lBjZGCNqZptvMZ0G5rJKAyCMZdwoYRTr9bBL045/W8XM\n\
M1CCo+bxklmO2Yhl4wLtZWPu2y11z7kKaHxZpS6vP1rStZtezfHkimngi2TmhIhf\n\
FhB6gMjqpQ2VTmAcCLV6cSkITKxd0qPIpJ7IAYUXfCJC7sqVtC8JuJYdCN8nhE/Z\n\
cM6tM3R3XxGHbo3Wyfxt+rGa+4UW/Nk2YwFTExETQVYDOG87/kHTWb8CmEp/v0NU\n\
PBeOERsuyZiY5QFQci+8tuhgFDULwdGPuE6ZfA/Gp2978LqFc9lm2+gkWqndHJ7G\n\
sMdsOyfBAgMBAAECggEAHJAHCQwfjjQN70TvdD4D83shnam+JDwHqv3cDZlgnhVz\n\
u808ODdLmWl95PyyGCdWz8/p0E7CHv4DILEWTBVdgBithyn0lmnq7UMvV+rrTjqZ\n\
T6q2Dm9su9Y2+Wflv3OcCSSh6xY6H1Mv+0Tbpn9Dfc9M+5PdDmXWwXlpk0JOWmz+\n\
QXhqaDHiUc7Y3CWCt5AIOrw5QRpgNg3+aK/uPS/jXD93LBvnylSIYxOZTpa73s19\n\
ZU2xIAxd5/dhIhs2Xn+W/ASWTFlH56iL9I7um4tQsnozSuBk5cqQ8aiOyIdk4/jg\n\
pddWUj0jXP+GCXpB87AY39jygoKE7bHMTzb1GoOMQwKBgQDBku3K2LPqXxhLE7hl\n\
jTyakR0PU+y8Qigz9AsLT9EjwQcAKGNqSzH883Lz7jJjs1T67lvMCpWlrtR39XiB\n\
lHzYOKXBl2521clkRg/1jTC0qSjtcNvTWn5GAnQ+ecj3bNM59WBZHJah/ZZX/bDB\n\
vY4oi4tS1nu0mJ9Hs3SAAhoNUwKBgQC11ZQBkZmUXtg9iCovMoQzdXyt+a1GRD9q\n\
YN+jqO8dZ4hRr+pzbW1IIhts94TzJDS9gFoy2l4TMDPfRrVXqhUWAuuHinEFfCC7\n\
UT8coEZu2xdjgRhUeegqceeSQKj8qq3b5J4clpnwuvT2CrADf/atuhoOSV3wa+9f\n\
r9g6o11AGwKBgERHnIM5rzTTuFD7Msb3a9Ilr7dxZgb92wqAYcjqrZ3L/7kphe+/\n\
eHF+OiUa90E9x5L/svelICYiJiXuO0SR6Pun96fyz28xd+lb4VM/K1f+d0ZR0eia\n\
egId6X0EHkRQaa1/BS5JrESVm4uMG+YrA9L/bfSZXWdVkpGLFmP02dWrAoGAM4gE\n\
uvEVcjvy0nVdZyTM3HyGShPBLHG4+x/bIVmF8nJd6rCNJAs19kRcO2RmVDXFkJLo\n\
fRLvqEZ33OYADIkSErvfHfl5EFHeQNfEqAswCsiidzultoMZ7bV8KDGU8o44WWIQ\n\
ARAZLmT9eSEMQuGn+hIMwlG+gp1EKH0ALZYQnlMCgYAnj9Lm+PVnhk/OMVIpCYNd\n\
BneT0/dV7EdnfnKN30nck+9MDjGJXaJ2axV+uIZOPfc11UHr4yRyZiPCyI3lDYLm\n\
hwWGv4E7uGWNsAJ2pEMajo0vwm0mEtwaXwWAOsFtSP8CGagJV55WDrZ157UM1gXt\n\
XCfTLOWmvNwKcGEUPgykNQ==",
    "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAiX5hSmYiDyrFZ7B5kV6A\n\
IuHLRWt3tkGHPpQY2RgjamabbzGdBuaySgMgjGXcKGEU6/WwS9OOf1vFzDNQgqPm\n\
8ZJZjtmIZeMC7WVj7tstdc+5Cmh8WaUurz9a0rWbXs3x5Ipp4Itk5oSIXxYQeoDI\n\
6qUNlU5gHAi1enEpCEysXdKjyKSeyAGFF3wiQu7KlbQvCbiWHQjfJ4RP2XDOrTN0\n\
d18Rh26N1sn8bfqxmvuFFvzZNmMBUxMRE0FWAzhvO/5B01m/AphKf79DVDwXjhEb\n\
LsmYmOUBUHIvvLboYBQ1C8HRj7hOmXwPxqdve/C6hXPZZtvoJFqp3RyexrDHbDsn\n\
wQIDAQAB",
];

fn pem(kind: &str, text: &str) -> String {
    format!("-----BEGIN {kind} KEY-----\n{text}\n-----END {kind} KEY-----\n")
}

fn public(key: [&str; 2]) -> String {
    pem("PUBLIC", key[1])
}

fn token(keys: &[String]) -> TokenRecord {
    let organisation = OrganisationId::from_random_bytes([1; 16]);
    let population: PopulationName = "phones".parse().unwrap();
    TokenRecord { jwt_keys: keys.to_vec(), ..TokenRecord::unlimited(TOKEN, organisation, population, NOW) }
}

fn seconds() -> u64 {
    NOW.0 / 1000
}

fn claims() -> Value {
    json!({ "iss": "our app", "aud": TOKEN, "sub": "ann", "exp": seconds() + 600, "iat": seconds() })
}

fn changed(name: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[name] = value;
    claims
}

fn signed(claims: &Value, algorithm: Algorithm, key: [&str; 2]) -> String {
    let private = pem("PRIVATE", key[0]);
    let key = match algorithm {
        Algorithm::EdDSA => EncodingKey::from_ed_pem(private.as_bytes()),
        Algorithm::ES256 => EncodingKey::from_ec_pem(private.as_bytes()),
        _ => EncodingKey::from_rsa_pem(private.as_bytes()),
    };
    encode(&Header::new(algorithm), claims, &key.unwrap()).unwrap()
}

fn user(jwt: &str, keys: &[String]) -> Result<String, ErrorCode> {
    let found = claimed_tokens(jwt).map_err(|refusal| refusal.code())?;
    assert_eq!(found, [TOKEN]);
    verified_user(jwt, &token(keys), NOW).map_err(|refusal| refusal.code())
}

#[test]
fn each_kind_of_key_verifies_its_algorithm() {
    let all = [ED25519, P256, RSA].map(public);
    for (algorithm, key) in [(Algorithm::EdDSA, ED25519), (Algorithm::ES256, P256), (Algorithm::RS256, RSA)] {
        let jwt = signed(&claims(), algorithm, key);
        assert!(is_jwt(&jwt));
        assert_eq!(user(&jwt, &all), Ok("ann".into()), "{algorithm:?}");
        let without: Vec<String> = all.iter().filter(|pem| **pem != public(key)).cloned().collect();
        assert_eq!(user(&jwt, &without), Err(ErrorCode::EnrolmentTokenInvalid), "{algorithm:?}");
    }
    let weaker = signed(&claims(), Algorithm::RS512, RSA);
    assert_eq!(user(&weaker, &all), Err(ErrorCode::EnrolmentTokenInvalid), "a key has one algorithm");
}

#[test]
fn claims_are_checked_with_the_coordinators_clock() {
    let keys = [public(ED25519)];
    let result = |claims: &Value| user(&signed(claims, Algorithm::EdDSA, ED25519), &keys);
    let (day, skew) = (LIFETIME_SECONDS_MAX, SKEW_SECONDS);
    for right in [
        changed("exp", json!(seconds() - skew + 1)),
        changed("exp", json!(seconds() + day + skew)),
        changed("nbf", json!(seconds() + skew)),
        changed("aud", json!(["other", TOKEN])),
        changed("sub", json!("ü".repeat(64))),
    ] {
        assert!(result(&right).is_ok(), "{right}");
    }
    let invalid = Err(ErrorCode::EnrolmentTokenInvalid);
    for (wrong, code) in [
        (changed("exp", json!(seconds() - skew)), Err(ErrorCode::EnrolmentTokenExpired)),
        (changed("exp", json!(0)), Err(ErrorCode::EnrolmentTokenExpired)),
        (changed("exp", json!(seconds() + day + skew + 1)), invalid.clone()),
        (changed("exp", json!(1e300)), invalid.clone()),
        (changed("nbf", json!(seconds() + skew + 1)), invalid.clone()),
        (changed("sub", json!("")), invalid.clone()),
        (changed("sub", json!("a".repeat(129))), invalid.clone()),
    ] {
        assert_eq!(result(&wrong), code, "{wrong}");
    }
    for malformed in [
        changed("exp", json!("soon")),
        changed("exp", Value::Null),
        changed("sub", json!(7)),
        changed("aud", json!({})),
        json!({}),
    ] {
        let jwt = signed(&malformed, Algorithm::EdDSA, ED25519);
        assert_eq!(
            claimed_tokens(&jwt).map_err(|refusal| refusal.code()),
            Err(ErrorCode::EnrolmentTokenInvalid)
        );
    }
    let foreign = signed(&changed("aud", json!(["other", "", "0".repeat(17)])), Algorithm::EdDSA, ED25519);
    assert_eq!(claimed_tokens(&foreign).unwrap(), Vec::<String>::new());
    // Only the first audiences are searched.
    let many: Vec<String> = (0..100).map(|number| format!("{number:016x}")).collect();
    let many = signed(&changed("aud", json!(many)), Algorithm::EdDSA, ED25519);
    assert_eq!(claimed_tokens(&many).unwrap().len(), AUDIENCES_MAX);
}

#[test]
fn forged_signatures_are_refused() {
    let keys = [ED25519, P256, RSA].map(public);
    let jwt = signed(&claims(), Algorithm::EdDSA, ED25519);
    let [head, body, signature] = jwt.split('.').collect::<Vec<_>>().try_into().unwrap();
    let other = signed(&changed("sub", json!("bob")), Algorithm::EdDSA, ED25519);
    let other_body = other.split('.').nth(1).unwrap();
    // A public key as the secret of a symmetric algorithm, and no algorithm.
    let secret = EncodingKey::from_secret(keys[2].as_bytes());
    let symmetric = encode(&Header::new(Algorithm::HS256), &claims(), &secret).unwrap();
    let none = format!("eyJhbGciOiJub25lIn0.{body}.");
    for forged in [
        format!("{head}.{other_body}.{signature}"),
        format!("{head}.{body}."),
        format!("{head}.{body}.{}", "A".repeat(86)),
        symmetric,
        none,
    ] {
        assert_eq!(user(&forged, &keys), Err(ErrorCode::EnrolmentTokenInvalid), "{forged}");
    }
    for garbage in ["..", "a.b.c", &format!("{head}.{head}.{signature}"), &format!(".{body}.")] {
        let found = claimed_tokens(garbage).map_err(|refusal| refusal.code());
        assert!(
            is_jwt(garbage)
                && (found == Err(ErrorCode::EnrolmentTokenInvalid) || found == Ok(vec![TOKEN.into()]))
        );
        assert!(verified_user(garbage, &token(&keys), NOW).is_err(), "{garbage}");
    }
    assert!(!is_jwt("0123456789abcdef.00"));
}

#[test]
fn public_keys_are_checked() {
    let right = [ED25519, P256, RSA].map(public);
    assert_eq!(check_keys(&right), Ok(()));
    assert!(check_keys(&vec![public(ED25519); KEYS_MAX + 1]).unwrap_err().contains("a token can have 8"));
    for wrong in ["", "no PEM", &pem("PRIVATE", ED25519[0]), &pem("PUBLIC", "AAAA"), &public(RSA).repeat(20)]
    {
        assert!(check_keys(&[wrong.to_owned()]).is_err(), "{wrong}");
    }
}
