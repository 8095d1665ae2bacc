use std::time::Duration;

use folkmoot_objects::{BlobStore, BlobStoreError, Objects};
use folkmoot_protocol::BlobDigest;
use folkmoot_settings::Config;
use tokio::time::timeout;

use crate::{
    data_folder::FolderState,
    database::Database,
    finding::{Finding, all_skipped},
};

const STORE: &str = "blobs";
const SAMPLE: &str = "blob_sample";
pub const CHECKS: [&str; 2] = [STORE, SAMPLE];

/// The number of blobs that are looked up.
const SAMPLE_BLOBS: u32 = 5;
/// The longest time to wait for the store.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// Opens the store of the configuration; `None` if no coordinator has created it yet. Creates nothing.
fn open(config: &Config) -> Result<Option<BlobStore>, String> {
    if let Some(url) = &config.storage.objects {
        let objects = Objects::open(url, std::env::vars_os()).map_err(|error| error.to_string())?;
        return Ok(Some(objects.blobs()));
    }
    let folder = config.server.data.join("blobs");
    folder.is_dir().then(|| BlobStore::local(folder)).transpose().map_err(|error| error.to_string())
}

/// Checks that the store answers, and that it has the newest blobs of the database. If `is_deep`, their bytes are
/// verified.
pub async fn check(
    config: &Config,
    folder: &FolderState,
    database: Option<&mut Database>,
    is_deep: bool,
) -> Vec<Finding> {
    let store = match open(config) {
        Ok(Some(store)) => store,
        Ok(None) => {
            let others = all_skipped(&CHECKS[1..], "There is no store.");
            return [missing(folder.is_known)].into_iter().chain(others).collect();
        }
        Err(error) => {
            let others = all_skipped(&CHECKS[1..], "The store cannot be opened.");
            return [unusable(config, &error)].into_iter().chain(others).collect();
        }
    };
    let answer = match timeout(ANSWER_MAX, store.check()).await {
        Ok(Ok(())) => Finding::ok(STORE, "The store of models and weights answers."),
        Ok(Err(error)) => unusable(config, &error.to_string()),
        Err(_) => unusable(config, &format!("it did not answer within {} s", ANSWER_MAX.as_secs())),
    };
    let sample = match database {
        Some(database) if database.has_tables => match database.reader.newest_blobs(SAMPLE_BLOBS).await {
            Ok(blobs) => sample(&lookups(&store, blobs, is_deep).await, is_deep),
            Err(error) => Finding::failed(
                SAMPLE,
                format!("The database cannot list its blobs: {error}."),
                "restore the database from a backup",
            ),
        },
        Some(_) => Finding::ok(SAMPLE, "The database is empty."),
        None => Finding::skipped(SAMPLE, "The database cannot be read."),
    };
    vec![answer, sample]
}

/// Judges a store that does not exist. `is_known` if a coordinator has used the data folder, and thus created the store.
fn missing(is_known: bool) -> Finding {
    match is_known {
        false => Finding::skipped(STORE, "There is no store yet; `folkmoot serve` creates it."),
        true => Finding::failed(
            STORE,
            "The data folder has no folder `blobs`, although a coordinator has used it.",
            "restore the folder from a backup: it holds all models and weights",
        ),
    }
}

fn unusable(config: &Config, reason: &str) -> Finding {
    let message = format!("The store of models and weights cannot be used: {reason}.");
    let remedy = match &config.storage.objects {
        Some(_) => {
            "check storage.objects and the credentials in the environment, for example AWS_ACCESS_KEY_ID"
        }
        None => "run this command as the coordinator's user, and check the folder `blobs`",
    };
    Finding::failed(STORE, message, remedy)
}

/// Looks up each blob. If `is_deep`, reads it and verifies its digest.
async fn lookups(
    store: &BlobStore,
    blobs: Vec<BlobDigest>,
    is_deep: bool,
) -> Vec<Result<(), BlobStoreError>> {
    let mut results = Vec::new();
    for blob in blobs {
        results.push(match is_deep {
            true => store.get(blob).await.map(|_| ()),
            false => store.size(blob).await.map(|_| ()),
        });
    }
    results
}

fn sample(results: &[Result<(), BlobStoreError>], is_deep: bool) -> Finding {
    let count = results.len();
    let errors: Vec<String> =
        results.iter().filter_map(|result| result.as_ref().err()).map(ToString::to_string).collect();
    if !errors.is_empty() {
        let message =
            format!("{} of the {count} newest blobs cannot be used: {}.", errors.len(), errors.join("; "));
        return Finding::failed(
            SAMPLE,
            message,
            "restore the blobs from a backup, without deleting newer ones",
        );
    }
    match (count, is_deep) {
        (0, _) => Finding::ok(SAMPLE, "The database names no blob yet."),
        (_, false) => {
            Finding::ok(SAMPLE, format!("The {count} newest blobs exist; --deep verifies their bytes."))
        }
        (_, true) => {
            Finding::ok(SAMPLE, format!("The {count} newest blobs exist, and their digests are right."))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Verdict;

    #[tokio::test]
    async fn a_missing_blob_is_found_and_a_damaged_one_if_its_bytes_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config::default();
        config.server.data = folder.path().to_owned();
        assert!(open(&config).unwrap().is_none());
        assert!(!folder.path().join("blobs").exists());
        assert_eq!(missing(false).verdict, Verdict::Skipped);
        assert_eq!(missing(true).verdict, Verdict::Failed);

        std::fs::create_dir(folder.path().join("blobs")).unwrap();
        let store = open(&config).unwrap().unwrap().with_cache_bytes_max(0);
        let digest = store.put("weights".into()).await.unwrap();
        for is_deep in [false, true] {
            let results = lookups(&store, vec![digest], is_deep).await;
            assert_eq!(sample(&results, is_deep).verdict, Verdict::Ok);
        }
        let digits = digest.to_string();
        let file = folder.path().join("blobs").join(&digits[..2]).join(&digits);
        std::fs::write(&file, "other weights").unwrap();
        assert_eq!(sample(&lookups(&store, vec![digest], false).await, false).verdict, Verdict::Ok);
        let damaged = sample(&lookups(&store, vec![digest], true).await, true);
        assert_eq!(damaged.verdict, Verdict::Failed);
        assert!(damaged.message.contains("damaged"), "{damaged:?}");
        std::fs::remove_file(&file).unwrap();
        let missing = sample(&lookups(&store, vec![digest], false).await, false);
        assert!(missing.message.contains(&format!("there is no blob {digest}")), "{missing:?}");
        assert_eq!(sample(&[], false).verdict, Verdict::Ok);
    }
}
