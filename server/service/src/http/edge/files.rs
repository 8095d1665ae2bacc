use super::warn_of;

/// Files and sockets that a coordinator needs besides its connections.
const OTHER_FILES: usize = 256;

/// Raises the number of files that this process may have open to what the system allows, and returns how many connections
/// fit: without a free one the system accepts none, and the coordinator would not hear of it.
pub fn raise_open_files(connections_max: usize) -> usize {
    let Some(open_max) = raised() else { return connections_max };
    let fit = open_max.saturating_sub(OTHER_FILES).max(OTHER_FILES.min(open_max / 2));
    if fit < connections_max {
        let advice = format!(
            "this process may have {open_max} files open, so it takes {fit} connections and not {connections_max}, \
             limits.connections_max: raise the limit (`ulimit -n`, LimitNOFILE= of systemd), or lower the setting"
        );
        warn_of("open_files", &advice);
    }
    fit.min(connections_max)
}

#[cfg(unix)]
fn raised() -> Option<usize> {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    let now = match setrlimit(Resource::RLIMIT_NOFILE, hard, hard) {
        Ok(()) => hard,
        Err(_) => soft,
    };
    Some(usize::try_from(now).unwrap_or(usize::MAX))
}

#[cfg(not(unix))]
fn raised() -> Option<usize> {
    None
}
