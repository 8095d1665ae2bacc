use folkmoot_protocol::Timestamp;
use proptest::prelude::*;

use super::*;

const HOUR: u64 = 3_600_000;
const NOW: Timestamp = Timestamp(0);

fn model(text: &str) -> DeviceModel {
    let model: DeviceModel = toml::from_str(text).unwrap();
    model.validate().unwrap();
    model
}

fn devices(text: &str, count: usize) -> Vec<Device> {
    let model = model(text);
    (0..count).map(|client| Device::of(&model, client, 42)).collect()
}

/// Returns whether the share of hits is within 5 standard deviations of `probability`. A correct implementation fails
/// once in two million runs.
fn is_share(hits: usize, trials: usize, probability: f64) -> bool {
    let deviation = (probability * (1.0 - probability) / trials as f64).sqrt();
    (hits as f64 / trials as f64 - probability).abs() < 5.0 * deviation + 1e-12
}

fn count_there(devices: &[Device], at: Timestamp) -> usize {
    devices.iter().filter(|device| device.is_available(at)).count()
}

#[test]
fn an_empty_table_is_a_model() {
    let devices = devices("", 10);
    assert!(devices.iter().all(|device| device.is_available(NOW) && !device.is_slow()));
    assert!(devices.iter().all(|device| device.available_until(NOW).is_none()));
    assert!(devices.iter().all(|device| (0..100).all(|seed| device.fate(seed) == Fate::Completes)));
}

#[test]
fn seconds_for_an_example_are_log_normal() {
    let text = "[compute]\nkind = 'log_normal'\nmedian_seconds_per_example = 0.5\nspread = 0.7\nround_spread = 0.0\n\
                overhead_seconds = 2.0";
    let seconds: Vec<f64> =
        devices(text, 10_000).iter().map(|device| device.training_seconds(NOW, 100, 1) - 2.0).collect();
    let below = |limit: f64| seconds.iter().filter(|seconds| **seconds < limit).count();
    // A share of Φ(0) = 0.5 of the devices is below the median, and a share of Φ(1) = 0.841345 is below one deviation
    // above it.
    assert!(is_share(below(50.0), 10_000, 0.5));
    assert!(is_share(below(50.0 * 0.7f64.exp()), 10_000, 0.841_345));
}

#[test]
fn rounds_jitter_around_a_devices_own_speed() {
    let text = "[compute]\nkind = 'log_normal'\nspread = 1.0\nround_spread = 0.2\noverhead_seconds = 0.0";
    let device = &devices(text, 4)[3];
    let logs: Vec<f64> = (0..10_000).map(|seed| device.training_seconds(NOW, 1000, seed).ln()).collect();
    let mean = logs.iter().sum::<f64>() / 1e4;
    let deviation = (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / 1e4).sqrt();
    // The standard deviation of 10 000 draws has a relative standard error of 0.71%. The tolerance is five standard
    // errors.
    assert!((deviation / 0.2 - 1.0).abs() < 0.036, "{deviation}");
    let twice = device.training_seconds(NOW, 2000, 7) / device.training_seconds(NOW, 1000, 7);
    assert!((twice - 2.0).abs() < 1e-12, "time is proportional to the examples");
}

#[test]
fn a_half_normal_has_its_mean_and_does_not_know_the_data() {
    let device = &devices("[compute]\nkind = 'half_normal'\nscale_seconds = 10.0", 1)[0];
    let mean = (0..10_000).map(|seed| device.training_seconds(NOW, 5, seed)).sum::<f64>() / 1e4;
    // The expected mean is √(2/π)·10 = 7.979, with a standard error of √(1 − 2/π)·10/100 = 0.060.
    assert!((mean - 7.979).abs() < 0.3, "{mean}");
    assert_eq!(device.training_seconds(NOW, 5, 1), device.training_seconds(NOW, 500, 1));
}

#[test]
fn an_absurd_spread_is_still_a_time() {
    let text = "[compute]\nkind = 'log_normal'\nspread = 10.0\nmedian_seconds_per_example = 1e300";
    assert!(devices(text, 100).iter().all(|device| device.training_seconds(NOW, u64::MAX, 1) <= SECONDS_MAX));
}

