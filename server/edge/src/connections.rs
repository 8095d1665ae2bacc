use std::{
    collections::HashMap,
    convert::Infallible,
    io,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use axum::{
    body::Body,
    extract::ConnectInfo,
    http::{Request, StatusCode},
    response::Response,
};
use axum_server::accept::Accept;
use folkmoot_protocol::Timestamp;
use futures::future::BoxFuture;
use tokio::{net::TcpStream, time::Instant};
use tower::Service;

use super::{
    HttpLimits, Peer, Proxies, Throttle,
    activity::Activity,
    address::is_this_machine,
    stream::{LimitedStream, Patience},
    tarpit::Tarpit,
    tls::{Certified, ClientCertificate, LiveCertificate},
    turnstile::Turnstile,
    warn_of,
};

/// The number of new connections that one address may open per second, on average.
const NEW_CONNECTIONS_PER_SECOND: f64 = 50.0;

/// The open connections, limited in total and per address.
///
/// A connection over the limit is closed at once, so that the client gets an error instead of waiting forever.
pub struct Connections {
    in_all_max: usize,
    per_address_max: usize,
    patience: Patience,
    proxies: Arc<Proxies>,
    /// Limits the rate of new connections per address. Each connection costs a handshake, which is most of the cost of
    /// a small request.
    begun: Throttle,
    /// Paces handshakes.
    handshakes: Turnstile,
    /// Delays answers to peers that should slow down.
    tarpit: Tarpit,
    since: Instant,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    in_all: usize,
    of_address: HashMap<Peer, usize>,
}

impl Connections {
    /// Creates an empty set of connections.
    pub fn new(in_all_max: usize, limits: &HttpLimits) -> Arc<Self> {
        let patience = Patience {
            head: limits.head_timeout,
            idle: limits.idle_timeout,
            untaken: limits.untaken_timeout,
        };
        Arc::new(Self {
            in_all_max,
            per_address_max: limits.connections_per_address_max,
            patience,
            proxies: limits.trusted_proxies.clone(),
            begun: Throttle::new(
                "new_connections",
                limits.connections_per_address_max as f64,
                NEW_CONNECTIONS_PER_SECOND,
            ),
            handshakes: Turnstile::of_half_the_cores(),
            tarpit: Tarpit::new(),
            since: Instant::now(),
            open: Mutex::default(),
        })
    }

    /// Counts a connection from `address` until the returned value is dropped; `None` if there are too many.
    fn admit(self: &Arc<Self>, address: IpAddr) -> Option<Admitted> {
        let now = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.admit_at(address, Timestamp(now))
    }

    fn admit_at(self: &Arc<Self>, address: IpAddr, now: Timestamp) -> Option<Admitted> {
        let peer = self.is_limited(address).then(|| Peer::from(address));
        if peer.is_some_and(|peer| !self.begun.take(peer, now)) {
            return None;
        }
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.in_all >= self.in_all_max {
            warn_of("connections", "a connection was refused: limits.connections_max is reached");
            return None;
        }
        if let Some(peer) = peer {
            let count = open.of_address.get(&peer).copied().unwrap_or(0);
            if count >= self.per_address_max {
                let text = format!(
                    "a connection from {peer} was refused: limits.connections_per_address_max is reached"
                );
                warn_of("connections_per_address", &text);
                return None;
            }
            open.of_address.insert(peer, count + 1);
        }
        open.in_all += 1;
        Some(Admitted { connections: self.clone(), peer })
    }
}

impl Connections {
    /// Returns whether limits by address apply. A proxy's address stands for many peers, and a local program can do
    /// worse than connect.
    fn is_limited(&self, address: IpAddr) -> bool {
        !is_this_machine(address) && !self.proxies.contains(address)
    }
}

/// An open connection.
struct Admitted {
    connections: Arc<Connections>,
    peer: Option<Peer>,
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut open = self.connections.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.in_all -= 1;
        let Some(peer) = self.peer else { return };
        if let Some(count) = open.of_address.get_mut(&peer) {
            *count -= 1;
            if *count == 0 {
                open.of_address.remove(&peer);
            }
        }
    }
}

