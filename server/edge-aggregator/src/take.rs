//! Takes updates that stay here until their round closes.

use std::{collections::BTreeMap, str::FromStr, sync::Arc};

use axum::{
    Json,
    body::Body,
    extract::{Path, Request, State},
    http::{HeaderMap, Method, request::Parts},
    response::{IntoResponse, Response},
};
use folkmoot_api::rounds::aggregators::{
    AdmissionRequest, HeldAssignmentView, HeldTaskView, HeldUpdateRequest, RefusedUpdateRequest,
};
use folkmoot_combine::{
    in_place::in_place,
    ingest::{Announced, ExpectedUpdate, Origin, Upload, logged},
    refusal::Refusal,
};
use folkmoot_coordinator::round::Purpose;
use folkmoot_protocol::{
    AssignmentId, Disposition, ErrorCode, Timestamp, headers,
    messages::{UploadState, UploadStatus},
};
use folkmoot_storage::AcceptedUpdate;
use http_body_util::BodyExt;
use tokio::sync::OwnedMutexGuard;

use crate::{answer::Refused, app::App, pass::pass};

type Guard = OwnedMutexGuard<Option<Upload>>;

/// A client's request about its update, after the coordinator has verified its head.
struct Admitted {
    assignment: AssignmentId,
    head: AdmissionRequest,
    view: HeldAssignmentView,
    task: Arc<HeldTaskView>,
    norm_max: Option<u64>,
}

/// Takes a part of an update, or answers how much has arrived. Passes requests on whose update the coordinator needs alone.
pub async fn update(
    State(app): State<App>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Refused> {
    let is_of_update = matches!(*request.method(), Method::GET | Method::PUT);
    let Some(assignment) = id.parse::<AssignmentId>().ok().filter(|_| is_of_update) else {
        return pass(State(app), request).await;
    };
    // The coordinator refuses what nobody has signed, without further questions.
    if !request.headers().contains_key(headers::SIGNATURE) {
        return pass(State(app), request).await;
    }
    let Some(view) = app.upstream.held(assignment).await? else { return pass(State(app), request).await };
    let (parts, body) = request.into_parts();
    let head = admission(assignment, &parts);
    let admission = app.upstream.admin.admit(&head).await?;
    if let Some(answer) = admission.answer {
        forget(&app, assignment);
        return Ok(Json(answer).into_response());
    }
    let task = app.upstream.task(view.task_id).await?;
    let admitted = Admitted { assignment, head, view, task, norm_max: admission.norm_max };
    let status = match parts.method {
        Method::PUT => take(&app, &admitted, &parts, body).await?,
        _ => status(&app, &admitted)?,
    };
    Ok(Json(status).into_response())
}

/// Returns the head of a request, for the coordinator to verify.
fn admission(assignment_id: AssignmentId, parts: &Parts) -> AdmissionRequest {
    let signed = headers::ALL.iter().filter_map(|name| {
        // A repeated header is not sent on, so the coordinator misses it.
        let mut values = parts.headers.get_all(*name).iter();
        let value = values.next().filter(|_| values.next().is_none())?;
        Some(((*name).to_owned(), value.to_str().ok()?.to_owned()))
    });
    AdmissionRequest {
        assignment_id,
        method: parts.method.to_string(),
        path: parts.uri.path_and_query().map_or_else(|| "/".to_owned(), ToString::to_string),
        headers: signed.collect::<BTreeMap<_, _>>(),
    }
}

fn status(app: &App, admitted: &Admitted) -> Result<UploadStatus, Refused> {
    let received_bytes = match app.ingest.received(admitted.assignment) {
        Some(received) => received,
        None => logged(&app.ingest, admitted.view.round_id, admitted.assignment)?,
    };
    Ok(UploadStatus { received_bytes, state: UploadState::Partial })
}

async fn take(app: &App, admitted: &Admitted, parts: &Parts, body: Body) -> Result<UploadStatus, Refused> {
    let announced = Announced {
        digest: required(&parts.headers, headers::CONTENT_DIGEST)?,
        length: required(&parts.headers, headers::UPLOAD_LENGTH)?,
    };
    let offset = required(&parts.headers, headers::UPLOAD_OFFSET)?;
    let mut guard = match begin(app, admitted, announced) {
        Ok(guard) => guard,
        Err(refusal) => return Err(told(app, admitted, refusal).await),
    };
    guard.as_ref().expect("it has begun").check_part(announced, offset)?;
    let received = {
        let resting = Resting { app, guard: &mut guard };
        receive(app, resting.guard.as_mut().expect("it has begun"), body).await
    };
    let upload = guard.as_ref().expect("it has begun");
    let received_bytes = upload.received();
    if let Err(refusal) = received {
        return Err(match refusal.code() {
            // The received bytes are intact: the client continues after them.
            ErrorCode::RequestTimeout | ErrorCode::MalformedRequest => {
                refusal.received(received_bytes).into()
            }
            _ => refuse(app, admitted, guard, refusal).await,
        });
    }
    if !upload.is_whole() {
        return Ok(UploadStatus { received_bytes, state: UploadState::Partial });
    }
    finish(app, admitted, guard).await
}

/// Releases the buffers of an upload at the end of a part, even if the connection is lost.
struct Resting<'a> {
    app: &'a App,
    guard: &'a mut Guard,
}

