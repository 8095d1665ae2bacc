use std::time::Duration;

use axum::{
    Json,
    body::Body,
    extract::{Path, State},
    http::Request,
};
use folkmoot_protocol::{
    AssignmentId, ErrorCode, headers,
    messages::{UploadState, UploadStatus},
};
use folkmoot_rounds::{
    device::{self, Begun, UploadGuard, UploadRequest},
    in_place::in_place,
    ingest::Announced,
    refusal::Refusal,
};
use folkmoot_storage::ClientRecord;
use http_body_util::BodyExt;

use crate::http::{App, body, problem::Refused, signed};

/// The maximum number of rounds that a complete update waits for. Each of them may be full before the update enters it.
/// After that, the client must repeat its request.
const ROUNDS_AWAITED: usize = 64;
/// The maximum time to wait for each of the awaited rounds to open.
const ROUND_AWAITED: Duration = Duration::from_secs(2);

/// Reads an assignment id from a path.
pub fn assignment_id(text: &str) -> Result<AssignmentId, Refusal> {
    text.parse().map_err(|error| Refusal::new(ErrorCode::AssignmentUnknown, format!("{error}")))
}

/// `GET /v1/assignments/{id}/update`
pub async fn upload_status(
    State(app): State<App>,
    Path(id): Path<String>,
    request: Request<Body>,
) -> Result<Json<UploadStatus>, Refused> {
    let signed = signed::empty(&app, request).await?;
    let assignment = assignment_id(&id)?;
    Ok(Json(device::upload_status(&app.coordinator, &signed.client, assignment, signed.now).await?))
}

/// `PUT /v1/assignments/{id}/update`
pub async fn upload_update(
    State(app): State<App>,
    Path(id): Path<String>,
    request: Request<Body>,
) -> Result<Json<UploadStatus>, Refused> {
    let (parts, body) = request.into_parts();
    body::check_type(&parts.headers, "application/octet-stream")?;
    let offset = signed::required(&parts.headers, headers::UPLOAD_OFFSET)?;
    let length = signed::required(&parts.headers, headers::UPLOAD_LENGTH)?;
    let digest = signed::required(&parts.headers, headers::CONTENT_DIGEST)?;
    let (client, body) = signed::authenticate_before(&app, &parts, Some((offset, length)), body).await?;
    let part =
        UploadRequest { assignment_id: assignment_id(&id)?, announced: Announced { digest, length }, offset };
    let mut guard = match device::begin_upload(&app.coordinator, &client, part, (app.clock)()).await? {
        Begun::Accepted(status) => return Ok(Json(status)),
        Begun::Awaited(guard) => guard,
    };
    let received = {
        let upload = guard.as_ref().expect("whoever sends has begun");
        // The length of a private task's compressed update depends on its values.
        let is_metered = upload.is_counted() || !upload.may_be_compressed();
        let mut receiving =
            Receiving { app: &app, client: &client, guard: &mut guard, is_metered, received: 0 };
        receive(body, &mut receiving).await
    };
    if let Err(refusal) = received {
        let received = guard.as_ref().map_or(0, |upload| upload.received());
        let refusal = match refusal.code() {
            // The received bytes are intact: the client continues after them.
            ErrorCode::RequestTimeout | ErrorCode::MalformedRequest => refusal.received(received),
            _ => device::refuse_upload(&app.coordinator, &client, guard, refusal, (app.clock)()).await,
        };
        return Err(refusal.into());
    }
    let status = finish(&app, &client, part, guard).await?;
    if status.state == UploadState::Accepted {
        app.coordinator.tenants.updated(client.organisation_id, (app.clock)());
    }
    Ok(Json(status))
}

/// Ends a part of an upload. If the update is complete while its task is between two rounds, waits for the next round,
/// which opens soon, so that the client need not repeat its request.
async fn finish(
    app: &App,
    client: &ClientRecord,
    part: UploadRequest,
    mut guard: UploadGuard,
) -> Result<UploadStatus, Refusal> {
    let whole = UploadRequest { offset: part.announced.length, ..part };
    for _ in 0..ROUNDS_AWAITED {
        let opened = app.coordinator.round_opened.notified();
        let refusal = match device::finish_upload(&app.coordinator, client, guard, (app.clock)()).await {
            Err(refusal) if refusal.code() == ErrorCode::UploadBusy => refusal,
            ended => return ended,
        };
        if tokio::time::timeout(ROUND_AWAITED, opened).await.is_err() {
            return Err(refusal);
        }
        guard = match device::begin_upload(&app.coordinator, client, whole, (app.clock)()).await? {
            Begun::Accepted(status) => return Ok(status),
            Begun::Awaited(guard) => guard,
        };
    }
    device::finish_upload(&app.coordinator, client, guard, (app.clock)()).await
}

/// A part of an update while its bytes arrive. At the end, even if the connection is lost, its bytes are metered, and the
/// buffers that are needed only meanwhile are released.
struct Receiving<'a> {
    app: &'a App,
    client: &'a ClientRecord,
    guard: &'a mut UploadGuard,
    is_metered: bool,
    received: u64,
}

impl Drop for Receiving<'_> {
    fn drop(&mut self) {
        if self.is_metered {
            let now = (self.app.clock)();
            self.app.coordinator.tenants.received(self.client.organisation_id, self.received, now);
        }
        if let Some(upload) = self.guard.as_mut() {
            upload.rest(&self.app.coordinator.ingest);
        }
    }
}

async fn receive(mut body: Body, receiving: &mut Receiving<'_>) -> Result<(), Refusal> {
    let upload = receiving.guard.as_mut().expect("whoever sends has begun");
    let idle = receiving.app.limits.upload_idle_timeout;
    let late = |_| {
        Refusal::new(ErrorCode::RequestTimeout, format!("no byte arrived for {idle:?}; continue the upload"))
            .retry_after(0)
    };
    while let Some(frame) = tokio::time::timeout(idle, body.frame()).await.map_err(late)? {
        if let Ok(data) = frame.map_err(body::broken)?.into_data() {
            if upload.is_counted() {
                metrics::counter!("folkmoot_upload_bytes_total").increment(data.len() as u64);
            }
            let is_work = upload.may_be_compressed();
            receiving.received += data.len() as u64;
            if is_work { in_place(|| upload.push(&data))? } else { upload.push(&data)? }
        }
    }
    Ok(())
}