#[test]
fn slow_clients_are_a_share_and_a_list() {
    let devices = devices("[slow]\nshare = 0.1\nclients = [3, 5]\nfactor = 7.0", 10_000);
    assert!(devices[3].is_slow() && devices[5].is_slow());
    assert!(is_share(devices.iter().filter(|device| device.is_slow()).count(), 10_000, 0.1));
    let ratio = devices[3].training_seconds(NOW, 100, 1)
        / Device::of(&model(""), 3, 42).training_seconds(NOW, 100, 1);
    assert!((ratio - 7.0).abs() < 1e-12, "the rest of the device is the same: {ratio}");
}

#[test]
fn fates_have_their_probabilities_and_every_device_its_own() {
    let devices = devices("[dropout]\nvanish_probability = 0.06\nabort_probability = 0.2", 100);
    let fates: Vec<Fate> = devices.iter().flat_map(|device| (0..200).map(|seed| device.fate(seed))).collect();
    let count = |fate| fates.iter().filter(|found| **found == fate).count();
    assert!(is_share(count(Fate::Vanishes), 20_000, 0.06) && is_share(count(Fate::Aborts), 20_000, 0.2));
    assert_ne!(fates[..200], fates[200..400]);
    assert!((0..100).all(|seed| (0.0..=1.0).contains(&devices[0].done_share(seed))));
}

#[test]
fn transfers_take_latency_and_bytes() {
    let text = "[[network.classes]]\nname = 'a'\nshare = 1.0\ndownload_mbps = 8.0\nupload_mbps = 2.0\n\
                latency_milliseconds = 50.0";
    let device = &devices(text, 1)[0];
    assert!((device.transfer_seconds(NOW, 1_000_000, Direction::Down) - 1.05).abs() < 1e-12);
    assert!((device.transfer_seconds(NOW, 1_000_000, Direction::Up) - 4.05).abs() < 1e-12);
    assert!((device.transfer_seconds(NOW, 0, Direction::Up) - 0.05).abs() < 1e-12);
}

#[test]
fn network_classes_have_their_shares() {
    let devices = devices("", 10_000);
    for (class, share) in [0.7, 0.25, 0.05].into_iter().enumerate() {
        let count = devices.iter().filter(|device| device.network_class() == Some(class)).count();
        assert!(is_share(count, 10_000, share), "class {class}: {count}");
    }
}

#[test]
fn a_fraction_is_there_at_any_time() {
    let devices = devices("[availability]\nkind = 'fraction'\nshare = 0.3", 10_000);
    for hours in [0, 7, 1000] {
        assert!(is_share(count_there(&devices, Timestamp(hours * HOUR)), 10_000, 0.3), "hour {hours}");
    }
}

#[test]
fn a_sinusoid_peaks_at_its_hour() {
    let text = "[availability]\nkind = 'sinusoid'\nmean_share = 0.5\namplitude = 0.4\npeak_hour = 2.0\n\
                session_minutes = 10\ntime_zone_spread_hours = 0.0";
    let devices = devices(text, 10_000);
    // Within a stretch of ten minutes, the probability differs by at most 0.4·2π·5/1440 = 0.009 from the probability at
    // the middle of the stretch.
    for (hour, probability) in [(2, 0.9), (8, 0.5), (14, 0.1), (26, 0.9)] {
        let found = count_there(&devices, Timestamp(hour * HOUR)) as f64 / 1e4;
        assert!((found - probability).abs() < 0.034, "hour {hour}: {found}");
    }
}

#[test]
fn time_zones_flatten_the_day() {
    let text =
        "[availability]\nkind = 'sinusoid'\nmean_share = 0.5\namplitude = 0.5\ntime_zone_spread_hours = 24.0";
    let devices = devices(text, 10_000);
    assert!((0..24).step_by(6).all(|hour| is_share(
        count_there(&devices, Timestamp(hour * HOUR)),
        10_000,
        0.5
    )));
}

#[test]
fn windows_open_once_a_day_for_their_length() {
    let text = "[availability]\nkind = 'window'\nstart_hour = 23.0\nstart_spread_hours = 0.0\nday_spread_hours = 0.0\n\
                length_hours = 6.0\nlength_spread = 0.0\nskip_probability = 0.0\ntime_zone_spread_hours = 0.0";
    let device = &devices(text, 1)[0];
    let at = |hour: u64| Timestamp(hour * HOUR);
    assert!(device.is_available(at(1)), "yesterday's window is open");
    assert_eq!(device.available_until(at(1)), Some(at(5)));
    assert_eq!(device.next_available(at(5)), Some(at(23)));
    assert_eq!(device.next_available(at(24)), Some(at(24)));
    assert_eq!(device.available_until(at(24)), Some(at(29)));
}

