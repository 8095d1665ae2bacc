use std::{
    env, fs, io,
    os::unix::{
        fs::{DirBuilderExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio, id as process_id},
    sync::atomic::{AtomicU32, Ordering},
    thread::sleep,
    time::Duration,
};

/// The superuser of the cluster.
const USER: &str = "folkmoot";
/// The maximum number of readiness checks. There is one check every 50 milliseconds, so the limit is two minutes,
/// enough for a busy machine.
const ASKED_MAX: u32 = 2400;

/// Runs the server until the test ends, and starts it again if the test stops it. The shell's standard input closes when
/// the test's process ends, so that no server remains. `$0` is the server's program, `$1` the cluster's folder.
const SUPERVISE: &str = r#"
set -- "$0" -D "$1/data" -k "$1" -c listen_addresses= -c fsync=off -c full_page_writes=off -c max_connections=200
while :; do "$@"; sleep 0.1; done & cat > /dev/null; kill "$!"
read -r server < "$3/postmaster.pid" && kill -INT "$server"
while kill -0 "$server"; do sleep 0.1; done
rm -rf "$5"
"#;

/// A PostgreSQL cluster in a temporary folder, reached through a Unix socket. It stops when this value is dropped or
/// the process ends.
#[derive(Debug)]
pub struct TestPostgres {
    programs: PathBuf,
    folder: PathBuf,
    supervisor: Child,
    databases: AtomicU32,
}

impl TestPostgres {
    /// Returns the folder of the cluster's data.
    pub fn data_folder(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Starts a cluster. If PostgreSQL is not installed, prints a message and returns `None`.
    ///
    /// # Panics
    /// Panics if the environment variable `CI` is set and PostgreSQL is not installed, or if PostgreSQL does not start.
    pub fn start() -> Option<TestPostgres> {
        let Some(programs) = find_programs() else {
            let message =
                "SKIPPED: PostgreSQL is not installed (no initdb in /usr/lib/postgresql/*/bin or PATH)";
            assert!(env::var_os("CI").is_none(), "{message}");
            eprintln!("{message}");
            return None;
        };
        Some(Self::start_with(programs).unwrap_or_else(|error| panic!("PostgreSQL does not start: {error}")))
    }

    /// Creates an empty database and returns its URL.
    ///
    /// # Panics
    /// Panics if the server returns an error.
    pub fn database(&self) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let mut command = Command::new(self.programs.join("createdb"));
        command.arg("-h").arg(&self.folder).args(["-U", USER, "--maintenance-db=postgres", &name]);
        run(&mut command).unwrap_or_else(|error| panic!("no database: {error}"));
        format!("postgres:///{name}?host={}&user={USER}", self.folder.display())
    }

    fn start_with(programs: PathBuf) -> io::Result<TestPostgres> {
        let owner = unprivileged_user()?;
        let folder = make_folder(owner)?;
        let as_owner = |program: &Path| {
            let mut command = Command::new(program);
            command.current_dir(&folder);
            if let Some((uid, gid)) = owner {
                command.uid(uid).gid(gid);
            }
            command
        };
        let mut initdb = as_owner(&programs.join("initdb"));
        initdb.arg("-D").arg(folder.join("data")).args(["-U", USER, "-A", "trust", "-E", "UTF8"]);
        run(initdb.args(["--no-locale", "--no-sync"]))?;
        let log = fs::File::create(folder.join("log"))?;
        let mut supervisor = as_owner(Path::new("/bin/sh"));
        supervisor.arg("-c").arg(SUPERVISE).arg(programs.join("postgres")).arg(&folder);
        // Use a separate process group, so that an interrupt in the terminal reaches only the test. The supervisor
        // notices when the test ends.
        supervisor.process_group(0).stdin(Stdio::piped()).stdout(log.try_clone()?).stderr(log);
        let supervisor = supervisor.spawn()?;
        let cluster = TestPostgres { programs, folder, supervisor, databases: AtomicU32::new(0) };
        cluster.wait_until_ready()?;
        Ok(cluster)
    }

    fn wait_until_ready(&self) -> io::Result<()> {
        for _ in 0..ASKED_MAX {
            let mut command = Command::new(self.programs.join("pg_isready"));
            command.arg("-q").arg("-h").arg(&self.folder);
            if command.status()?.success() {
                return Ok(());
            }
            sleep(Duration::from_millis(50));
        }
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        Err(io::Error::other(format!("PostgreSQL is not ready after {ASKED_MAX} checks: {log}")))
    }
}

impl Drop for TestPostgres {
    fn drop(&mut self) {
        drop(self.supervisor.stdin.take());
        let _ = self.supervisor.wait();
    }
}

/// Finds the folder with PostgreSQL's programs, preferring the newest version.
fn find_programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    folders.sort();
    let installed = folders.into_iter().rev().map(|(_, folder)| folder);
    let path = env::var_os("PATH").unwrap_or_default();
    let mut all = installed.chain(env::split_paths(&path));
    all.find(|folder| {
        ["initdb", "postgres", "createdb", "pg_isready"].iter().all(|name| folder.join(name).is_file())
    })
}

/// Returns the user who runs the server if this process is root, because PostgreSQL refuses to run as root: `postgres`
/// or `nobody`.
fn unprivileged_user() -> io::Result<Option<(u32, u32)>> {
    if number_of(&["-u"])? != 0 {
        return Ok(None);
    }
    let ids = |name| Ok::<_, io::Error>((number_of(&["-u", name])?, number_of(&["-g", name])?));
    ids("postgres").or_else(|_| ids("nobody")).map(Some)
}

fn number_of(arguments: &[&str]) -> io::Result<u32> {
    let text = run(Command::new("id").args(arguments))?;
    text.trim().parse().map_err(io::Error::other)
}

/// Creates a folder with a short name, because a socket's path has at most 107 bytes.
fn make_folder(owner: Option<(u32, u32)>) -> io::Result<PathBuf> {
    static FOLDERS: AtomicU32 = AtomicU32::new(0);
    let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
    let folder = env::temp_dir().join(format!("folkmoot-postgres-{}-{number}", process_id()));
    fs::DirBuilder::new().mode(0o700).create(&folder)?;
    if let Some((uid, gid)) = owner {
        chown(&folder, Some(uid), Some(gid))?;
    }
    Ok(folder)
}

/// Runs a program to completion and returns its output.
fn run(command: &mut Command) -> io::Result<String> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{} failed: {message}", command.get_program().display())))
}
