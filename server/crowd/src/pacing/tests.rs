//! Tests pacing in a small simulated world with virtual time.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;
/// The time that a client trains.
const TRAINING: u64 = MINUTE;

/// The next event of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    CheckIn,
    /// The client returns from training and gets its next check-in time. It is not drawn again immediately.
    Trained,
}

/// Clients that check in, and a task that needs a cohort of them every minute.
struct World {
    pace: Pace,
    /// If false, every client gets the shortest window.
    is_paced: bool,
    limits: RetryLimits,
    cohort: u64,
    rng: ChaCha8Rng,
    now: u64,
    queue: BinaryHeap<Reverse<(u64, u32, Next)>>,
    population: u32,
    /// Returns the time when a client's device is on: `now` if it is on, otherwise later. `u64::MAX` means never.
    back_at: fn(client: u32, now: u64) -> u64,
    /// The time when the current cohort began to fill, and its clients.
    begun_at: u64,
    gathered: u64,
    /// For each cohort, the time when it began to fill, and the time that it took to fill, in milliseconds.
    fills: Vec<(u64, u64)>,
    check_ins: VecDeque<u64>,
}

impl World {
    fn new(population: u32, cohort: u64, start: u64) -> Self {
        let mut world = Self {
            pace: Pace::new(),
            is_paced: true,
            limits: RetryLimits::default(),
            cohort,
            rng: ChaCha8Rng::seed_from_u64(1),
            now: start,
            queue: BinaryHeap::new(),
            population: 0,
            back_at: |_, now| now,
            begun_at: start,
            gathered: 0,
            fills: Vec::new(),
            check_ins: VecDeque::new(),
        };
        world.enrol(population, MINUTE);
        world
    }

    /// Adds `count` clients. Their first check-ins are spread at random over the next `milliseconds`.
    fn enrol(&mut self, count: u32, milliseconds: u64) {
        for client in self.population..self.population + count {
            let at = self.now + self.rng.random_range(0..milliseconds);
            self.queue.push(Reverse((at, client, Next::CheckIn)));
        }
        self.population += count;
    }

    fn demand(&self) -> f64 {
        self.cohort as f64 / 60.0
    }

    fn run_until(&mut self, end: u64) {
        while let Some(Reverse((at, client, next))) = self.queue.peek().copied().filter(|next| next.0.0 < end)
        {
            self.queue.pop();
            self.now = self.now.max(at);
            let back_at = (self.back_at)(client, at);
            if back_at == u64::MAX {
                continue;
            }
            if back_at > at {
                self.queue.push(Reverse((back_at, client, next)));
                continue;
            }
            match next {
                Next::CheckIn => self.check_in(client),
                Next::Trained => self.tell(client),
            }
        }
        self.now = end;
    }

    fn check_in(&mut self, client: u32) {
        self.check_ins.push_back(self.now);
        self.pace.observe(Timestamp(self.now));
        if self.now < self.begun_at {
            return self.tell(client);
        }
        self.gathered += 1;
        self.queue.push(Reverse((self.now + TRAINING, client, Next::Trained)));
        if self.gathered == self.cohort {
            self.fills.push((self.begun_at, self.now - self.begun_at));
            self.gathered = 0;
            // Cohorts start every minute; after a late one, the next starts immediately.
            self.begun_at = self.now.max(self.begun_at + MINUTE);
        }
    }

    fn tell(&mut self, client: u32) {
        let window = match self.is_paced {
            true => self.pace.hand_out(self.demand(), self.limits, Timestamp(self.now)),
            false => self.limits.shortest,
        };
        let wait = self.rng.random_range(window.milliseconds_min..=window.milliseconds_max);
        self.queue.push(Reverse((self.now + wait, client, Next::CheckIn)));
    }