#[test]
fn a_day_without_a_window_is_as_likely_as_stated() {
    let text = "[availability]\nkind = 'window'\nstart_hour = 12.0\nstart_spread_hours = 0.0\nday_spread_hours = 0.0\n\
                length_hours = 2.0\nlength_spread = 0.0\nskip_probability = 0.3\ntime_zone_spread_hours = 0.0";
    let devices = devices(text, 10_000);
    assert!(is_share(count_there(&devices, Timestamp(13 * HOUR)), 10_000, 0.7));
    assert_eq!(count_there(&devices, Timestamp(15 * HOUR)), 0);
}

#[test]
fn who_is_never_there_is_not_waited_for() {
    let device = &devices("[availability]\nkind = 'fraction'\nshare = 0.0", 1)[0];
    assert_eq!(device.next_available(NOW), None);
    let device = &devices("[availability]\nkind = 'fraction'\nshare = 1.0", 1)[0];
    assert_eq!(device.available_until(NOW), None);
}

const AVAILABILITIES: [&str; 5] = [
    "kind = 'always'",
    "kind = 'fraction'\nshare = 0.1",
    "kind = 'sinusoid'",
    "kind = 'window'",
    "kind = 'window'\nstart_spread_hours = 24.0\nday_spread_hours = 24.0\nlength_spread = 3.0",
];

proptest! {
    #[test]
    fn the_next_moment_is_the_first_at_which_the_answer_changes(
        which in 0..AVAILABILITIES.len(), client in 0usize..1000, at in 0u64..100 * 24 * HOUR, seed: u64,
    ) {
        let model = model(&format!("[availability]\n{}", AVAILABILITIES[which]));
        let device = Device::of(&model, client, seed);
        let next = device.next_available(Timestamp(at)).unwrap();
        prop_assert!(next.0 >= at && device.is_available(next));
        // Sample the gap between its two ends: the device must not be available anywhere in it.
        for step in 0..50 {
            let between = at + (next.0 - at) * step / 50;
            prop_assert_eq!(device.is_available(Timestamp(between)), between == next.0);
        }
        prop_assert!(next.0 == at || !device.is_available(Timestamp(next.0 - 1)));
        if let Some(end) = device.available_until(next) {
            prop_assert!(end > next && !device.is_available(end) && device.is_available(Timestamp(end.0 - 1)));
        }
    }

    #[test]
    fn the_last_moments_of_time_do_not_overflow(which in 0..AVAILABILITIES.len(), back in 0u64..1_000_000) {
        let model = model(&format!("[availability]\n{}", AVAILABILITIES[which]));
        let device = Device::of(&model, 1, 1);
        device.is_available(Timestamp(u64::MAX - back));
        device.is_available(Timestamp(i64::MAX as u64 - back));
    }
}

#[test]
fn what_is_out_of_range_is_named() {
    let model: DeviceModel = toml::from_str(
        "[dropout]\nvanish_probability = 0.7\nabort_probability = 0.6\n[slow]\nfactor = 0.5\n[network]\nclasses = []\n\
         [availability]\nkind = 'window'\nstart_hour = 25\n[compute]\nkind = 'log_normal'\nspread = -1",
    )
    .unwrap();
    let error = model.validate().unwrap_err();
    let fields: Vec<&str> = error.settings.iter().map(|setting| setting.field.as_str()).collect();
    assert_eq!(
        fields,
        [
            "device.compute.spread",
            "device.availability.start_hour",
            "device.dropout",
            "device.network.classes",
            "device.slow.factor"
        ]
    );
    assert!(toml::from_str::<DeviceModel>("[dropout]\nvanish = 1").is_err());
}

const TRACE: &str = "\
client, from_seconds, to_seconds, seconds_per_example, download_mbps, upload_mbps
7, 100, 200, 0.5, 8, 4
2, 0, 50, 0.1, 16, 8
7, 10, 20, 0.25, 8, 2
";