/// An acceptor that enforces the limits on connections.
#[derive(Clone)]
pub struct Guarded<A> {
    /// The inner acceptor.
    pub acceptor: A,
    /// The open connections and the limits on them.
    pub connections: Arc<Connections>,
    /// The certificate that is served, if clients need one, too.
    pub authority: Option<LiveCertificate>,
}

/// The service of one connection, which tracks the connection's activity.
#[derive(Clone)]
pub struct Watched<S> {
    service: S,
    activity: Arc<Activity>,
    address: IpAddr,
    certificate: Option<Arc<ClientCertificate>>,
    admitted: Arc<Admitted>,
}

impl<S, B> Service<Request<B>> for Watched<S>
where
    S: Service<Request<B>, Response = Response, Error = Infallible, Future: Send + 'static>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let under_way = self.activity.begin();
        request.extensions_mut().insert(ConnectInfo(self.address));
        if let Some(certificate) = &self.certificate {
            request.extensions_mut().insert(certificate.clone());
        }
        let answer = self.service.call(request);
        // A proxy's connection carries many peers, so it is not closed because one of them does not slow down.
        let listener = self.admitted.peer.map(|_| (self.activity.clone(), self.admitted.clone()));
        Box::pin(async move {
            let answer = answer.await?;
            if let Some((activity, admitted)) = listener {
                activity.answered(answer.status());
                if answer.status() == StatusCode::TOO_MANY_REQUESTS {
                    admitted.connections.tarpit.hold().await;
                }
            }
            Ok(answer.map(|body| under_way.until_taken(body)))
        })
    }
}

impl<A, S> Accept<TcpStream, S> for Guarded<A>
where
    A: Accept<TcpStream, S, Stream: Certified + Send, Service: Send> + Clone + Send + 'static,
    A::Future: Send,
    S: Send + 'static,
{
    type Stream = LimitedStream<A::Stream>;
    type Service = Watched<A::Service>;
    type Future = BoxFuture<'static, io::Result<(Self::Stream, Self::Service)>>;

    fn accept(&self, stream: TcpStream, service: S) -> Self::Future {
        let Self { acceptor, connections, authority } = self.clone();
        Box::pin(async move {
            let address = stream.peer_addr()?.ip();
            let admitted = connections.admit(address);
            let admitted = admitted.ok_or_else(|| io::Error::other("the limit on connections is reached"))?;
            let accepted = connections.handshakes.pass(acceptor.accept(stream, service)).await;
            let (stream, service) = accepted.inspect_err(|error| warn_of_certificate(address, error))?;
            let certificate =
                authority.map(|live| Arc::new(ClientCertificate::new(live, address, stream.certificates())));
            let activity = Activity::new();
            let stream = LimitedStream::new(stream, activity.clone(), connections.patience);
            let admitted = Arc::new(admitted);
            Ok((stream, Watched { service, activity, address, certificate, admitted }))
        })
    }
}

/// Logs a handshake that failed because of the client's certificate. The client gets only a TLS alert.
fn warn_of_certificate(address: IpAddr, error: &io::Error) {
    if let Some(reason) = of_certificate(error) {
        let text = format!("a client certificate from {address} was refused: {reason}");
        warn_of("client_certificates", &text);
    }
}

