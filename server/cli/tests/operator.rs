//! Tests of a coordinator process and the operator's files: certificates, keys and the data folder.

use std::{
    fs,
    io::{BufRead, BufReader, Lines, Read, Write},
    net::TcpStream,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Output, Stdio},
};

use folkmoot_api::{AdminClient, tokens::CreateTokenRequest};
use folkmoot_protocol::Role;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_folkmoot");

/// Returns the program without environment variables that could configure it.
pub fn program(folder: &Path) -> Command {
    undisturbed(Command::new(PROGRAM), folder)
}

pub fn undisturbed(mut program: Command, folder: &Path) -> Command {
    program.current_dir(folder).env_remove("RUST_LOG");
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("FOLKMOOT_")) {
        program.env_remove(name);
    }
    program
}

/// Runs the program and waits for its end.
fn run(folder: &Path, arguments: &[&str]) -> Output {
    program(folder).args(arguments).output().expect("the binary was built for this test")
}

/// Runs the program with a umask of 0, so that new files are open to everybody unless the program restricts them.
fn run_openly(folder: &Path, arguments: &[&str]) -> Output {
    program_after("umask 0", folder).args(arguments).output().expect("a shell is there")
}

/// Returns the program as started by a shell, after another command.
pub fn program_after(command: &str, folder: &Path) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!(r#"{command} && exec "$0" "$@""#), PROGRAM]);
    undisturbed(shell, folder)
}

/// Runs `serve` with invalid arguments and returns its error. Fails if it serves.
pub fn refusal_to_serve(folder: &Path, arguments: &[&str]) -> String {
    let mut child = program(folder)
        .args(["serve", "--listen", "127.0.0.1:0"])
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built for this test");
    let said = BufReader::new(child.stdout.take().expect("it is piped")).lines().next();
    if said.is_some() {
        let _ = child.kill();
    }
    let output = child.wait_with_output().expect("it is ours");
    assert!(said.is_none(), "`serve {arguments:?}` serves");
    assert!(matches!(output.status.code(), Some(1 | 2)), "{output:?}");
    text(&output.stderr)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the program prints UTF-8")
}

/// A coordinator process. It is killed when this value is dropped.
pub struct Serving {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    url: String,
    first_api_key: Option<String>,
    first_api_key_file: Option<PathBuf>,
    ca: Option<PathBuf>,
}

impl Serving {
    /// Starts the process and waits until it prints its URL.
    pub fn start(folder: &Path, arguments: &[&str]) -> Self {
        Self::start_by(program(folder), arguments)
    }

    pub fn start_by(mut program: Command, arguments: &[&str]) -> Self {
        let mut child = program
            .args(["serve", "--listen", "127.0.0.1:0", "--json"])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary was built for this test");
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let mut serving = Self {
            child,
            lines,
            url: String::new(),
            first_api_key: None,
            first_api_key_file: None,
            ca: None,
        };
        let event = serving.event("serving");
        let text = |name: &str| event[name].as_str().map(str::to_owned);
        serving.url = text("url").expect("it says where");
        serving.first_api_key = text("first_api_key");
        serving.first_api_key_file = text("first_api_key_file").map(PathBuf::from);
        serving.ca = text("ca").map(PathBuf::from);
        serving
    }

    /// Waits for the next event and asserts its name.
    pub fn event(&mut self, name: &str) -> Value {
        let line = self.lines.next().expect("it has not ended").expect("it writes text");
        let event: Value = serde_json::from_str(&line).expect("it writes JSON");
        assert_eq!(event["event"], name, "{event}");
        event
    }

    /// Returns whether the coordinator created an API key, because its data folder was new.
    pub fn is_new(&self) -> bool {
        self.first_api_key.is_some()
    }

    /// Returns the address it listens at, as `127.0.0.1:PORT`.
    pub fn address(&self) -> &str {
        self.url.split_once("://").expect("it is a URL").1
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the API key that a new coordinator creates.
    pub fn first_api_key(&self) -> &str {
        self.first_api_key.as_deref().expect("the coordinator is new")
    }

    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Asks whether it is ready, and returns the whole answer. The coordinator must serve without TLS.
    pub fn ready(&self) -> String {
        let mut stream = TcpStream::connect(self.address()).expect("it listens");
        let request = b"GET /readyz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
        stream.write_all(request).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers in text");
        answer
    }

    pub fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).expect("the system's ids are small");
        kill(Pid::from_raw(id), signal).expect("the child runs");
    }

    /// Stops the process cleanly.
    pub fn stop(mut self) {
        self.signal(Signal::SIGTERM);
        self.event("stopping");
        self.event("stopped");
        assert!(self.child.wait().expect("it is ours").success());
    }

    /// Returns a client of the administrative API. Without `pem`, it trusts the coordinator's own authority.
    pub fn admin(&self, folder: &Path, key: &str, pem: Option<&[u8]>) -> AdminClient {
        let own = || self.ca.as_ref().map(|ca| fs::read(folder.join(ca)).expect("it was made"));
        AdminClient::new(&self.url, key, pem.map(<[u8]>::to_vec).or_else(own)).expect("the address is right")
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Creates an operator's certificate and returns it with its key.
pub fn operators_certificate() -> (String, String) {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).expect("it can be made");
    (made.cert.pem(), made.signing_key.serialize_pem())
}