#[test]
fn a_trace_is_played_and_begins_anew() {
    let trace = Trace::read("t.csv", TRACE.as_bytes()).unwrap();
    assert_eq!(trace.device_count(), 2);
    let second = Device::traced(&model(""), &trace, 1, 9);
    let at = |seconds: u64| Timestamp(seconds * 1000);
    assert!(!second.is_available(at(0)) && second.is_available(at(10)) && !second.is_available(at(20)));
    assert_eq!(second.next_available(at(20)), Some(at(100)));
    assert_eq!(second.available_until(at(150)), Some(at(200)));
    // The trace lasts 200 seconds.
    assert_eq!(second.next_available(at(200)), Some(at(210)));
    assert_eq!(second.training_seconds(at(12), 8, 1), 2.0);
    assert_eq!(second.training_seconds(at(300), 8, 1), 4.0);
    assert_eq!(second.training_seconds(at(30), 8, 1), 2.0, "between sessions the last one counts");
    assert_eq!(second.transfer_seconds(at(12), 1_000_000, Direction::Up), 4.0);
    assert_eq!(Device::traced(&model(""), &trace, 2, 9).training_seconds(at(0), 10, 1), 1.0);
}

#[test]
fn a_device_that_is_always_there_in_a_trace_is_so_for_ever() {
    let header = TRACE.lines().next().unwrap();
    let trace = Trace::read("t.csv", format!("{header}\n1,0,60,1,1,1\n").as_bytes()).unwrap();
    assert_eq!(Device::traced(&model(""), &trace, 0, 1).available_until(NOW), None);
}

#[test]
fn a_wrong_row_is_named_by_its_line() {
    for (rows, message) in [
        ("1,5,5,1,1,1", "t.csv, line 2: to_seconds must be above from_seconds"),
        ("1,0,5,1,1,1\n1,0,5,x,1,1", "t.csv, line 3: "),
        ("1,0,5,1,1,1\n1,0", "t.csv, line 3: "),
        (
            "1,0,9,1,1,1\n2,0,9,1,1,1\n1,8,10,1,1,1",
            "t.csv, line 4: the time overlaps with that of the same client in line 2",
        ),
        ("1,0,5,0,1,1", "t.csv, line 2: seconds_per_example is 0; it must be a number above 0"),
        ("1,0,5,1,1,inf", "t.csv, line 2: upload_mbps is inf"),
        ("1,-1,5,1,1,1", "t.csv, line 2: from_seconds and to_seconds must be from 0 to"),
        ("", "t.csv has no rows below its header"),
    ] {
        let header = TRACE.lines().next().unwrap();
        let error = Trace::read("t.csv", format!("{header}\n{rows}").as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
    assert!(Trace::read("t.csv", &b"client,from\n1,2\n"[..]).is_err());
    assert!(Trace::read("t.csv", &b"\xff\xfe\xff,\n\xff"[..]).is_err());
}

proptest! {
    #[test]
    fn any_trace_is_played_without_a_gap_in_the_answers(
        lengths in proptest::collection::vec(1u64..50, 1..20), starts_at_once: bool, at in 0u64..5_000,
    ) {
        // The lengths alternate between available and not available, in seconds.
        let mut text = TRACE.lines().next().unwrap().to_owned();
        let (mut time, mut is_on) = (0, starts_at_once || lengths.len() == 1);
        for length in &lengths {
            if is_on {
                text += &format!("\n4,{time},{},1,1,1", time + length);
            }
            (time, is_on) = (time + length, !is_on);
        }
        let trace = Trace::read("t.csv", text.as_bytes()).unwrap();
        let device = Device::traced(&model(""), &trace, 0, 1);
        let at = Timestamp(at * 100);
        let next = device.next_available(at).unwrap();
        prop_assert!(next >= at && device.is_available(next));
        prop_assert!(next == at || !device.is_available(Timestamp(next.0 - 1)));
        match device.available_until(next) {
            Some(end) => {
                prop_assert!(!device.is_available(end) && device.is_available(Timestamp(end.0 - 1)));
                prop_assert!((next.0..end.0).step_by(100).all(|moment| device.is_available(Timestamp(moment))));
            }
            None => prop_assert!((0..100).all(|second| device.is_available(Timestamp(second * 1000)))),
        }
    }

    #[test]
    fn no_bytes_are_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), rows in "[0-9,.e\n-]{0,80}") {
        let _ = Trace::read("t.csv", bytes.as_slice());
        let header = TRACE.lines().next().unwrap();
        let _ = Trace::read("t.csv", format!("{header}\n{rows}").as_bytes());
    }
}
