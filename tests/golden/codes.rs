//! Tests every error code, with its HTTP status and disposition.

use folkmoot_protocol::ErrorCode;

use super::assert_golden;

#[test]
fn the_error_codes_are_the_committed_ones() {
    let line = |code: &ErrorCode| {
        let disposition = serde_json::to_value(code.disposition()).unwrap();
        format!("{code} {} {}\n", code.http_status(), disposition.as_str().unwrap())
    };
    assert_golden("error_codes.txt", &ErrorCode::ALL.iter().map(line).collect::<String>());
}
