use std::{
    fmt,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::{
    extract::{ConnectInfo, Request, State},
    http::{Extensions, HeaderMap, HeaderName, HeaderValue},
    middleware::Next,
    response::Response,
};
use tracing::Span;

use super::Proxies;

/// The header that carries the id, in requests of trusted proxies and in every response.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The longest id that is accepted from a proxy, in characters.
const CHARACTERS_MAX: usize = 128;

tokio::task_local! {
    static CURRENT: RequestId;
}

/// The id of a request: 1 to 128 ASCII letters, digits and `-._=:`, so that it cannot forge a log line. Operators find
/// the log lines of a request by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(Arc<str>);

impl RequestId {
    /// Returns the id of the request that the current task handles; `None` outside of a request.
    pub fn current() -> Option<Self> {
        CURRENT.try_with(Clone::clone).ok()
    }

    /// Reads a well-formed id from the headers of a request. Repeated headers are not well-formed.
    fn read(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(REQUEST_ID).iter();
        let text = values.next().filter(|_| values.next().is_none())?.to_str().ok()?;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._=:".contains(&byte);
        let is_right = (1..=CHARACTERS_MAX).contains(&text.len()) && text.bytes().all(is_plain);
        is_right.then(|| Self(text.into()))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Gives each request its id.
pub struct RequestIds {
    key: [u8; 32],
    proxies: Arc<Proxies>,
    created: AtomicU64,
}

impl RequestIds {
    /// Creates a source of ids. `key` must be random: two processes with the same key create the same ids. `proxies` may
    /// choose ids.
    pub fn new(key: [u8; 32], proxies: Arc<Proxies>) -> Self {
        Self { key, proxies, created: AtomicU64::new(0) }
    }

    /// Creates an id: 32 hexadecimal digits. The ids do not reveal how many requests the coordinator gets.
    fn create(&self) -> RequestId {
        let number = self.created.fetch_add(1, Ordering::Relaxed);
        let hash = blake3::keyed_hash(&self.key, &number.to_le_bytes()).to_hex();
        RequestId(hash[..32].into())
    }

    /// Returns the id that a trusted proxy sent, or a new one.
    fn of(&self, headers: &HeaderMap, extensions: &Extensions) -> RequestId {
        let address: Option<&ConnectInfo<IpAddr>> = extensions.get();
        let is_trusted = address.is_some_and(|ConnectInfo(address)| self.proxies.contains(*address));
        is_trusted.then(|| RequestId::read(headers)).flatten().unwrap_or_else(|| self.create())
    }
}

/// Gives a request its id, and returns the id with the response.
pub async fn identify(State(ids): State<Arc<RequestIds>>, mut request: Request, next: Next) -> Response {
    let id = ids.of(request.headers(), request.extensions());
    request.extensions_mut().insert(id.clone());
    let mut response = CURRENT.scope(id.clone(), next.run(request)).await;
    let header = HeaderValue::from_str(&id.0).expect("an id has only ASCII letters, digits and -._=:");
    response.headers_mut().insert(REQUEST_ID, header);
    response
}

/// Returns the span of a request that [`identify`] has passed on. Every log line inside the span has the id as its field
/// `request_id`, at every log level. At level `debug`, lines also have the method and the address.
pub fn request_span<B>(request: &axum::http::Request<B>) -> Span {
    let id = request.extensions().get::<RequestId>().map(tracing::field::display);
    let span = tracing::error_span!("http", request_id = id);
    let detailed = tracing::debug_span!(
        parent: &span,
        "request",
        method = %request.method(),
        uri = %request.uri(),
        version = ?request.version(),
    );
    if detailed.is_disabled() { span } else { detailed }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn headers(values: &[&str]) -> HeaderMap {
        values.iter().map(|value| (REQUEST_ID, HeaderValue::from_str(value).unwrap())).collect()
    }

    #[test]
    fn only_a_well_formed_id_is_read() {
        let long = "a".repeat(CHARACTERS_MAX);
        for right in ["a", "0199e3f0-7c1d", "Root=1-67891233:abc.d_e", &long] {
            assert_eq!(RequestId::read(&headers(&[right])).unwrap().to_string(), right);
        }
        for wrong in ["", "a b", "a\"b", "{a}", "a\tb", &format!("{long}a")] {
            assert_eq!(RequestId::read(&headers(&[wrong])), None, "{wrong}");
        }
        assert_eq!(RequestId::read(&headers(&["a", "b"])), None);
        assert_eq!(RequestId::read(&HeaderMap::new()), None);
    }

    #[test]
    fn only_a_trusted_proxy_chooses_the_id() {
        let proxies = Arc::new(Proxies::parse(&["10.0.0.0/8".into()]).unwrap());
        let ids = RequestIds::new([1; 32], proxies);
        let id_from = |address: &str, header: &str| {
            let mut extensions = Extensions::new();
            extensions.insert(ConnectInfo(address.parse::<IpAddr>().unwrap()));
            ids.of(&headers(&[header]), &extensions).to_string()
        };
        assert_eq!(id_from("10.0.0.7", "from-the-proxy"), "from-the-proxy");
        let created = [id_from("192.0.2.9", "from-anybody"), id_from("10.0.0.7", "not well-formed")];
        for id in &created {
            assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
        }
        assert_ne!(created[0], created[1]);
    }

    #[test]
    fn ids_do_not_repeat() {
        let ids = |key| RequestIds::new(key, Arc::default());
        let own = ids([1; 32]);
        let created: BTreeSet<String> = (0..1000).map(|_| own.create().to_string()).collect();
        assert_eq!(created.len(), 1000);
        assert_ne!(ids([2; 32]).create(), ids([1; 32]).create());
    }
}
