//! An HTTP/1.1 server in this process, with or without TLS.

use std::{
    convert::Infallible,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use futures::{StreamExt, stream};
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::{
    Request, Response, StatusCode,
    body::{Frame, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    sync::watch,
};
use tokio_rustls::TlsAcceptor;

use super::until;

pub type Body = BoxBody<Bytes, io::Error>;

/// The responses of a test coordinator.
pub trait Answers: Send + Sync + 'static {
    fn answer(&self, head: &hyper::http::request::Parts, body: &[u8]) -> Response<Body>;
}

pub fn whole(status: u16, content_type: &str, bytes: impl Into<Bytes>) -> Response<Body> {
    let body = Full::new(bytes.into()).map_err(|never: Infallible| match never {}).boxed();
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response.headers_mut().insert("content-type", content_type.parse().unwrap());
    response
}

/// A body that breaks off after these bytes, once all of them are in the client's `file`.
pub fn broken(bytes: Vec<u8>, file: PathBuf) -> Response<Body> {
    let length = bytes.len() as u64;
    let begin = stream::once(async { Ok(Frame::data(Bytes::from(bytes))) });
    let end = stream::once(async move {
        until("the first bytes in the client's file", || has_length(&file, length)).await;
        Err(io::Error::from(io::ErrorKind::BrokenPipe))
    });
    Response::new(BodyExt::boxed(StreamBody::new(begin.chain(end))))
}

/// Returns whether a file has this many bytes.
pub fn has_length(file: &Path, bytes: u64) -> bool {
    std::fs::metadata(file).is_ok_and(|metadata| metadata.len() == bytes)
}

/// A body whose end is sent once `gate` becomes true. The receiver is dropped with the body.
pub fn gated(begin: Vec<u8>, mut gate: watch::Receiver<bool>, end: Vec<u8>) -> Response<Body> {
    let begin = stream::once(async { Ok(Frame::data(Bytes::from(begin))) });
    let end = stream::once(async move {
        gate.wait_for(|is_open| *is_open).await.map_err(io::Error::other)?;
        Ok(Frame::data(Bytes::from(end)))
    });
    Response::new(BodyExt::boxed(StreamBody::new(begin.chain(end))))
}

/// Listens until the test ends. Returns the port.
pub async fn listen(answers: Arc<impl Answers>, tls: Option<TlsAcceptor>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (answers, tls) = (Arc::clone(&answers), tls.clone());
            tokio::spawn(async move {
                match tls {
                    None => serve(answers, stream).await,
                    Some(tls) => {
                        if let Ok(stream) = tls.accept(stream).await {
                            serve(answers, stream).await;
                        }
                    }
                }
            });
        }
    });
    port
}

async fn serve(answers: Arc<impl Answers>, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
    let service = service_fn(move |request: Request<Incoming>| {
        let answers = Arc::clone(&answers);
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            Ok::<_, hyper::Error>(answers.answer(&head, &body))
        }
    });
    // A broken connection is part of the test.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}
