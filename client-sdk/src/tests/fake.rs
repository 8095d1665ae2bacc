//! A coordinator of one round and one client. It checks the client's messages, and fails on request.

use std::{
    path::PathBuf,
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use folkmoot_protocol::{
    AssignmentId, BlobDigest, ClientId, Codec, ErrorCode, LocalOptimizer, Loss, Plan, Problem, Protection,
    Recipe, RoundId, TaskId, TensorSchema, TensorSpec, Timestamp, TrainingPlan, UpdateDigest, ValueGrid,
    Work, headers,
    messages::*,
    signing::{self, SignedParts},
};
use hyper::{Response, http::request::Parts};
use tokio::sync::watch;

use super::{
    listener::{Answers, Body, broken, gated, whole},
    tiny_model,
};

/// A failure that happens once.
#[derive(Default)]
pub struct Trouble {
    pub check_in_garbage: bool,
    pub clock_skew: bool,
    /// The download of the weights breaks off when this file holds their first bytes.
    pub weights_broken: Option<PathBuf>,
    pub upload_half: bool,
    pub client_forgotten: bool,
    /// The refusal of the first check-in.
    pub refused: Option<Problem>,
    /// The first check-in is answered with `Wait`.
    pub waits: bool,
    /// A check-in is answered only after 700 ms.
    pub holds: bool,
    /// While this is set, check-ins are answered with `Wait` and an offer of these weights.
    pub offers: Option<Artifact>,
    /// The remaining weights are sent when this becomes true.
    pub weights_gate: Option<watch::Receiver<bool>>,
}

/// A received request.
#[derive(Clone, Debug, PartialEq)]
pub struct SentRequest {
    pub line: String,
    pub headers: String,
    pub body: Vec<u8>,
}

#[derive(Default)]
pub struct Seen {
    pub public_key: Option<String>,
    pub enrolments: u32,
    pub requests: Vec<SentRequest>,
    pub ranges: Vec<String>,
    pub update: Vec<u8>,
    pub is_accepted: bool,
    pub upload_offsets: Vec<u64>,
    pub reports: Vec<ReportRequest>,
    pub aborts: Vec<AbortRequest>,
}

pub struct Fake {
    pub plan: Plan,
    /// The compression of updates.
    pub recipe: Option<Recipe>,
    /// True if its assignments have `may_be_asked`.
    pub asks: bool,
    /// The promised protection and cohort.
    pub cohort_min: Option<u64>,
    pub protection_level: Option<ProtectionLevel>,
    /// The endorsement of the task.
    pub endorsement: Mutex<Option<String>>,
    /// The weights in parts; empty if they come as float32.
    pub parts: Vec<Vec<u8>>,
    /// The byte that all 16 bytes of the next assignment's id have.
    pub assignment: AtomicU8,
    pub trouble: Mutex<Trouble>,
    pub seen: Mutex<Seen>,
}

pub const NOW: Timestamp = Timestamp(1_800_000_000_000);

impl Fake {
    pub fn new(epochs: u32, trouble: Trouble) -> Self {
        let optimizer =
            LocalOptimizer::Sgd { learning_rate: 0.01, momentum: 0.5, nesterov: false, weight_decay: 0.0 };
        let plan = Plan {
            model: BlobDigest::of(&tiny_model::onnx()),
            schema: TensorSchema { tensors: vec![TensorSpec { name: "W".into(), shape: vec![2, 2] }] },
            work: Work::Training,
            device_rules: Vec::new(),
            training: TrainingPlan {
                epochs,
                batch_size: 2,
                ..TrainingPlan::new(Loss::SoftmaxCrossEntropy, optimizer)
            },
            codec: Codec::None,
            protection: Protection::Plain,
            grid: ValueGrid::default(),
            local_noise: None,
            drift_correction: None,
            fine_tuning: None,
            table_schema: None,
            image_schema: None,
        };
        Self {
            plan,
            recipe: None,
            asks: false,
            cohort_min: None,
            protection_level: None,
            endorsement: Mutex::default(),
            parts: Vec::new(),
            assignment: AtomicU8::new(7),
            trouble: Mutex::new(trouble),
            seen: Mutex::default(),
        }
    }

    /// Starts another assignment, and returns the update for the last one.
    pub fn next_assignment(&self) -> Vec<u8> {
        self.assignment.fetch_add(1, Ordering::Relaxed);
        let mut seen = self.seen();
        seen.is_accepted = false;
        std::mem::take(&mut seen.update)
    }

    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    /// Counts the requests for the weights.
    pub fn weights_requests(&self) -> usize {
        let line = format!("GET /v1/blobs/{}", artifact(&tiny_model::weight_bytes()).digest);
        self.seen().requests.iter().filter(|request| request.line == line).count()
    }

    /// Returns whether to cause this failure now. Each happens only once.
    fn takes(&self, which: impl FnOnce(&mut Trouble) -> &mut bool) -> bool {
        std::mem::take(which(&mut self.trouble.lock().unwrap()))
    }

    fn blobs(&self) -> [Vec<u8>; 3] {
        [serde_json::to_vec(&self.plan).unwrap(), tiny_model::onnx(), tiny_model::weight_bytes()]
    }

    fn check_in(&self) -> Response<Body> {
        if self.takes(|trouble| &mut trouble.check_in_garbage) {
            return whole(502, "text/html", "<html>no coordinator here</html>");
        }
        if self.takes(|trouble| &mut trouble.clock_skew) {
            let server_time = Some(NOW);
            return refuse(Problem {
                server_time,
                ..Problem::new(ErrorCode::ClockSkew, "your clock is wrong")
            });
        }
        let refused = self.trouble.lock().unwrap().refused.take();
        if let Some(problem) = refused {
            return refuse(problem);
        }
        if self.takes(|trouble| &mut trouble.waits) {
            return wait(100, None);
        }
        let offered = self.trouble.lock().unwrap().offers;
        if offered.is_some() {
            return wait(100, offered);
        }
        if self.takes(|trouble| &mut trouble.holds) {
            std::thread::sleep(Duration::from_millis(700));
        }
        if self.seen().is_accepted || !self.seen().aborts.is_empty() {
            return wait(500, None);
        }
        let [plan, model, weights] = self.blobs().map(|bytes| artifact(&bytes));
        let assignment = Assignment {
            assignment_id: AssignmentId::from_random_bytes([self.assignment.load(Ordering::Relaxed); 16]),
            task_id: TaskId::from_random_bytes([1; 16]),
            round_id: RoundId::from_random_bytes([2; 16]),
            round_number: 3,
            base_version: 2,
            plan,
            model,
            weights,
            weights_parts: self.parts.iter().map(|part| artifact(part)).collect(),
            control_variate: None,
            deadline: NOW,
            deadline_in_milliseconds: 1 << 40,
            clipping_norm: None,
            recipe: self.recipe.clone().map(Box::new),
            may_be_asked: self.asks,
            cohort_min: self.cohort_min,
            protection_level: self.protection_level,
            metric_sums: false,
            is_masked: false,
            endorsement: self.endorsement.lock().unwrap().clone(),
        };
        json(&CheckInResponse::Assigned { assignment })
    }

    fn blob(&self, digest: &str, range: Option<&str>) -> Response<Body> {
        let blobs = self.blobs().into_iter().chain(self.parts.iter().cloned());
        let found = { blobs }.find(|bytes| BlobDigest::of(bytes).to_string() == digest);
        let Some(bytes) = found else {
            return refuse(Problem::new(ErrorCode::BlobUnknown, "there is no such blob"));
        };
        if let Some(range) = range {
            self.seen().ranges.push(range.to_owned());
            let start: usize = range.trim_start_matches("bytes=").trim_end_matches('-').parse().unwrap();
            return whole(206, "application/octet-stream", bytes[start..].to_vec());
        }
        if bytes == tiny_model::weight_bytes() {
            let mut trouble = self.trouble.lock().unwrap();
            if let Some(file) = trouble.weights_broken.take() {
                return broken(bytes[..6].to_vec(), file);
            }
            if let Some(gate) = trouble.weights_gate.take() {
                return gated(bytes[..6].to_vec(), gate, bytes[6..].to_vec());
            }
        }
        whole(200, "application/octet-stream", bytes)
    }

    fn upload(&self, offset: u64, length: u64, digest: UpdateDigest, body: &[u8]) -> Response<Body> {
        self.seen().upload_offsets.push(offset);
        assert_eq!(offset, self.seen().update.len() as u64);
        assert_eq!(offset + body.len() as u64, length);
        if self.takes(|trouble| &mut trouble.upload_half) {
            self.seen().update.extend(&body[..body.len() / 2]);
            return whole(504, "text/html", "the proxy was impatient");
        }
        self.seen().update.extend(body);
        assert_eq!(UpdateDigest::of(&self.seen().update), digest);
        self.seen().is_accepted = true;
        self.upload_status()
    }

    fn upload_status(&self) -> Response<Body> {
        let seen = self.seen();
        let state = if seen.is_accepted { UploadState::Accepted } else { UploadState::Partial };
        json(&UploadStatus { received_bytes: seen.update.len() as u64, state })
    }

    fn enrol(&self, head: &Parts, body: &[u8]) -> Response<Body> {
        let request: EnrolRequest = serde_json::from_slice(body).unwrap();
        verify(head, &request.public_key, UpdateDigest::of(body));
        if request.token != "token" {
            return refuse(Problem::new(ErrorCode::EnrolmentTokenInvalid, "no such token"));
        }
        let mut seen = self.seen();
        seen.public_key = Some(request.public_key);
        seen.enrolments += 1;
        let client_id = ClientId::from_random_bytes([9; 16]);
        json(&EnrolResponse { client_id, population: "digits".parse().unwrap(), server_time: NOW })
    }
}

impl Answers for Fake {
    fn answer(&self, head: &Parts, body: &[u8]) -> Response<Body> {
        let path = head.uri.path();
        let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
        let number = |name: &str| header(name).unwrap().parse::<u64>().unwrap();
        self.seen().requests.push(SentRequest {
            line: format!("{} {}", head.method, head.uri),
            headers: format!("{:?}", head.headers),
            body: body.to_vec(),
        });
        if path == "/v1/enrol" {
            return self.enrol(head, body);
        }
        if self.takes(|trouble| &mut trouble.client_forgotten) {
            return refuse(Problem::new(ErrorCode::ClientUnknown, "the database was restored"));
        }
        let announced: UpdateDigest = header(headers::CONTENT_DIGEST).unwrap().parse().unwrap();
        let content = if head.method == "PUT" { announced } else { UpdateDigest::of(body) };
        verify(head, &self.seen().public_key.clone().unwrap(), content);
        let parts: Vec<&str> = path.trim_start_matches("/v1/").split('/').collect();
        match (head.method.as_str(), parts.as_slice()) {
            ("POST", ["check-in"]) => self.check_in(),
            ("GET", ["blobs", digest]) => self.blob(digest, header("range")),
            ("PUT", ["assignments", _, "update"]) => {
                let (offset, length) = (number(headers::UPLOAD_OFFSET), number(headers::UPLOAD_LENGTH));
                self.upload(offset, length, announced, body)
            }
            ("GET", ["assignments", _, "update"]) => self.upload_status(),
            ("POST", ["assignments", _, "report"]) => {
                self.seen().reports.push(serde_json::from_slice(body).unwrap());
                whole(204, "application/json", Bytes::new())
            }
            ("POST", ["assignments", _, "abort"]) => {
                self.seen().aborts.push(serde_json::from_slice(body).unwrap());
                whole(204, "application/json", Bytes::new())
            }
            other => panic!("no such endpoint: {other:?}"),
        }
    }
}

pub fn artifact(bytes: &[u8]) -> Artifact {
    Artifact { digest: BlobDigest::of(bytes), bytes: bytes.len() as u64 }
}

fn verify(head: &Parts, public_key: &str, content: UpdateDigest) {
    let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    let number = |name: &str| header(name).map(|text| text.parse::<u64>().unwrap());
    assert_eq!(header(headers::CONTENT_DIGEST), Some(content.to_string().as_str()));
    let parts = SignedParts {
        method: head.method.as_str(),
        path: head.uri.path_and_query().unwrap().as_str(),
        client: header(headers::CLIENT).map(|text| text.parse().unwrap()),
        protocol: number(headers::PROTOCOL).unwrap() as u16,
        timestamp: Timestamp(number(headers::TIMESTAMP).unwrap()),
        nonce: header(headers::NONCE).unwrap(),
        content,
        upload: number(headers::UPLOAD_OFFSET).zip(number(headers::UPLOAD_LENGTH)),
        audience: header(headers::AUDIENCE),
    };
    signing::verify(public_key, header(headers::SIGNATURE).unwrap(), &parts).unwrap();
}

fn wait(milliseconds: u64, offered: Option<Artifact>) -> Response<Body> {
    json(&CheckInResponse::Wait {
        retry_after_milliseconds_min: milliseconds,
        retry_after_milliseconds_max: milliseconds,
        offered,
    })
}

fn json(message: &impl serde::Serialize) -> Response<Body> {
    whole(200, "application/json", serde_json::to_vec(message).unwrap())
}

fn refuse(problem: Problem) -> Response<Body> {
    whole(problem.status, "application/problem+json", serde_json::to_vec(&problem).unwrap())
}