fn write_certificate(folder: &Path, (certificate, key): &(String, String)) {
    // Write the key first, and each file by a rename, so that no reader sees a partial file.
    for (name, text) in [("own.key", key), ("own.pem", certificate)] {
        let new = folder.join(name).with_added_extension("new");
        fs::write(&new, text).expect("the test made it so");
        fs::rename(&new, folder.join(name)).expect("the test made it so");
    }
}

/// Lists the paths in a folder, including itself, that are accessible to anyone but the owner.
pub fn open_to_others(folder: &Path) -> Vec<(PathBuf, u32)> {
    let mode = |path: PathBuf| {
        let metadata = fs::symlink_metadata(&path).expect("it is there");
        let mode = metadata.permissions().mode() & 0o777;
        (mode & 0o077 != 0 && !metadata.is_symlink()).then_some((path, mode))
    };
    below(folder).into_iter().filter_map(mode).collect()
}

/// Lists a folder and everything in it.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    let mut seen = 0;
    while let Some(path) = found.get(seen) {
        if fs::symlink_metadata(path).expect("it is there").is_dir() {
            let entries = fs::read_dir(path).expect("it is ours");
            found.extend(entries.map(|entry| entry.expect("it is ours").path()).collect::<Vec<_>>());
        }
        seen += 1;
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hang_up_has_the_certificate_read_again_and_ends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let [old, new] = [operators_certificate(), operators_certificate()];
    write_certificate(folder.path(), &old);
    let arguments = ["--certificate", "own.pem", "--key", "own.key", "--data", "data"];
    let mut serving = Serving::start(folder.path(), &arguments);
    let key = serving.first_api_key.clone().unwrap();
    let ask = |serving: &Serving, pem: &str| serving.admin(folder.path(), &key, Some(pem.as_bytes()));
    assert_eq!(ask(&serving, &old.0).api_keys().await.unwrap().len(), 1);

    serving.signal(Signal::SIGHUP);
    assert_eq!(serving.event("certificate_read")["is_new"], false);
    write_certificate(folder.path(), &new);
    serving.signal(Signal::SIGHUP);
    assert_eq!(serving.event("certificate_read")["is_new"], true);
    assert_eq!(ask(&serving, &new.0).api_keys().await.unwrap().len(), 1);
    assert!(ask(&serving, &old.0).api_keys().await.is_err(), "the old certificate is served no more");

    fs::write(folder.path().join("own.pem"), "no certificate").unwrap();
    serving.signal(Signal::SIGHUP);
    let refused = serving.event("certificate_refused");
    assert!(refused["reason"].as_str().unwrap().contains("own.pem"), "{refused}");
    assert_eq!(ask(&serving, &new.0).api_keys().await.unwrap().len(), 1, "the one of before is served on");
    serving.stop();
}

#[test]
fn a_hang_up_without_a_certificate_ends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut serving = Serving::start(folder.path(), &["--tls", "off", "--data", "data"]);
    serving.signal(Signal::SIGHUP);
    assert_eq!(serving.event("certificate_read")["is_new"], false);
    serving.stop();
}

