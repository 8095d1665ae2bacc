//! Parses any text as each message of the protocol. A valid message must survive a round trip through JSON.

#![no_main]

use std::fmt::Debug;

use folkmoot_fuzz::{prepare, seeds, within};
use folkmoot_protocol::{
    Plan, Problem,
    messages::{
        AbortRequest, CheckInRequest, CheckInResponse, EnrolRequest, EnrolResponse, ReportRequest,
        UploadStatus,
    },
};
use libfuzzer_sys::fuzz_target;
use serde::{Serialize, de::DeserializeOwned};

fn seeds() -> Vec<Vec<u8>> {
    seeds::files("tests/golden/data/messages", ".json").into_iter().map(|(_, json)| json).collect()
}

fn read<M: Serialize + DeserializeOwned + PartialEq + Debug>(text: &str) {
    // The largest factor belongs to plans: ten bytes of JSON can become a rule or schedule of about a hundred bytes in
    // memory.
    let most = (64 << 10) + 64 * text.len();
    let Ok(message) = within(most, || serde_json::from_str::<M>(text)) else { return };
    let json = serde_json::to_string(&message).expect("a message is JSON");
    assert_eq!(serde_json::from_str::<M>(&json).expect("it was written as JSON"), message);
}

fuzz_target!(init: prepare(seeds), |text: &str| {
    read::<EnrolRequest>(text);
    read::<EnrolResponse>(text);
    read::<CheckInRequest>(text);
    read::<CheckInResponse>(text);
    read::<AbortRequest>(text);
    read::<ReportRequest>(text);
    read::<UploadStatus>(text);
    read::<Plan>(text);
    read::<Problem>(text);
});
