use super::warn_of;

/// The number of files and sockets that a coordinator needs besides its connections.
const OTHER_FILES: usize = 256;

/// Raises the process's limit of open files as far as the system allows. Returns the number of connections that fit
/// within it, at most `connections_max`. Without a free file descriptor, the system would accept no connection, and the
/// coordinator would not notice.
pub fn raise_open_files(connections_max: usize) -> usize {
    let Some(open_max) = raised() else { return connections_max };
    let fit = open_max.saturating_sub(OTHER_FILES).max(OTHER_FILES.min(open_max / 2));
    if fit < connections_max {
        let advice = format!(
            "the system allows this process {open_max} open files, so it accepts {fit} connections and not the {connections_max} \
             of limits.connections_max: raise the limit (`ulimit -n`, LimitNOFILE= of systemd), or lower the setting"
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