impl Drop for Resting<'_> {
    fn drop(&mut self) {
        if let Some(upload) = self.guard.as_mut() {
            upload.rest(&self.app.ingest);
        }
    }
}

fn begin(app: &App, admitted: &Admitted, announced: Announced) -> Result<Guard, Refusal> {
    let Admitted { assignment, view, task, norm_max, .. } = admitted;
    let (round_id, assignment_id) = (view.round_id, *assignment);
    let Ok(mut guard) = app.ingest.slot(round_id, assignment_id).try_lock_owned() else {
        let detail = "another request is sending this update; wait until it has ended, then ask how many bytes have arrived";
        return Err(Refusal::new(ErrorCode::UploadBusy, detail).retry_after(1_000));
    };
    if guard.is_none() {
        let segment = app.ingest.log().open(round_id, assignment_id)?;
        let base_version = view.base_version;
        let origin = Origin { assignment_id, round_id, base_version, purpose: Purpose::Training };
        let mut expected = ExpectedUpdate::derived(&task.description, &task.schema, origin);
        expected.norm_max = *norm_max;
        *guard = Some(in_place(|| Upload::open(&app.ingest, segment, expected, announced))?);
    }
    Ok(guard)
}

async fn receive(app: &App, upload: &mut Upload, mut body: Body) -> Result<(), Refusal> {
    let idle = app.limits.upload_idle_timeout;
    let late = |_| {
        Refusal::new(ErrorCode::RequestTimeout, format!("no byte arrived for {idle:?}; continue the upload"))
            .retry_after(0)
    };
    let broken = |error: axum::Error| {
        let detail = format!("the body ended early: {error}; send the request again");
        Refusal::new(ErrorCode::MalformedRequest, detail)
    };
    while let Some(frame) = tokio::time::timeout(idle, body.frame()).await.map_err(late)? {
        if let Ok(data) = frame.map_err(broken)?.into_data() {
            in_place(|| upload.push(&data))?;
        }
    }
    Ok(())
}

/// Makes a complete update durable, and offers it to the coordinator.
async fn finish(app: &App, admitted: &Admitted, mut guard: Guard) -> Result<UploadStatus, Refused> {
    let (ingest, head) = (app.ingest.clone(), admitted.head.clone());
    let finished = tokio::task::spawn_blocking(move || {
        let upload = guard.as_mut().expect("it has begun");
        // The coordinator sets the time.
        let update = upload.finish(&ingest, Timestamp(0));
        let extent = upload.extent();
        (guard, update.map(|update| request(head, update, extent.square, extent.peak)))
    });
    let (guard, update) = finished.await.map_err(|error| Refusal::internal(&error))?;
    let update = match update {
        Ok(update) => update,
        Err(refusal) => return Err(refuse(app, admitted, guard, refusal).await),
    };
    // If the answer is lost, the client repeats its request, and the same update is offered again.
    match app.upstream.admin.accept_held_update(&update).await {
        Ok(status) => {
            drop(guard);
            forget(app, admitted.assignment);
            Ok(status)
        }
        Err(error) => {
            let refused = Refused::from(error);
            if refused.0.disposition == Disposition::CheckIn {
                drop(guard);
                forget(app, admitted.assignment);
            }
            Err(refused)
        }
    }
}

fn request(head: AdmissionRequest, update: AcceptedUpdate, norm_square: f64, peak: f64) -> HeldUpdateRequest {
    HeldUpdateRequest {
        head,
        codec: update.codec,
        weight: update.weight,
        example_count: update.metrics.example_count,
        loss_sum: update.metrics.loss_sum,
        correct_count: update.metrics.correct_count,
        step_count: update.metrics.step_count,
        norm_square,
        peak,
    }
}

/// Aborts an upload whose bytes were refused.
async fn refuse(app: &App, admitted: &Admitted, mut guard: Guard, refusal: Refusal) -> Refused {
    if let Some(mut upload) = guard.take() {
        in_place(|| upload.give_up(&app.ingest));
    }
    drop(guard);
    told(app, admitted, refusal).await
}

/// Tells the coordinator about a refusal after which the client checks in again, so that the round does not wait for it.
async fn told(app: &App, admitted: &Admitted, refusal: Refusal) -> Refused {
    if refusal.code().disposition() == Disposition::CheckIn {
        let assignment = admitted.assignment;
        forget(app, assignment);
        let report = RefusedUpdateRequest { head: admitted.head.clone(), code: refusal.code() };
        if let Err(error) = app.upstream.admin.refuse_held_update(&report).await {
            tracing::warn!(%error, %assignment, "the coordinator does not know that an update was refused; its assignment will expire");
        }
    }
    refusal.into()
}

fn forget(app: &App, assignment: AssignmentId) {
    app.ingest.forget_upload(assignment);
    app.upstream.forget(assignment);
}

/// Reads a header that the coordinator has found to be there once.
fn required<T: FromStr>(headers: &HeaderMap, name: &'static str) -> Result<T, Refusal> {
    let value = headers.get(name).and_then(|value| value.to_str().ok()?.parse().ok());
    value.ok_or_else(|| {
        Refusal::new(
            ErrorCode::MalformedRequest,
            format!("the header {name} is missing or not valid; send it"),
        )
    })
}