/// Returns the error of a handshake if the client's certificate, or a revocation list for it, caused it.
fn of_certificate(error: &io::Error) -> Option<&rustls::Error> {
    use rustls::Error::{InvalidCertRevocationList, InvalidCertificate};
    let reason = error.get_ref().and_then(|error| error.downcast_ref());
    reason.filter(|reason| matches!(reason, InvalidCertificate(_) | InvalidCertRevocationList(_)))
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, net::Ipv4Addr};

    use futures::FutureExt;

    use super::*;

    fn connections(in_all_max: usize, per_address_max: usize, proxies: &[&str]) -> Arc<Connections> {
        let proxies: Vec<String> = proxies.iter().map(|text| (*text).to_owned()).collect();
        let trusted_proxies = Arc::new(Proxies::parse(&proxies).unwrap());
        let limits = HttpLimits {
            connections_per_address_max: per_address_max,
            trusted_proxies,
            ..HttpLimits::default()
        };
        Connections::new(in_all_max, &limits)
    }

    #[test]
    fn one_address_cannot_take_all_connections() {
        let connections = connections(5, 3, &[]);
        let moment = Cell::new(0);
        // A second lies between two attempts, so that their rate refuses none of them.
        let admit = |last: u8| {
            moment.set(moment.get() + 1_000);
            connections.admit_at(IpAddr::from([192, 0, 2, last]), Timestamp(moment.get()))
        };
        let of_one: Vec<_> = (0..10).filter_map(|_| admit(1)).collect();
        assert_eq!(of_one.len(), 3);
        let mut of_others: Vec<_> = (2..10).filter_map(admit).collect();
        assert_eq!(of_others.len(), 2, "five in all");
        assert!(admit(20).is_none());
        of_others.pop();
        assert!(admit(20).is_some(), "the place of one that ended is free");
        drop((of_one, of_others));
        let open = connections.open.lock().unwrap();
        assert_eq!((open.in_all, open.of_address.len()), (0, 0));
    }

    /// Otherwise the log would not say that a revocation list keeps all clients out.
    #[test]
    fn a_handshake_that_fails_for_a_certificate_or_its_list_is_logged() {
        use rustls::{CertRevocationListError, CertificateError, Error};
        let is_logged = |error: Error| of_certificate(&io::Error::other(error)).is_some();
        assert!(is_logged(Error::InvalidCertificate(CertificateError::Revoked)));
        assert!(is_logged(Error::InvalidCertRevocationList(CertRevocationListError::BadSignature)));
        assert!(!is_logged(Error::HandshakeNotComplete));
        assert!(of_certificate(&io::ErrorKind::TimedOut.into()).is_none());
    }

    #[test]
    fn a_trusted_proxy_has_as_many_as_there_may_be() {
        let connections = connections(5, 3, &["10.0.0.0/8"]);
        let of_proxy: Vec<_> =
            (0..10).filter_map(|_| connections.admit(IpAddr::from([10, 0, 0, 1]))).collect();
        assert_eq!(of_proxy.len(), 5);
    }

    /// Otherwise one address could keep the processor busy with handshakes.
    #[test]
    fn an_address_that_connects_again_and_again_is_refused() {
        let connections = connections(10_000, 3, &[]);
        let count =
            |address: IpAddr| (0..1000).filter_map(|_| connections.admit_at(address, Timestamp(0))).count();
        assert_eq!(count(IpAddr::from([192, 0, 2, 1])), 3, "each ends at once, and it begins another");
        assert_eq!(
            count(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            1000,
            "a proxy on the same machine is not limited"
        );
    }

    /// Otherwise one client behind a proxy could close the connection of all.
    #[tokio::test]
    async fn a_proxys_connection_does_not_end_for_one_that_does_not_slow_down() {
        let connections = connections(10, 10, &["10.0.0.0/8"]);
        for (address, ends) in [([192, 0, 2, 1], true), ([10, 0, 0, 1], false), ([127, 0, 0, 1], false)] {
            let address = IpAddr::from(address);
            let mut watched = Watched {
                service: tower::service_fn(async |_: Request<()>| {
                    let mut answer = Response::new(Body::empty());
                    *answer.status_mut() = StatusCode::TOO_MANY_REQUESTS;
                    Ok::<_, Infallible>(answer)
                }),
                activity: Activity::new(),
                address,
                certificate: None,
                admitted: Arc::new(connections.admit(address).unwrap()),
            };
            for _ in 0..100 {
                let answer = watched.call(Request::new(())).now_or_never();
                assert_eq!(answer.is_none(), ends, "who does not slow down is slowed down");
            }
            assert_eq!(watched.activity.is_deaf(), ends, "{address}");
        }
    }
}
