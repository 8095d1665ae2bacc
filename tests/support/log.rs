//! The lines that a child process has written, kept across restarts.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, BufReader},
    sync::watch,
};

/// The lines of one or more processes. Clones share the same lines.
#[derive(Clone)]
pub struct Log {
    lines: Arc<Mutex<Vec<String>>>,
    count: Arc<watch::Sender<usize>>,
}

impl Default for Log {
    fn default() -> Self {
        Self { lines: Arc::default(), count: Arc::new(watch::Sender::new(0)) }
    }
}

impl Log {
    /// Appends the lines of `stream` until it ends, in the background.
    pub fn follow(&self, stream: impl AsyncRead + Unpin + Send + 'static) {
        let log = self.clone();
        tokio::spawn(async move {
            let mut lines = BufReader::new(stream).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let count = {
                    let mut lines = log.lines.lock().unwrap_or_else(PoisonError::into_inner);
                    lines.push(line);
                    lines.len()
                };
                log.count.send_replace(count);
            }
        });
    }

    /// Returns the number of lines.
    pub fn len(&self) -> usize {
        *self.count.borrow()
    }

    /// Returns `true` if there are no lines.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the lines from index `line` on.
    pub fn since(&self, line: usize) -> Vec<String> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.get(line..).unwrap_or_default().to_vec()
    }

    /// Waits for the first line from index `line` on for which `pick` returns a value, and returns the value.
    pub async fn wait_for<T>(&self, mut line: usize, mut pick: impl FnMut(&str) -> Option<T>) -> T {
        let mut count = self.count.subscribe();
        loop {
            let fresh = self.since(line);
            line += fresh.len();
            if let Some(found) = fresh.iter().find_map(|text| pick(text)) {
                return found;
            }
            count.changed().await.expect("this log holds the sender");
        }
    }

    /// Asserts that no process panicked.
    ///
    /// # Panics
    /// If a process panicked. The message contains the end of the log.
    pub fn assert_no_panic(&self) {
        let lines = self.since(0);
        let panic = lines.iter().position(|line| line.contains("panicked"));
        assert!(panic.is_none(), "a process panicked:\n{}", lines[panic.unwrap_or(0)..].join("\n"));
    }
}

/// Returns the fields of a line of the coordinator's log, if the line's message is `message`.
pub fn fields_of(line: &str, message: &str) -> Option<Value> {
    let mut line: Value = serde_json::from_str(line).ok()?;
    let fields = line.get_mut("fields")?.take();
    (fields.get("message")? == message).then_some(fields)
}

/// Returns the phase that a round entered, if the line reports one.
pub fn phase_of(line: &str) -> Option<String> {
    Some(fields_of(line, "round advanced")?.get("to")?.as_str()?.to_owned())
}
