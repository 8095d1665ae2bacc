//! The floor of `bench ingest`: the CPU time that this machine needs only to move the bytes. A minimal server has one
//! thread per connection, blocking sockets, and no TLS, HTTP or checks. It sends the model from memory, writes the
//! update to a file, syncs the file and removes it.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
};

use serde::Serialize;

use crate::{Failure, folder::TemporaryFolder, process};

/// The size of a read in bytes, the same as in the coordinator.
const PIECE_BYTES: usize = 64 * 1024;
const START: u8 = 1;
const END: u8 = 0;

/// Settings of the process.
#[derive(clap::Args)]
pub struct Arguments {
    #[arg(long)]
    data: PathBuf,
    #[arg(long)]
    parameters: usize,
    #[arg(long)]
    clients: usize,
}

/// The lower bound on the cost of an update on this machine.
#[derive(Serialize)]
pub struct Floor {
    /// The number of float32 parameters of the model.
    pub parameters: usize,
    /// The number of connections at the same time.
    pub clients: usize,
    /// The server's CPU milliseconds for sending one model and receiving one update.
    pub cpu_ms_per_update: f64,
}

/// Measures the floor of an update with a server in a separate process.
pub fn measure(parameters: usize, clients: usize, rounds: u64) -> Result<Floor, Failure> {
    let folder = TemporaryFolder::new(&format!("floor-{parameters}-{clients}"))?;
    let mut server = Command::new(std::env::current_exe()?)
        .arg("floor")
        .arg("--data")
        .arg(folder.path())
        .args(["--parameters", &parameters.to_string(), "--clients", &clients.to_string()])
        .stdout(Stdio::piped())
        .spawn()?;
    let outcome = load(&mut server, parameters, clients, rounds);
    if outcome.is_err() {
        server.kill()?;
    }
    server.wait()?;
    outcome
}

fn load(server: &mut Child, parameters: usize, clients: usize, rounds: u64) -> Result<Floor, Failure> {
    let mut address = String::new();
    BufReader::new(server.stdout.take().ok_or("the server's stdout was not captured")?)
        .read_line(&mut address)?;
    let update: Arc<Vec<u8>> = Arc::new(vec![1; parameters * 4]);
    let connect = |_| -> Result<TcpStream, Failure> { Ok(TcpStream::connect(address.trim())?) };
    let mut connections = (0..clients).map(connect).collect::<Result<Vec<_>, _>>()?;
    exchange(&mut connections, &update, 1)?;
    let before = process::cpu_time(server.id())?;
    exchange(&mut connections, &update, rounds)?;
    let after = process::cpu_time(server.id())?;
    for connection in &mut connections {
        connection.write_all(&[END])?;
    }
    let cpu = after.user + after.system - before.user - before.system;
    let cpu_ms_per_update = cpu.as_secs_f64() * 1e3 / (rounds * clients as u64) as f64;
    Ok(Floor { parameters, clients, cpu_ms_per_update })
}

/// On all connections at the same time, fetches the model and sends an update.
fn exchange(connections: &mut [TcpStream], update: &Arc<Vec<u8>>, rounds: u64) -> Result<(), Failure> {
    thread::scope(|scope| {
        let take_part = |connection: &mut TcpStream| -> std::io::Result<()> {
            let mut model = vec![0; update.len()];
            for _ in 0..rounds {
                connection.write_all(&[START])?;
                connection.read_exact(&mut model)?;
                connection.write_all(update)?;
                connection.read_exact(&mut [0])?;
            }
            Ok(())
        };
        let threads: Vec<_> =
            connections.iter_mut().map(|connection| scope.spawn(move || take_part(connection))).collect();
        threads.into_iter().try_for_each(|thread| Ok(thread.join().map_err(|_| "a thread panicked")??))
    })
}

/// Serves until every connection has ended.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    let model: Arc<Vec<u8>> = Arc::new(vec![2; arguments.parameters * 4]);
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for number in 0..arguments.clients {
            let (connection, _) = listener.accept()?;
            let (model, log) = (model.clone(), arguments.data.join(number.to_string()));
            threads.push(scope.spawn(move || serve(connection, &model, &log)));
        }
        threads.into_iter().try_for_each(|thread| Ok(thread.join().map_err(|_| "a thread panicked")??))
    })
}

fn serve(mut connection: TcpStream, model: &[u8], log: &Path) -> std::io::Result<()> {
    let mut piece = vec![0; PIECE_BYTES];
    let mut command = [END];
    loop {
        connection.read_exact(&mut command)?;
        if command[0] == END {
            return Ok(());
        }
        connection.write_all(model)?;
        let mut file = File::create(log)?;
        let mut left = model.len();
        while left > 0 {
            let want = piece.len().min(left);
            let count = connection.read(&mut piece[..want])?;
            if count == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            file.write_all(&piece[..count])?;
            left -= count;
        }
        file.sync_data()?;
        fs::remove_file(log)?;
        connection.write_all(&[END])?;
    }
}
