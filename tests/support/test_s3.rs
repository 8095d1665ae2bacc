//! An S3 server in this process, over a folder. `s3s-fs` speaks the real protocol, checks signatures, and needs no
//! installation.

use std::{
    ffi::OsString,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use hyper::{Response, StatusCode, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use s3s::{
    Body,
    auth::SimpleAuth,
    service::{S3Service, S3ServiceBuilder},
};
use s3s_fs::FileSystem;
use tempfile::TempDir;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
};

const BUCKET: &str = "folkmoot";
const ACCESS_KEY: &str = "test";
const SECRET_KEY: &str = "a secret of the tests";

/// A running server with one bucket. It closes with the test's runtime.
pub struct TestS3 {
    address: SocketAddr,
    trouble: Arc<Trouble>,
    _folder: TempDir,
}

/// The troubles of a server.
#[derive(Default)]
struct Trouble {
    is_failing: AtomicBool,
    /// The number of requests that were answered with an error on purpose.
    failed: watch::Sender<u64>,
    /// The delay of each answer, in milliseconds.
    delay: AtomicU64,
}

impl TestS3 {
    /// Starts a server on a free port.
    ///
    /// # Panics
    /// If no port or folder is free.
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        std::fs::create_dir(folder.path().join(BUCKET)).expect("a bucket is a folder");
        let files = FileSystem::new(folder.path()).expect("the folder is there");
        let mut builder = S3ServiceBuilder::new(files);
        builder.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY));
        let service = builder.build();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let trouble = Arc::new(Trouble::default());
        let shared = trouble.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, service.clone(), shared.clone()));
            }
        });
        Self { address, trouble, _folder: folder }
    }

    /// Returns the URL of a prefix in the bucket.
    pub fn url(&self) -> String {
        format!("s3://{BUCKET}/coordinators")
    }

    /// Returns the environment variables that a process needs to reach the server.
    pub fn variables(&self) -> Vec<(String, String)> {
        let endpoint = format!("http://{}", self.address);
        let variables = [
            ("AWS_ENDPOINT_URL", endpoint.as_str()),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY),
            ("AWS_SECRET_ACCESS_KEY", SECRET_KEY),
        ];
        variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
    }

    /// Returns the same variables as the operating system gives them.
    pub fn os_variables(&self) -> Vec<(OsString, OsString)> {
        self.variables().into_iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    /// Makes the server answer every request with an error, or ends that.
    pub fn fail(&self, is_failing: bool) {
        self.trouble.is_failing.store(is_failing, Ordering::Release);
    }

    /// Answers requests with an error until it has refused `count` of them.
    pub async fn refuse(&self, count: u64) {
        let mut failed = self.trouble.failed.subscribe();
        let enough = *failed.borrow() + count;
        self.fail(true);
        failed.wait_for(|failed| *failed >= enough).await.expect("the server is there");
        self.fail(false);
    }

    /// Makes the server wait before each answer.
    pub fn delay(&self, delay: Duration) {
        self.trouble.delay.store(delay.as_millis() as u64, Ordering::Release);
    }
}

async fn answer(stream: TcpStream, service: S3Service, trouble: Arc<Trouble>) {
    let handler = service_fn(move |request| {
        let (service, trouble) = (service.clone(), trouble.clone());
        async move {
            let delay = trouble.delay.load(Ordering::Acquire);
            if delay > 0 {
                tokio::time::sleep(Duration::from_millis(delay)).await;
            }
            if trouble.is_failing.load(Ordering::Acquire) {
                trouble.failed.send_modify(|failed| *failed += 1);
                let mut response = Response::new(Body::empty());
                *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                return Ok(response);
            }
            hyper::service::Service::call(&service, request).await
        }
    });
    let connections = auto::Builder::new(TokioExecutor::new());
    // The client closes the connection when it likes.
    let _ = connections.serve_connection(TokioIo::new(stream), handler).await;
}