    /// Returns the longest time, in seconds, that a cohort started between these moments took to fill.
    fn slowest_fill(&self, from: u64, to: u64) -> f64 {
        let within = self.fills.iter().filter(|(begun_at, _)| (from..to).contains(begun_at));
        let (count, slowest) =
            within.fold((0, 0), |(count, slowest), (_, fill)| (count + 1, slowest.max(*fill)));
        assert!(count as u64 >= (to - from) / MINUTE / 3, "only {count} cohorts");
        slowest as f64 / 1000.0
    }

    fn check_ins_within(&self, from: u64, to: u64) -> f64 {
        self.check_ins.iter().filter(|at| (from..to).contains(*at)).count() as f64
    }
}

#[test]
fn ten_thousand_clients_fill_cohorts_of_a_hundred_a_minute() {
    let mut world = World::new(10_000, 100, 0);
    world.run_until(6 * HOUR);
    let slowest = world.slowest_fill(HOUR, 6 * HOUR);
    assert!(slowest <= 60.0, "every cohort fills within its minute: {slowest}");
    let per_client_hour = world.check_ins_within(HOUR, 6 * HOUR) / 5.0 / 10_000.0;
    assert!(per_client_hour < 2.0, "check-ins per client-hour: {per_client_hour}");
    let busiest = (HOUR..6 * HOUR).step_by(10_000).map(|at| world.check_ins_within(at, at + 10_000));
    let busiest = busiest.fold(0.0, f64::max);
    assert!(busiest < 100.0, "no ten seconds have a flood: {busiest}");

    let mut fixed = World::new(10_000, 100, 0);
    fixed.is_paced = false;
    fixed.run_until(3 * MINUTE);
    let fixed = fixed.check_ins_within(MINUTE, 3 * MINUTE) * 30.0 / 10_000.0;
    assert!(fixed > 5.0 * per_client_hour, "{fixed} against {per_client_hour}");
}

#[test]
fn the_idle_are_estimated_by_littles_law() {
    let mut world = World::new(3_000, 60, 0);
    world.run_until(3 * HOUR);
    // About sixty clients train and some are in the next cohort; all others are idle.
    let away = world.queue.iter().filter(|next| next.0.2 == Next::CheckIn).count() as f64;
    let idle = world.pace.idle(Timestamp(world.now));
    assert!((idle / away - 1.0).abs() < 0.1, "{idle} of {away}");
    // In a steady state, the idle clients equal the rate times the mean time away. Windows bring clients back
    // after 2,300 s.
    let window = world.pace.retry_window(world.demand(), world.limits, Timestamp(world.now));
    let middle = (window.milliseconds_min + window.milliseconds_max) as f64 / 2000.0;
    let by_rate = world.pace.rate_per_second() * middle;
    assert!((by_rate / away - 1.0).abs() < 0.2, "{by_rate} of {away}");
}

#[test]
fn a_population_that_halves_overnight_recovers() {
    let mut world = World::new(2_000, 100, 12 * HOUR);
    // From hour 22 to hour 30 half of the devices are off. Afterwards they come back within ten minutes.
    world.back_at = |client, now| match now / HOUR {
        22..30 if client % 2 == 0 => 30 * HOUR + u64::from(client) % 600 * 1000,
        _ => now,
    };
    world.run_until(36 * HOUR);
    assert!(world.slowest_fill(13 * HOUR, 22 * HOUR) <= 60.0);
    assert!(world.slowest_fill(22 * HOUR, 22 * HOUR + 10 * MINUTE) > 60.0, "the test needs a slow cohort");
    let night = world.slowest_fill(22 * HOUR + 20 * MINUTE, 30 * HOUR);
    assert!(night <= 60.0, "after twenty minutes it has recovered: {night}");
    assert!(world.slowest_fill(30 * HOUR + 20 * MINUTE, 36 * HOUR) <= 60.0);
    // Half an hour after the morning flood, the rate is the same as before the night.
    let before = world.check_ins_within(20 * HOUR, 22 * HOUR) / 2.0;
    let after = world.check_ins_within(30 * HOUR + 30 * MINUTE, 31 * HOUR + 30 * MINUTE);
    assert!((after / before - 1.0).abs() < 0.25, "{after} after {before} an hour");
}

