//! Tests of two queues: two enrolments and one CPU-intensive request run at a time, and all others wait in line.

use std::{cell::RefCell, net::IpAddr, pin::Pin};

use axum::extract::ConnectInfo;
use folkmoot_protocol::{Role, limits::ENROLMENT_BYTES_MAX, messages::EnrolRequest};
use folkmoot_rounds::credential::Credential;
use folkmoot_storage::{ApiKeyRecord, ApiKeyRepository};
use futures::{FutureExt, future::BoxFuture};
use tokio::{sync::SemaphorePermit, task::unconstrained};

use super::{strangers::signed, *};

const ONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));
/// The memory, in bytes, for requests from unauthenticated senders.
const STRANGERS_BYTES: usize = 32 << 20;

type Enrolment = BoxFuture<'static, Option<ErrorCode>>;

impl Edge {
    /// Begins to enrol a client from `address` with a valid signature. `None` means that the client was enrolled.
    fn enrolling(&self, token: &str, address: IpAddr) -> Enrolment {
        let key = SigningKey::from_bytes(&[6; 32]);
        self.enrolling_with(&key, &key, token, address)
    }

    fn enrolling_with(
        &self,
        key: &SigningKey,
        signer: &SigningKey,
        token: &str,
        address: IpAddr,
    ) -> Enrolment {
        let (token, public_key) = (token.into(), signing::encode_public_key(key));
        let body = serde_json::to_vec(&EnrolRequest { token, public_key }).unwrap();
        let request = signed(signer, "/v1/enrol", None, &format!("{:032x}", 1), &body);
        let request = request.extension(ConnectInfo(address)).body(Body::from(body)).unwrap();
        let answer = self.router.clone().oneshot(request);
        // Unconstrained, so that it waits only for its turn and not because the test exhausted its scheduling budget.
        Box::pin(unconstrained(async move {
            let body = answer.await.unwrap().into_body().collect().await.unwrap().to_bytes();
            code(serde_json::from_slice(&body).ok())
        }))
    }

    /// Begins an enrolment that another key signed. It is refused without the database, so it ends as soon as it gets
    /// a turn.
    fn forged(&self, address: IpAddr) -> Enrolment {
        self.enrolling_with(&self.key, &SigningKey::from_bytes(&[9; 32]), "any", address)
    }

    /// Takes a turn, as an enrolment in progress would.
    fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.shared.enrolments.try_acquire().ok()
    }
}

/// Polls an enrolment once, and returns whether it still waits.
fn waits(enrolment: &mut Pin<Box<impl Future + ?Sized>>) -> bool {
    enrolment.now_or_never().is_none()
}

#[tokio::test]
async fn a_third_enrolment_waits_for_one_of_two() {
    let edge = Edge::new().await;
    let refused = Some(Some(ErrorCode::SignatureInvalid));
    assert_eq!(edge.forged(ONE).now_or_never(), refused);
    let first = edge.turn().unwrap();
    assert_eq!(edge.forged(ONE).now_or_never(), refused, "a second is looked at beside it");
    let second = edge.turn().unwrap();
    assert!(edge.turn().is_none(), "there are two turns");

    let mut third = edge.forged(ONE);
    assert!(waits(&mut third));
    drop(first);
    assert_eq!(third.now_or_never(), refused);
    drop(second);
    assert_eq!(edge.shared.enrolments.available_permits(), 2);
}

/// All addresses share one line: later enrolments wait behind earlier ones, however many there are.
#[tokio::test]
async fn an_address_with_many_enrolments_does_not_keep_another_out() {
    let edge = Edge::new().await;
    let (first, _second) = (edge.turn().unwrap(), edge.turn().unwrap());
    let answered = RefCell::new(Vec::new());
    let addresses = [[ONE; 150].as_slice(), &[OTHER], &[ONE; 150]].concat();
    let mut line = Vec::new();
    for address in addresses.iter().copied() {
        let (enrolment, answered) = (edge.forged(address), &answered);
        let mut waiting = Box::pin(async move {
            let code = enrolment.await;
            answered.borrow_mut().push((address, code));
        });
        assert!(waits(&mut waiting));
        line.push(waiting);
    }
    drop(first);
    // The last enrolment is polled first; only the one whose turn it is can finish.
    line.reverse();
    while !line.is_empty() {
        let before = line.len();
        line.retain_mut(waits);
        assert_eq!(line.len(), before - 1);
    }
    drop(line);
    let answered = answered.into_inner();
    assert_eq!(answered.iter().map(|(address, _)| *address).collect::<Vec<_>>(), addresses);
    let limited = answered.iter().filter(|(_, code)| *code == Some(ErrorCode::RateLimited));
    assert!(limited.count() > 100, "the address with many is told to slow down");
    assert_eq!(answered[150], (OTHER, Some(ErrorCode::SignatureInvalid)), "the other is not");
}

