use axum::{
    body::Body,
    extract::{Path, State},
    http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header},
};
use bytes::Bytes;
use folkmoot_protocol::{BlobDigest, ErrorCode};
use folkmoot_rounds::{device, refusal::Refusal};

use crate::http::{App, problem::Refused, signed};

/// `GET /v1/blobs/{digest}`, with `Range` and `If-None-Match`
pub async fn get_blob(
    State(app): State<App>,
    Path(digest): Path<String>,
    request: Request<Body>,
) -> Result<Response<Body>, Refused> {
    let headers = request.headers().clone();
    let signed = signed::empty(&app, request).await?;
    let digest: BlobDigest =
        digest.parse().map_err(|error| Refusal::new(ErrorCode::BlobUnknown, format!("{error}")))?;
    let (bytes, network) = device::blob(&app.coordinator, &signed.client, digest).await?;
    let (response, sent) = respond(&headers, digest, bytes)?;
    app.coordinator.tenants.sent(signed.client.organisation_id, sent, signed.now);
    if let Some(network) = network {
        metrics::counter!("folkmoot_download_bytes_total", "network" => network.name()).increment(sent);
    }
    Ok(response)
}

/// Creates a response with a blob or the requested range, and returns it with the number of bytes to send. The digest
/// is the ETag, because a blob never changes.
fn respond(headers: &HeaderMap, digest: BlobDigest, bytes: Bytes) -> Result<(Response<Body>, u64), Refusal> {
    let etag =
        HeaderValue::from_str(&format!("\"{digest}\"")).expect("hexadecimal digits are a header value");
    let builder = Response::builder()
        .header(header::ETAG, &etag)
        .header(header::CACHE_CONTROL, "private, max-age=31536000, immutable")
        .header(header::ACCEPT_RANGES, "bytes")
        .header(header::CONTENT_TYPE, "application/octet-stream");
    let ok = "a status, known headers and a body make a response";
    if headers.get(header::IF_NONE_MATCH) == Some(&etag) {
        return Ok((builder.status(StatusCode::NOT_MODIFIED).body(Body::empty()).expect(ok), 0));
    }
    let total = bytes.len() as u64;
    match headers.get(header::RANGE).map(|range| parse_range(range, bytes.len())) {
        None => {
            let builder = builder.header(header::CONTENT_LENGTH, total);
            Ok((builder.body(Body::from(bytes)).expect(ok), total))
        }
        Some(Some((start, end))) => {
            let (part, length) = (bytes.slice(start..end), (end - start) as u64);
            builder
                .status(StatusCode::PARTIAL_CONTENT)
                .header(header::CONTENT_RANGE, format!("bytes {start}-{}/{total}", end - 1))
                .header(header::CONTENT_LENGTH, length)
                .body(Body::from(part))
                .map(|response| (response, length))
                .map_err(|error| Refusal::internal(&error))
        }
        Some(None) => {
            let detail = format!(
                "the range is not valid; send one range `bytes=START-[END]` within the blob's {total} bytes"
            );
            Err(Refusal::new(ErrorCode::RangeNotSatisfiable, detail))
        }
    }
}

/// Reads one range, `bytes=start-`, `bytes=start-end` or `bytes=-suffix`, as a half-open interval.
fn parse_range(value: &HeaderValue, total: usize) -> Option<(usize, usize)> {
    let (start, end) = value.to_str().ok()?.strip_prefix("bytes=")?.split_once('-')?;
    let (start, end) = match (start, end) {
        ("", suffix) => (total.checked_sub(suffix.parse().ok()?)?, total),
        (start, "") => (start.parse().ok()?, total),
        (start, end) => (start.parse().ok()?, end.parse::<usize>().ok()?.checked_add(1)?.min(total)),
    };
    (start < end).then_some((start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_one_interval_inside_the_blob() {
        let range = |text: &'static str| parse_range(&HeaderValue::from_static(text), 10);
        assert_eq!(range("bytes=0-3"), Some((0, 4)));
        assert_eq!(range("bytes=4-"), Some((4, 10)));
        assert_eq!(range("bytes=4-99"), Some((4, 10)));
        assert_eq!(range("bytes=-3"), Some((7, 10)));
        let bad = [
            "bytes=5-4",
            "bytes=10-",
            "bytes=-11",
            "bytes=-0",
            "bytes=0-1,3-4",
            "items=0-1",
            "bytes=a-b",
            "0-1",
        ];
        for text in bad.into_iter().chain(["bytes=0-18446744073709551615000", "bytes=--1", "bytes="]) {
            assert_eq!(range(text), None, "{text}");
        }
    }
}
