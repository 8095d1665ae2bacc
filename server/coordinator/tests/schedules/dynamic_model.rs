//! The controller of Zhao et al. 2019 as a model of clocks alone. It was written from the paper, independently of
//! the policy's code.
//!
//! Clients push, and the server lets them continue or wait. Two rules differ from the paper: no client continues
//! that is more than the upper bound ahead, and every push re-evaluates the waiting clients.

/// A client, as the paper's server sees it.
#[derive(Clone, Debug)]
struct Client {
    seconds: u64,
    /// When its step ends; `None` while it waits.
    ends_at: Option<u64>,
    /// The times of its pushes. Their number is the paper's t_p.
    pushes: Vec<u64>,
    /// The remaining extra steps: the paper's r_p.
    steps_left: u64,
}

/// The paper's server.
pub struct Model {
    clients: Vec<Client>,
    lower: u64,
    upper: u64,
}

impl Model {
    /// Returns the number of pushes that each client makes in `run_seconds`. `seconds` is the duration of each client's
    /// step.
    pub fn run(seconds: &[u64], lower: u64, upper: u64, run_seconds: u64) -> Vec<u64> {
        let client =
            |&seconds: &u64| Client { seconds, ends_at: Some(seconds), pushes: Vec::new(), steps_left: 0 };
        let mut model = Model { clients: seconds.iter().map(client).collect(), lower, upper };
        for now in 1..=run_seconds {
            for index in 0..model.clients.len() {
                if model.clients[index].ends_at == Some(now) {
                    model.clients[index].ends_at = None;
                    model.clients[index].pushes.push(now);
                    model.answer(now);
                }
            }
        }
        (0..model.clients.len()).map(|index| model.clock(index)).collect()
    }

    fn clock(&self, index: usize) -> u64 {
        self.clients[index].pushes.len() as u64
    }

    /// Algorithm 1: lets every client continue that is allowed to.
    fn answer(&mut self, now: u64) {
        for index in 0..self.clients.len() {
            if self.clients[index].ends_at.is_some() {
                continue;
            }
            let clocks: Vec<u64> = (0..self.clients.len()).map(|other| self.clock(other)).collect();
            let lead = clocks[index] - clocks.iter().min().expect("there are clients");
            let is_fastest = clocks.iter().all(|clock| *clock <= clocks[index]);
            let may_go_on = if lead > self.upper {
                false
            } else if self.clients[index].steps_left > 0 {
                self.clients[index].steps_left -= 1;
                true
            } else if lead <= self.lower {
                true
            } else {
                let extra = if is_fastest { self.controller(index, self.upper + 1 - lead) } else { 0 };
                self.clients[index].steps_left = extra.saturating_sub(1);
                extra > 0
            };
            if may_go_on {
                self.clients[index].ends_at = Some(now + self.clients[index].seconds);
            }
        }
    }

    /// Algorithm 2: the number of steps after which the fastest client waits least for the slowest.
    fn controller(&self, fastest: usize, steps_max: u64) -> u64 {
        let slowest =
            (0..self.clients.len()).min_by_key(|index| self.clock(*index)).expect("there are clients");
        let last_two = |index: usize| match self.clients[index].pushes[..] {
            [.., before, last] => Some((last, last - before)),
            _ => None,
        };
        let (Some((fast_at, fast)), Some((slow_at, slow))) = (last_two(fastest), last_two(slowest)) else {
            return 0;
        };
        let mut best = (u64::MAX, 0);
        for steps in 0..=steps_max {
            for slow_steps in 1..=steps_max + 1 {
                let wait = (slow_at + slow_steps * slow).abs_diff(fast_at + steps * fast);
                if wait < best.0 {
                    best = (wait, steps);
                }
            }
        }
        best.1
    }
}