#[test]
fn a_jump_of_the_rate_is_absorbed_within_minutes() {
    let mut world = World::new(1_000, 100, 0);
    world.run_until(2 * HOUR);
    let before = world.check_ins_within(HOUR, 2 * HOUR) / 60.0;
    world.enrol(9_000, 10_000);
    world.run_until(3 * HOUR);
    let jump = world.check_ins_within(2 * HOUR, 2 * HOUR + MINUTE);
    assert!(jump > 9_000.0);
    let after = world.check_ins_within(2 * HOUR + 2 * MINUTE, 2 * HOUR + 12 * MINUTE) / 10.0;
    assert!(after < 1.5 * before, "{after} a minute, {before} before");
    assert!(world.slowest_fill(2 * HOUR, 3 * HOUR) <= 60.0);
}

#[test]
fn a_demand_that_jumps_is_met_by_those_who_come_back() {
    let mut world = World::new(2_000, 20, 0);
    world.run_until(2 * HOUR);
    world.cohort = 100;
    world.run_until(4 * HOUR);
    assert!(world.slowest_fill(3 * HOUR, 4 * HOUR) <= 60.0);
}

#[test]
fn the_profile_of_the_day_prepares_for_the_night() {
    let start = 12 * HOUR;
    let mut world = World::new(3_000, 80, start);
    // Four of five devices are off from midnight to six.
    world.back_at = |client, now| match now / HOUR % 24 {
        0..6 if client % 5 != 0 => now / (24 * HOUR) * 24 * HOUR + 6 * HOUR + u64::from(client) % 600 * 1000,
        _ => now,
    };
    world.run_until(5 * 24 * HOUR);
    let cohorts = |from: u64, to: u64| {
        world.fills.iter().filter(|(begun_at, fill)| (from..to).contains(&(begun_at + fill))).count()
    };
    let night = |day: u64| cohorts(day * 24 * HOUR, day * 24 * HOUR + 10 * MINUTE);
    // Nothing is known about the first night. In later nights, enough clients are asked that a fifth of them suffices.
    assert!(night(1) <= 8, "{}", night(1));
    for day in 2..5 {
        assert!(night(day) >= 9, "{} on day {day}", night(day));
    }
    // No clients are asked to come during the morning flood.
    let flood = |day: u64| world.check_ins_within((day * 24 + 6) * HOUR, (day * 24 + 7) * HOUR);
    assert!(flood(4) < 0.85 * flood(1), "{} after {}", flood(4), flood(1));
}

#[test]
fn a_handful_of_clients_comes_back_at_once() {
    let limits = RetryLimits::default();
    for demand in [5.0, 5.0 / 60.0, 0.0] {
        let mut pace = Pace::new();
        let mut windows = Vec::new();
        for client in 0..5 {
            pace.observe(Timestamp(client * 10));
            windows.push(pace.hand_out(demand, limits, Timestamp(client * 10)));
        }
        assert_eq!(windows, [limits.shortest; 5], "{demand}");
    }
    let mut world = World::new(5, 5, 0);
    world.run_until(HOUR);
    // The cohort needs all five clients, and all five first train for a minute.
    let fill = world.slowest_fill(MINUTE, HOUR);
    assert!(fill <= 70.0, "{fill}");
}

#[test]
fn windows_stay_within_their_limits() {
    let limits =
        RetryLimits { milliseconds_max: 60_000, arrivals_per_second_min: 0.0, ..RetryLimits::default() };
    let mut pace = Pace::new();
    for at in 0..5_000 {
        for demand in [0.0, 1.0, f64::NAN, f64::INFINITY, -1.0] {
            let window = pace.hand_out(demand, limits, Timestamp(at));
            assert!(window.milliseconds_min >= 500 && window.milliseconds_max <= 60_000, "{window:?}");
            assert!(window.milliseconds_min < window.milliseconds_max, "{window:?}");
        }
    }
    let nobody_is_wanted = pace.retry_window(0.0, limits, Timestamp(5_000));
    assert_eq!((nobody_is_wanted.milliseconds_min, nobody_is_wanted.milliseconds_max), (30_000, 60_000));
}