#[test]
fn a_part_of_a_certificate_is_refused_and_never_overwritten() {
    let (certificate, key) = operators_certificate();
    for there in [vec!["server.pem", "server.key"], vec!["server.key"], vec!["ca.pem"]] {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        fs::create_dir(&data).unwrap();
        let content = |name: &str| if name == "server.key" { &key } else { &certificate };
        for name in &there {
            fs::write(data.join(name), content(name)).unwrap();
        }
        let complaint = refusal_to_serve(folder.path(), &["--data", "data"]);
        assert!(complaint.contains("server.certificate and server.key"), "{complaint}");
        for name in &there {
            assert_eq!(&fs::read_to_string(data.join(name)).unwrap(), content(name), "{name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_key_is_recovered_while_the_coordinator_is_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let serving = Serving::start(folder.path(), &["--data", "data"]);
    let first = serving.first_api_key.clone().unwrap();
    let file = folder.path().join(serving.first_api_key_file.clone().unwrap());
    assert_eq!(fs::read_to_string(&file).unwrap().trim(), first);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let refused = run(folder.path(), &["key", "recover", "--data", "data"]);
    assert!(
        !refused.status.success()
            && text(&refused.stderr).contains("a coordinator is running on the data folder")
    );
    serving.stop();

    let missing = run(folder.path(), &["key", "recover", "--data", "elsewhere"]);
    assert!(text(&missing.stderr).contains("is not the data folder of a coordinator"), "{missing:?}");
    assert!(!folder.path().join("elsewhere").exists());
    // All files that it creates, including the lock, are accessible to the owner only, even with an open umask.
    fs::remove_file(folder.path().join("data/lock")).unwrap();
    let recovered = run_openly(folder.path(), &["key", "recover", "--data", "data"]);
    assert!(recovered.status.success(), "{recovered:?}");
    assert_eq!(open_to_others(&folder.path().join("data")), []);
    let key = text(&recovered.stdout).trim().to_owned();

    let serving = Serving::start(folder.path(), &["--data", "data"]);
    assert_eq!(serving.first_api_key, None, "only a coordinator without any key makes one");
    let keys = serving.admin(folder.path(), &key, None).api_keys().await.unwrap();
    let roles: Vec<(&str, Role)> = keys.iter().map(|key| (key.name.as_str(), key.role)).collect();
    assert_eq!(roles, [("first key", Role::Admin), ("recovered", Role::Admin)]);
    assert!(serving.admin(folder.path(), &first, None).api_keys().await.is_ok(), "the others stay");
    serving.stop();
}

/// A stolen disk contains no token and, once the file of the first key is moved away, no API key.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_is_in_no_file_but_that_of_the_first_key() {
    let folder = tempfile::tempdir().unwrap();
    let serving = Serving::start(folder.path(), &["--data", "data"]);
    let key = serving.first_api_key.clone().unwrap();
    let admin = serving.admin(folder.path(), &key, None);
    let token =
        admin.create_token_from(&CreateTokenRequest::of("digits".parse().unwrap())).await.unwrap().token;
    let first_key_file = folder.path().join(serving.first_api_key_file.clone().unwrap());
    serving.stop();
    let files = below(&folder.path().join("data"));
    for credential in [&key, &token] {
        let (id, secret) = credential.split_once('.').unwrap();
        let having = |text: &str| -> Vec<&PathBuf> {
            let has = |path: &&PathBuf| fs::read(path).is_ok_and(|bytes| contains(&bytes, text.as_bytes()));
            files.iter().filter(has).collect()
        };
        let of_secret = having(secret);
        assert!(of_secret.iter().all(|path| **path == first_key_file), "{of_secret:?}");
        assert!(having(id).iter().any(|path| **path != first_key_file), "what is stored can be found");
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Otherwise the system would accept no connection once the limit of open files is reached, and the coordinator would
/// not notice.
#[cfg(target_os = "linux")]
#[test]
fn a_coordinator_may_have_as_many_files_open_as_the_system_allows() {
    let folder = tempfile::tempdir().unwrap();
    let serving = Serving::start_by(program_after("ulimit -Sn 300", folder.path()), &["--data", "data"]);
    let limits = fs::read_to_string(format!("/proc/{}/limits", serving.child.id())).unwrap();
    let files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let files: Vec<&str> = files.split_whitespace().skip(3).take(2).collect();
    assert_eq!(files[0], files[1], "the soft limit is the hard one: {limits}");
    assert_ne!(files[0], "300", "the machine allows no more than the test begins with");
    serving.stop();
}

#[test]
fn a_data_folder_is_its_owners_only_and_one_of_before_is_mended() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    Serving::start(folder.path(), &["--data", "data"]).stop();
    assert_eq!(open_to_others(&data), []);
    assert!(data.join("folkmoot.db").is_file() && data.join("blobs").is_dir());
    // Restore the permissions of an older coordinator, and add a symbolic link of the operator.
    let certificate = folder.path().join("certificate.pem");
    fs::write(&certificate, "elsewhere").unwrap();
    std::os::unix::fs::symlink(&certificate, data.join("link.pem")).unwrap();
    for (path, mode) in
        [(data.clone(), 0o755), (data.join("folkmoot.db"), 0o644), (certificate.clone(), 0o644)]
    {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    Serving::start(folder.path(), &["--data", "data"]).stop();
    assert_eq!(open_to_others(&data), []);
    let mode = fs::metadata(&certificate).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o644, "what a link leads to is not the coordinator's");
}