#[tokio::test]
async fn an_enrolment_that_goes_away_leaves_its_place() {
    let edge = Edge::new().await;
    let (first, second) = (edge.turn().unwrap(), edge.turn().unwrap());
    let [mut gone, mut called, mut next, mut last] = [(); 4].map(|()| edge.forged(ONE));
    for enrolment in [&mut gone, &mut called, &mut next, &mut last] {
        assert!(waits(enrolment));
    }
    drop(gone);
    drop(first);
    // Its turn has come, but it is dropped before it can use the turn.
    drop(called);
    assert_eq!(next.now_or_never(), Some(Some(ErrorCode::SignatureInvalid)));
    assert_eq!(last.now_or_never(), Some(Some(ErrorCode::SignatureInvalid)));
    drop(second);
    assert_eq!(edge.shared.enrolments.available_permits(), 2);
}

#[tokio::test]
async fn whoever_has_a_token_is_enrolled_after_its_turn() {
    let edge = Edge::new().await;
    let credential = Credential::from_random_bytes([4; 8], [5; 32]);
    let token = edge.coordinator.storage.token("token").await.unwrap().unwrap();
    let (id, secret_hash) = (credential.id.clone(), credential.secret_hash());
    let token = TokenRecord { id, secret_hash, uses: 0, ..token };
    edge.coordinator.storage.create_token(&token).await.unwrap();
    let uses = async || edge.coordinator.storage.token(&token.id).await.unwrap().unwrap().uses;

    let turns = [edge.turn().unwrap(), edge.turn().unwrap()];
    let [mut gone, mut waiting] = [(); 2].map(|()| edge.enrolling(&credential.to_string(), OTHER));
    assert!(waits(&mut gone) && waits(&mut waiting));
    drop((gone, turns));
    assert_eq!(waiting.await, None, "the one that went away took no nonce");
    assert_eq!(edge.shared.enrolments.available_permits(), 2, "it gave its turn back");
    assert_eq!(uses().await, 1);
}

/// Otherwise a flood could use memory for each of its streams.
#[tokio::test]
async fn what_waits_in_line_is_counted_among_what_strangers_have_under_way() {
    let edge = Edge::new().await;
    let turns = [edge.turn().unwrap(), edge.turn().unwrap()];
    let token = "a".repeat(ENROLMENT_BYTES_MAX - 1024);
    let mut line = Vec::new();
    let refused = loop {
        let mut enrolment = edge.enrolling(&token, ONE);
        match (&mut enrolment).now_or_never() {
            None => line.push(enrolment),
            Some(code) => break code,
        }
        assert!(line.len() * token.len() <= STRANGERS_BYTES, "{} wait", line.len());
    };
    assert_eq!(refused, Some(ErrorCode::Overloaded));
    // Enrolments that left the line no longer use memory of the budget.
    drop((line, turns));
    assert_eq!(edge.forged(OTHER).await, Some(ErrorCode::SignatureInvalid));
}

impl Edge {
    /// Creates an operator's API key.
    async fn operator(&self) -> String {
        let credential = Credential::from_random_bytes([7; 8], [8; 32]);
        let record = ApiKeyRecord {
            id: credential.id.clone(),
            organisation_id: self.organisation,
            name: "operator".into(),
            role: Role::Operator,
            secret_hash: credential.secret_hash(),
            created_at: START,
            expires_at: None,
            revoked_at: None,
            rotation: None,
            used_at: None,
        };
        self.coordinator.storage.create_api_key(&record).await.unwrap();
        credential.to_string()
    }

    /// Posts `body` to an administrative endpoint, and returns the code of its refusal, if any.
    async fn post(&self, api_key: &str, path: &str, body: &serde_json::Value) -> Option<ErrorCode> {
        let request = Request::post(path)
            .header("authorization", format!("Bearer {api_key}"))
            .header("content-type", "application/json")
            .body(Body::from(body.to_string()))
            .unwrap();
        let answer = self.router.clone().oneshot(request).await.unwrap();
        let (status, body) = (answer.status(), answer.into_body().collect().await.unwrap().to_bytes());
        let code = code(serde_json::from_slice(&body).ok());
        assert_eq!(status.is_success(), code.is_none(), "{status} {body:?}");
        code
    }
}

/// A viewer could otherwise keep every core busy with plans that take two seconds each.
#[tokio::test]
async fn a_privacy_plan_and_a_task_check_take_the_same_turn() {
    let edge = Edge::new().await;
    let key = edge.operator().await;
    let plan = json!({ "clients": 1000, "report_goal": 10, "rounds": 10, "epsilon": 2.0 });
    let check = json!({ "toml": "" });
    let requests = [("/v1/admin/privacy/plan", plan), ("/v1/admin/tasks/check", check)];
    for (path, body) in &requests {
        assert_eq!(edge.post(&key, path, body).await, None, "{path}");
    }
    // Once the semaphore is closed, no request gets the turn, and none waits for it.
    edge.shared.computations.close();
    for (path, body) in &requests {
        assert_eq!(edge.post(&key, path, body).await, Some(ErrorCode::Overloaded), "{path}");
    }
}
