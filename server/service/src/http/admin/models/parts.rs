use axum::{Json, body::Body, extract::State, http::Request};
use folkmoot_api::{
    Binary,
    models::{ModelPartsView, ModelPieceView},
};
use folkmoot_onnx_file::{
    ImportLimits,
    external::{Parts, Piece},
};
use folkmoot_protocol::{ErrorCode, Problem};
use folkmoot_rounds::refusal::Refusal;

use crate::http::{App, admin::costly::in_turn, body, problem::Refused};

/// Returns instructions to join an ONNX file and its data files into one file. Stores nothing.
///
/// Exporters store large weights in data files beside the ONNX file. A page can put the pieces together, and upload the
/// result with `POST /v1/admin/models`, without reading the data files into its memory.
#[utoipa::path(
    post, path = "/v1/admin/models/parts", tag = "models", security(("api_key" = ["operator"])),
    request_body(
        content = Binary, content_type = "application/octet-stream",
        description = "The ONNX file, without its data files"
    ),
    responses(
        (status = 200, body = ModelPartsView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn find_parts(
    State(app): State<App>,
    request: Request<Body>,
) -> Result<Json<ModelPartsView>, Refused> {
    let (parts, body) = request.into_parts();
    body::check_type(&parts.headers, "application/octet-stream")?;
    let bytes_max = app.limits.model_bytes_max;
    let onnx = body::receive(&app, body, "the setting `limits.model_bytes_max`", bytes_max).await?;
    let found = in_turn(&app.edge, move || find(&onnx, bytes_max)).await?;
    Ok(Json(found.map_err(|detail| Refusal::new(ErrorCode::ModelInvalid, detail))?))
}

fn find(onnx: &[u8], model_bytes_max: usize) -> Result<ModelPartsView, String> {
    let limits = ImportLimits { model_bytes_max, ..ImportLimits::default() };
    let parts = Parts::find(onnx, &limits).map_err(|error| error.to_string())?;
    let piece = |piece: Piece<'_>| match piece {
        Piece::Model(range) => ModelPieceView::Model { start: range.start as u64, end: range.end as u64 },
        Piece::New(bytes) => ModelPieceView::New { bytes },
        Piece::Tensor(tensor) => ModelPieceView::DataFile {
            file: tensor.file.clone(),
            start: tensor.range.start,
            end: tensor.range.end,
        },
    };
    Ok(ModelPartsView {
        data_files: parts.files().into_iter().map(str::to_owned).collect(),
        pieces: parts.pieces().into_iter().map(piece).collect(),
    })
}
