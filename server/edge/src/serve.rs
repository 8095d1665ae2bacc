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
    connections::{Connections, Guarded},
    files::raise_open_files,
    tls::LiveCertificate,
};

/// The maximum time for open requests to finish during a shutdown.
const GRACE: Duration = Duration::from_secs(10);
/// The maximum size of a request's head, in bytes.
const HEAD_BYTES_MAX: u32 = 64 * 1024;
/// The read buffer of an HTTP/1.1 connection, in bytes. An uploading client costs this much memory, so the buffer is
/// small. A piece that fits the CPU cache is also hashed, checked and folded from the cache.
const CONNECTION_BYTES_MAX: usize = 64 * 1024;
/// The maximum number of concurrent requests on an HTTP/2 connection.
const STREAMS_MAX: u32 = 128;
/// The maximum number of HTTP/2 streams that a peer may open and reset before the coordinator accepts them. If a peer
/// resets more, the coordinator closes the connection (CVE-2023-44487, rapid reset).
const RESET_STREAMS_MAX: usize = 32;
/// The flow-control window of an HTTP/2 stream, in bytes.
const STREAM_WINDOW: u32 = 1 << 20;
/// The flow-control window of an HTTP/2 connection, in bytes.
const CONNECTION_WINDOW: u32 = 4 << 20;

/// A bound socket, with or without TLS.
pub struct Listener {
    socket: TcpListener,
    tls: Option<LiveCertificate>,
}

/// The reason why the coordinator cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {source}; choose another address with --listen")]
    Bind {
        /// The address to listen on.
        address: SocketAddr,
        /// The operating system's error.
        source: io::Error,
    },
    /// The listening socket failed.
    #[error("the listening socket failed: {0}")]
    Listen(#[from] io::Error),
}

impl Listener {
    /// Binds an address.
    ///
    /// # Errors
    /// Fails if the address is in use, or does not belong to this machine.
    pub fn bind(address: SocketAddr, tls: Option<LiveCertificate>) -> Result<Self, ServeError> {
        let socket = TcpListener::bind(address).map_err(|source| ServeError::Bind { address, source })?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, tls })
    }

    /// Returns the bound address, including the port that the system chose for port 0.
    ///
    /// # Errors
    /// Fails if the system cannot report the address.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }
}

/// Serves until `shutdown` resolves, then waits for open requests to finish.
///
/// The limit of open files is raised at once, and not when the future is first polled: anyone who knows the address may
/// rely on it.
///
/// # Errors
/// Fails if the listening socket fails.
pub fn serve(
    listener: Listener,
    router: Router,
    limits: HttpLimits,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> impl Future<Output = Result<(), ServeError>> + Send + 'static {
    let connections = Connections::new(raise_open_files(limits.connections_max), &limits);
    async move {
        let handle = Handle::new();
        let closer = handle.clone();
        tokio::spawn(async move {
            shutdown.await;
            closer.graceful_shutdown(Some(GRACE));
        });
        let service = router.into_make_service();
        match listener.tls {
            Some(certificate) => {
                let acceptor =
                    RustlsAcceptor::new(certificate.served()).handshake_timeout(limits.head_timeout);
                let authority = Some(certificate).filter(LiveCertificate::wants_clients);
                let guarded = Guarded { acceptor, connections, authority };
                let mut server = axum_server::from_tcp(listener.socket)?.acceptor(guarded);
                configure(server.http_builder(), &limits);
                Ok(server.handle(handle).serve(service).await?)
            }
            None => {
                let acceptor = axum_server::accept::NoDelayAcceptor::new();
                let guarded = Guarded { acceptor, connections, authority: None };
                let mut server = axum_server::from_tcp(listener.socket)?.acceptor(guarded);
                configure(server.http_builder(), &limits);
                Ok(server.handle(handle).serve(service).await?)
            }
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
        .max_header_list_size(HEAD_BYTES_MAX)
        .max_concurrent_streams(STREAMS_MAX)
        .max_pending_accept_reset_streams(RESET_STREAMS_MAX)
        .max_local_error_reset_streams(RESET_STREAMS_MAX)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .keep_alive_interval(Duration::from_secs(20))
        .keep_alive_timeout(Duration::from_secs(20));
}
