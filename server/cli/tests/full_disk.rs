//! A coordinator whose disk fills up. The disk is a file system of 160 MiB in memory that only the coordinator's process sees.

use std::{fs, io::Write, path::Path, process::Command};

use crate::operator::{PROGRAM, Serving, undisturbed};

/// Returns a command that mounts a small disk at `data` and then becomes the program.
fn on_a_small_disk(folder: &Path, program: &str) -> Command {
    let mut command = Command::new("unshare");
    let script = r#"mount -t tmpfs -o size=160m,mode=0700 none data && exec "$0" "$@""#;
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, program]);
    undisturbed(command, folder)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_not_ready_until_there_is_room_again() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    if !on_a_small_disk(folder.path(), "true").status().is_ok_and(|status| status.success()) {
        eprintln!("LEFT OUT: a full disk (this system lets a process mount no file system of its own)");
        return;
    }
    let program = on_a_small_disk(folder.path(), PROGRAM);
    let serving = Serving::start_by(program, &["--tls", "off", "--data", "data"]);
    assert!(serving.ready().starts_with("HTTP/1.1 200"));

    // The disk as the coordinator sees it.
    let seen = Path::new("/proc").join(serving.process_id().to_string()).join("root");
    let data = seen.join(folder.path().join("data").strip_prefix("/").unwrap());
    let filler = data.join("filler");
    fs::write(&filler, vec![1; 110 << 20]).unwrap();
    let full = serving.ready();
    assert!(full.starts_with("HTTP/1.1 503") && full.contains("MiB left"), "{full}");

    // A disk without a free byte still answers.
    let mut file = fs::OpenOptions::new().append(true).open(&filler).unwrap();
    while file.write_all(&[1; 4096]).is_ok() {}
    let full = serving.ready();
    assert!(full.starts_with("HTTP/1.1 503") && full.contains(" 0 MiB left"), "{full}");

    // Requests that write are refused, with a time to try again, and `doctor` names the reason.
    let admin = serving.admin(folder.path(), serving.first_api_key(), None);
    let token = || async { admin.create_token("digits".parse().unwrap(), None, None).await };
    let refused = token().await.err().expect("the disk is full").to_string();
    assert!(refused.contains("the database cannot work now"), "{refused}");
    let address = serving.address();
    let arguments = ["doctor", "--data", "data", "--tls", "off", "--listen", address];
    let doctor = crate::operator::program(folder.path()).args(arguments).output().unwrap();
    let findings = String::from_utf8_lossy(&doctor.stdout);
    assert!(!doctor.status.success() && findings.contains(" 0 MiB left"), "{findings}");

    // A removed file keeps its blocks while it is open, and the child of another test has it open between fork and exec.
    file.set_len(0).unwrap();
    let free = serving.ready();
    assert!(free.starts_with("HTTP/1.1 200"), "{free}");
    token().await.unwrap();
    serving.stop();
}
