//! Tests of the private parts of `src/sql/base/migrations.rs`.

use super::*;

#[test]
fn every_file_is_listed_in_its_order() {
    for (folder, listed) in [("sqlite", SQLITE), ("postgres", POSTGRES)] {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(folder);
        let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let mut names: Vec<_> =
            files.map(|file| file.file_stem().unwrap().to_string_lossy().into_owned()).collect();
        names.sort();
        assert_eq!(listed.iter().map(|(name, _)| *name).collect::<Vec<_>>(), names);
    }
}
