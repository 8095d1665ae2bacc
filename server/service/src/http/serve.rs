use std::{
    io,
    net::{SocketAddr, TcpListener},
    time::Duration,
};

use axum::Router;
use axum_server::{Handle, tls_rustls::RustlsAcceptor};
use hyper_util::rt::TokioTimer;

use super::{
    HttpLimits,
    edge::{Connections, Guarded, raise_open_files},
    tls::LiveCertificate,
};

/// How long open requests may take to end when the process goes down.
const GRACE: Duration = Duration::from_secs(10);
/// Bytes of a request's head, at most.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// Bytes that an HTTP/1.1 connection reads at a time. It is what a client costs in memory while it uploads, so it is
/// small: a piece that fits the cache is also hashed, checked and folded from the cache.
const CONNECTION_BYTES_MAX: usize = 64 * 1024;
/// Requests at a time on one HTTP/2 connection, at most.
const STREAMS_MAX: u32 = 128;
/// Streams that a peer may reset before they are served; more of them close the connection (CVE-2023-44487).
const RESET_STREAMS_MAX: usize = 32;
/// Bytes that may be under way on one HTTP/2 stream, and on its connection.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 4 << 20;

/// A bound socket, with or without TLS.
pub struct Listener {
    socket: TcpListener,
    tls: Option<LiveCertificate>,
}

/// Why the coordinator cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {source}; choose another with --listen")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The socket failed.
    #[error("the listener failed: {0}")]
    Listen(#[from] io::Error),
}

impl Listener {
    /// Binds an address.
    ///
    /// # Errors
    /// If it is taken, or not this machine's.
    pub fn bind(address: SocketAddr, tls: Option<LiveCertificate>) -> Result<Self, ServeError> {
        let socket = TcpListener::bind(address).map_err(|source| ServeError::Bind { address, source })?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, tls })
    }

    /// Returns the address, with the port that the system chose if 0 was asked for.
    ///
    /// # Errors
    /// If the system does not know it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }
}

/// Serves until `shutdown` resolves, then lets open requests end.
///
/// # Errors
/// If the socket fails.
pub async fn serve(
    listener: Listener,
    router: Router,
    limits: &HttpLimits,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), ServeError> {
    let handle = Handle::new();
    let closer = handle.clone();
    tokio::spawn(async move {
        shutdown.await;
        closer.graceful_shutdown(Some(GRACE));
    });
    let connections = Connections::new(raise_open_files(limits.connections_max), limits);
    let service = router.into_make_service();
    match listener.tls {
        Some(certificate) => {
            let acceptor = RustlsAcceptor::new(certificate.served()).handshake_timeout(limits.head_timeout);
            let mut server =
                axum_server::from_tcp(listener.socket)?.acceptor(Guarded { acceptor, connections });
            configure(server.http_builder(), limits);
            Ok(server.handle(handle).serve(service).await?)
        }
        None => {
            let acceptor = axum_server::accept::NoDelayAcceptor::new();
            let mut server =
                axum_server::from_tcp(listener.socket)?.acceptor(Guarded { acceptor, connections });
            configure(server.http_builder(), limits);
            Ok(server.handle(handle).serve(service).await?)
        }
    }
}

fn configure<E>(builder: &mut hyper_util::server::conn::auto::Builder<E>, limits: &HttpLimits) {
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_timeout)
        .max_buf_size(CONNECTION_BYTES_MAX)
        .max_headers(64);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(HEAD_BYTES_MAX as u32)
        .max_concurrent_streams(STREAMS_MAX)
        .max_pending_accept_reset_streams(RESET_STREAMS_MAX)
        .max_local_error_reset_streams(RESET_STREAMS_MAX)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .keep_alive_interval(Duration::from_secs(20))
        .keep_alive_timeout(Duration::from_secs(20));
}
