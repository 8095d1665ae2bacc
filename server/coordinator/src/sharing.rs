//! Shares a population's waiting clients among several tasks: which task draws next, and from how many clients.

use std::cmp::Ordering;

use folkmoot_protocol::{TaskId, Timestamp, saturating::to_whole};
use serde::{Deserialize, Serialize};

/// A task that could draw clients now.
///
/// If a task's cohort does not fill before its deadline, the caller drops the claim. The caller should then add the
/// reserved clients to `served`; otherwise the task comes first again immediately.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The task's id.
    pub task: TaskId,
    /// The task's priority. Higher priorities always come first.
    pub priority: u32,
    /// The task's share relative to other tasks of its priority, above 0.
    pub weight: f64,
    /// The number of clients it has received so far; see [`served_on_joining`].
    pub served: u64,
    /// The number of clients it needs at once.
    pub wants: u64,
    /// When the task began to wait. Among otherwise equal claims, the earliest comes first.
    pub waits_since: Timestamp,
}

/// The waiting clients that are reserved for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The task's id.
    pub task: TaskId,
    /// The number of reserved clients. If it is less than the task needs, they stay reserved while its cohort
    /// fills; no other task may draw them.
    pub clients: u64,
}

/// Orders the tasks and shares `waiting` clients among them. This is stride scheduling (Waldspurger and Weihl
/// 1995, "Stride scheduling: deterministic proportional-share resource management", section 2) with reservation.
///
/// Within the highest priority, the task with the smallest pass, served/weight, comes first. Its clients are
/// reserved before the next task gets any. So a task with a large cohort can fill it while tasks with small
/// cohorts wait. Each draw raises the pass of the drawing task, so every task gets its turn.
///
/// Grants are in the order in which the tasks may draw. For exact shares, call this again after each draw.
pub fn share(claims: &[Claim], waiting: u64) -> Vec<Grant> {
    let mut claims = claims.to_vec();
    claims.sort_by(|a, b| a.comes_before(b));
    let mut left = waiting;
    let grant = |claim: Claim| {
        let clients = claim.wants.min(left);
        left -= clients;
        Grant { task: claim.task, clients }
    };
    claims.into_iter().map(grant).collect()
}

/// Returns the `served` count for a task that starts, or that needs clients again after a pause.
///
/// The result raises the task's pass to at least the smallest pass among the tasks of its priority. So a task gets no
/// extra clients for a time in which it needed none. If `served` is already larger, or if there are no other tasks, the
/// result is `served`.
pub fn served_on_joining(priority: u32, weight: f64, served: u64, others: &[Claim]) -> u64 {
    let peers = others.iter().filter(|claim| claim.priority == priority);
    let pass = peers.map(Claim::pass).filter(|pass| pass.is_finite()).min_by(f64::total_cmp);
    match pass {
        Some(pass) if weight > 0.0 && weight.is_finite() => served.max(to_whole((pass * weight).ceil())),
        _ => served,
    }
}

impl Claim {
    /// Returns served/weight. An invalid weight gives infinity, which puts the task last.
    fn pass(&self) -> f64 {
        if self.weight > 0.0 && self.weight.is_finite() {
            self.served as f64 / self.weight
        } else {
            f64::INFINITY
        }
    }

