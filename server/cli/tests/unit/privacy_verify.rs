//! Tests of the private parts of `src/privacy/verify.rs`.

use folkmoot_api::privacy::EntryView;
use folkmoot_privacy::ledger::{Event, Release};

use super::{super::tests::entries, *};

fn lines(entries: &[Entry]) -> Vec<String> {
    entries.iter().map(|entry| serde_json::to_string(&EntryView::of(entry)).expect("it is data")).collect()
}

fn check(lines: &[String], known: Option<Head>) -> Result<Verified, CliError> {
    let file = tempfile::NamedTempFile::new().expect("a folder for files that pass");
    std::fs::write(file.path(), lines.join("\n")).expect("it can be written");
    verify_file(file.path(), None, known)
}

fn head_of(entry: &Entry) -> Head {
    Head { entries: entry.sequence, digest: entry.digest }
}

#[test]
fn a_whole_export_is_verified() {
    let entries = entries(5);
    let verified = check(&lines(&entries), None).unwrap();
    assert_eq!((&verified.head, verified.population.as_str()), (&head_of(&entries[4]), "digits"));
    assert!(text(&verified).contains(&format!("head       5:{}", entries[4].digest)));
}

#[test]
fn a_changed_line_is_found() {
    let entries = entries(5);
    let whole = lines(&entries);
    let changes = [
        ("\"noise_multiplier\":1.3333333333333333", "\"noise_multiplier\":1.3333333333333335"),
        ("\"version\":2", "\"version\":1"),
        ("\"rate\":0.30000000000000004", "\"rate\":0.3"),
        ("\"zero_out\"", "\"replace_one\""),
    ];
    for (from, to) in changes {
        let mut changed = whole.clone();
        changed[2] = whole[2].replace(from, to);
        assert_ne!(changed[2], whole[2], "{from}");
        let error = check(&changed, None).err().unwrap().to_string();
        assert!(error.contains("line 3: entry 3 was changed"), "{error}");
    }
    let mut half = whole.clone();
    half[4].truncate(100);
    assert!(check(&half, None).err().unwrap().message.contains("line 5: not a ledger entry"));
    let without = [&whole[..1], &whole[2..]].concat();
    assert!(check(&without, None).err().unwrap().message.contains("line 2: entry 2 is missing"));
}

#[test]
fn what_was_cut_off_or_rewritten_is_found_by_a_known_head() {
    let whole = entries(5);
    for known in &whole {
        assert!(check(&lines(&whole), Some(head_of(known))).is_ok());
    }
    let known = Some(head_of(&whole[4]));
    // A shorter chain is intact. The first line warns that its end was not verified.
    let shorter = check(&lines(&whole[..4]), None).unwrap();
    assert!(shorter.warning.is_some() && text(&shorter).starts_with("WARNING: no head was given, "));
    let with_head = check(&lines(&whole), known.clone()).unwrap();
    assert!(with_head.warning.is_none() && !text(&with_head).contains("WARNING"));
    let error = check(&lines(&whole[..4]), known).err().unwrap().to_string();
    assert!(error.contains("the known head of 5 entries") && error.contains("removed"), "{error}");

    // An attacker rewrites the whole chain consistently, with changed entries.
    let mut rewritten: Vec<Entry> = Vec::new();
    for entry in &whole {
        let Event::Release(release) = entry.event else { panic!("all are releases") };
        let event = Event::Release(Release { version: release.version + 1, ..release });
        let last = rewritten.last().map(|last: &Entry| (last.sequence, last.digest));
        rewritten.push(Entry::following(last, entry.population.clone(), entry.at, event));
    }
    assert!(check(&lines(&rewritten), None).is_ok());
    assert!(check(&lines(&rewritten), Some(head_of(&whole[1]))).is_err());
}

#[test]
fn an_empty_export_needs_a_name() {
    assert!(check(&[], None).is_err());
    let file = tempfile::NamedTempFile::new().unwrap();
    let digits: PopulationName = "digits".parse().unwrap();
    let verified = verify_file(file.path(), Some(digits.clone()), None).unwrap();
    assert_eq!(verified.head.entries, 0);
    let known = head_of(&entries(1)[0]);
    assert!(verify_file(file.path(), Some(digits), Some(known)).is_err());
}

#[test]
fn a_head_can_be_given_as_text_or_as_a_file() {
    let entries = entries(3);
    let head = head_of(&entries[2]);
    let verified = check(&lines(&entries), None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("head.json");
    std::fs::write(&kept, format!("{}\n", output::json(&verified).unwrap())).unwrap();
    let export = folder.path().join("ledger.jsonl");
    std::fs::write(&export, lines(&entries).join("\n")).unwrap();
    for text in [head::shown(&head), kept.display().to_string(), export.display().to_string()] {
        assert_eq!(head::read(&text).unwrap(), head, "{text}");
    }
    for text in ["3", "3:abc", "nowhere.json", ""] {
        let error = head::read(text).unwrap_err();
        assert!(error.remedy.unwrap().contains("64 hexadecimal digits"), "{text}");
    }
}