#[test]
fn a_client_is_sent_to_the_first_gap() {
    let mut pace = Pace::new();
    let limits = RetryLimits { arrivals_per_second_min: 0.0, ..RetryLimits::default() };
    let now = Timestamp(10 * HOUR);
    pace.observe(now);
    // The first ten seconds expect 20 check-ins, the next ten none, the last ten 11. The demand is one client a second,
    // times the safety factor.
    for (from, count) in [(0, 20), (20_000, 11)] {
        for _ in 0..count {
            let window = RetryWindow { milliseconds_min: from, milliseconds_max: from + 10_000 };
            pace.calendar.expect(window, now, |_| 1.0);
        }
    }
    // 1 + 20 = 1.3·t at t = 16.15. With one more client, 22 = 1.3·t at 16.92.
    assert!((pace.first_gap(1.3, 1e9, now) - 21.0 / 1.3).abs() < 1e-9);
    // At one check-in a second, 1 + 20 + 1.1·(t − 20) > t up to t = 30. Beyond, both sides are equal at t = 32.
    assert!((pace.first_gap(1.0, 1e9, now) - 32.0).abs() < 1e-9);
    assert_eq!(pace.first_gap(1.0, 25.0, now), 25.0);
    assert_eq!(pace.first_gap(0.0, 25.0, now), 25.0);
    // The window is from two thirds to four thirds of 16.15 s.
    let window = pace.retry_window(1.0, limits, now);
    assert_eq!((window.milliseconds_min, window.milliseconds_max), (10_769, 21_538));
}

#[test]
fn those_who_stay_away_count_less() {
    let mut pace = Pace::new();
    let limits = RetryLimits { arrivals_per_second_min: 0.0, ..RetryLimits::default() };
    let start = 10 * HOUR;
    pace.advance(Timestamp(start));
    // For twenty minutes, two clients a second are asked to check in, but only one a second does.
    for _ in 0..2400 {
        let window = RetryWindow { milliseconds_min: 0, milliseconds_max: 20 * MINUTE };
        pace.calendar.expect(window, Timestamp(start), |_| 1.0);
    }
    assert_eq!(pace.idle(Timestamp(start)).round(), 2400.0);
    let full = pace.retry_window(1.5, limits, Timestamp(start));
    for second in 1..=600 {
        pace.observe(Timestamp(start + second * 1000));
    }
    let now = Timestamp(start + 10 * MINUTE);
    // Half of the 1,200 outstanding clients are expected to come. So two requests a second are no longer too many for a
    // demand of 1.5.
    assert!((pace.idle(now) - 600.0).abs() < 30.0, "{}", pace.idle(now));
    assert!((pace.rate_per_second() - 1.0).abs() < 0.05, "{}", pace.rate_per_second());
    assert!(full.milliseconds_min > 10 * MINUTE, "{full:?}");
    assert_eq!(pace.retry_window(1.5, limits, now), limits.shortest);
}

#[test]
fn a_pace_survives_a_restart() {
    let mut world = World::new(500, 20, 0);
    world.run_until(2 * HOUR);
    let json = serde_json::to_string(&world.pace).unwrap();
    let mut read: Pace = serde_json::from_str(&json).unwrap();
    let (now, later) = (Timestamp(world.now), Timestamp(world.now + HOUR));
    let window = |pace: &Pace| pace.retry_window(0.3, world.limits, now);
    assert_eq!(window(&read), window(&world.pace));
    // No client could come during the outage, so the pace concludes nothing from their absence.
    let share = read.returning_share();
    read.resume(later);
    read.observe(later);
    assert!(read.returning_share() >= share);
    world.pace.observe(later);
    assert!(world.pace.returning_share() < share);
}