    fn comes_before(&self, other: &Claim) -> Ordering {
        other
            .priority
            .cmp(&self.priority)
            .then(self.pass().total_cmp(&other.pass()))
            .then(self.waits_since.cmp(&other.waits_since))
            .then(self.task.cmp(&other.task))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn claim(task: u8, weight: f64, wants: u64) -> Claim {
        let task = TaskId::from_bytes([task; 16]);
        Claim { task, priority: 0, weight, served: 0, wants, waits_since: Timestamp(0) }
    }

    fn grants(claims: &[Claim], waiting: u64) -> Vec<(u8, u64)> {
        share(claims, waiting).into_iter().map(|grant| (grant.task.as_bytes()[0], grant.clients)).collect()
    }

    /// Lets tasks draw while the first one gets all the clients it needs. Returns the tasks in drawing order.
    fn draw_all(claims: &mut [Claim], waiting: &mut u64) -> Vec<TaskId> {
        let mut drew = Vec::new();
        loop {
            let first = share(claims, *waiting)[0];
            let claim = claims.iter_mut().find(|claim| claim.task == first.task).unwrap();
            if first.clients < claim.wants {
                return drew;
            }
            *waiting -= first.clients;
            claim.served += first.clients;
            drew.push(first.task);
        }
    }

    #[test]
    fn the_smallest_pass_comes_first_and_reserves() {
        let mut claims = [claim(1, 1.0, 10), claim(2, 2.0, 30), claim(3, 1.0, 5)];
        (claims[0].served, claims[1].served, claims[2].served) = (11, 20, 12);
        // The passes are 11, 10 and 12.
        assert_eq!(grants(&claims, 100), [(2, 30), (1, 10), (3, 5)]);
        assert_eq!(grants(&claims, 33), [(2, 30), (1, 3), (3, 0)]);
        assert_eq!(grants(&claims, 20), [(2, 20), (1, 0), (3, 0)]);
        // With equal passes, the longer wait decides, then the id.
        claims.iter_mut().for_each(|claim| claim.served = 0);
        claims[2].waits_since = Timestamp(0);
        claims[0].waits_since = Timestamp(9);
        claims[1].waits_since = Timestamp(9);
        assert_eq!(grants(&claims, 0), [(3, 0), (1, 0), (2, 0)]);
        assert_eq!(share(&[], 7), []);
        claims[2].weight = f64::NAN;
        assert_eq!(grants(&claims, 0), [(1, 0), (2, 0), (3, 0)]);
    }

    #[test]
    fn a_higher_priority_comes_before_all_else() {
        let mut claims = [claim(1, 100.0, 5), claim(2, 1.0, 10)];
        (claims[1].priority, claims[1].served) = (1, 1_000_000);
        assert_eq!(grants(&claims, 12), [(2, 10), (1, 2)]);
    }

    #[test]
    fn a_large_cohort_gathers_beside_small_ones() {
        let mut claims: Vec<Claim> = (1..=5).map(|task| claim(task, 1.0, 1)).collect();
        claims.push(claim(9, 1.0, 100));
        let (mut waiting, mut large) = (0, 0);
        for _ in 0..2_000 {
            waiting += 3;
            large +=
                draw_all(&mut claims, &mut waiting).iter().filter(|task| task.as_bytes()[0] == 9).count();
        }
        // 6,000 clients for six tasks of one weight: 1,000 each, ten cohorts of a hundred.
        assert!((9..=11).contains(&large), "{large}");
        assert!(claims.iter().all(|claim| claim.served.abs_diff(1_000) <= 100), "{claims:?}");
    }

    #[test]
    fn a_cohort_that_never_fills_blocks_until_its_claim_is_dropped() {
        let mut claims = [claim(1, 1.0, 1_000), claim(2, 1.0, 1)];
        // There are never more than 50 waiting clients.
        assert_eq!(grants(&claims, 50), [(1, 50), (2, 0)]);
        let mut waiting = 50;
        assert_eq!(draw_all(&mut claims[1..], &mut waiting).len(), 50);
        // The task returns, charged for its unused reservation. The other task draws until their passes are equal.
        claims[0].served += 50;
        claims[1].served -= 20;
        assert_eq!(grants(&claims, 50), [(2, 1), (1, 49)]);
    }

    #[test]
    fn a_new_task_does_not_catch_up_on_the_past() {
        let mut others = [claim(1, 1.0, 1), claim(2, 4.0, 1), claim(3, 1.0, 1)];
        (others[0].served, others[1].served, others[2].served, others[2].priority) = (900, 1_001, 0, 7);
        // The smallest pass of its priority is 1,001/4; at weight 2 that is 500.5.
        assert_eq!(served_on_joining(0, 2.0, 0, &others), 501);
        assert_eq!(served_on_joining(0, 2.0, 600, &others), 600);
        assert_eq!(served_on_joining(5, 2.0, 3, &others), 3);
        assert_eq!(served_on_joining(0, f64::NAN, 3, &others), 3);
        let joined = Claim { served: 501, ..claim(4, 2.0, 1) };
        let mut claims = vec![others[0], others[1], joined];
        let mut waiting = 600;
        draw_all(&mut claims, &mut waiting);
        // The two tasks with small passes share the clients in the ratio 4 to 2. The first task waits until they reach
        // its pass of 900.
        assert_eq!(claims.iter().map(|claim| claim.served).collect::<Vec<_>>(), [900, 1_401, 701]);
    }

    proptest! {
        #[test]
        fn long_run_shares_follow_the_weights(
            weights in prop::collection::vec(0.2f64..5.0, 2..6), cohort_max in 1u64..40, seed: u64,
        ) {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut claims: Vec<Claim> =
                (0..).zip(&weights).map(|(task, weight)| claim(task, *weight, 1)).collect();
            let (mut waiting, mut given) = (0, 0u64);
            while given < 200_000 {
                for claim in &mut claims {
                    // A cohort that is filling usually keeps its size.
                    if rng.next_u64() % 8 == 0 {
                        claim.wants = 1 + rng.next_u64() % cohort_max;
                    }
                }
                waiting += rng.next_u64() % 30;
                draw_all(&mut claims, &mut waiting);
                given = claims.iter().map(|claim| claim.served).sum();
            }
            let total: f64 = weights.iter().sum();
            for claim in &claims {
                let share = claim.served as f64 / given as f64;
                prop_assert!((share / (claim.weight / total) - 1.0).abs() < 0.05, "{claims:?}");
            }
        }

        #[test]
        fn nobody_of_the_highest_priority_starves(
            tasks in prop::collection::vec((0.2f64..5.0, 1u64..60, 0u64..300), 1..6), arrivals in 1u64..20,
        ) {
            let mut claims: Vec<Claim> = (0..).zip(&tasks)
                .map(|(task, (weight, wants, served))| Claim { served: *served, ..claim(task, *weight, *wants) })
                .collect();
            let before: Vec<u64> = claims.iter().map(|claim| claim.served).collect();
            // At the latest, a task draws when all others have reached its pass plus one cohort.
            let pass_max = claims.iter().map(Claim::pass).fold(0.0, f64::max);
            let bound: f64 =
                claims.iter().map(|claim| claim.weight * pass_max + 2.0 * claim.wants as f64).sum();
            let (mut waiting, mut offered) = (0, 0u64);
            while (offered as f64) < bound {
                waiting += arrivals;
                offered += arrivals;
                draw_all(&mut claims, &mut waiting);
            }
            for (claim, before) in claims.iter().zip(before) {
                prop_assert!(claim.served > before, "{claims:?}");
            }
        }

        #[test]
        fn no_more_is_granted_than_waits_and_priorities_are_strict(
            tasks in prop::collection::vec((0u32..3, 0u64..50, 0u64..50), 0..8), waiting in 0u64..200,
        ) {
            let claims: Vec<Claim> = (0..).zip(&tasks)
                .map(|(task, (priority, wants, served))| {
                    Claim { priority: *priority, served: *served, ..claim(task, 1.0, *wants) }
                })
                .collect();
            let grants = share(&claims, waiting);
            prop_assert_eq!(grants.len(), claims.len());
            let wanted: u64 = claims.iter().map(|claim| claim.wants).sum();
            prop_assert_eq!(grants.iter().map(|grant| grant.clients).sum::<u64>(), wanted.min(waiting));
            let of = |grant: &Grant| claims.iter().find(|claim| claim.task == grant.task).unwrap();
            for pair in grants.windows(2) {
                prop_assert!(of(&pair[0]).priority >= of(&pair[1]).priority);
                prop_assert!(of(&pair[0]).wants == pair[0].clients || pair[1].clients == 0);
            }
        }
    }
}
