//! Checks of numbers that several finalizers share.

use folkmoot_protocol::Fault;

/// Records a fault if the number is not finite or not above 0. `field` is a path below `finalizer.`.
pub(super) fn expect_positive(field: &str, value: f64, faults: &mut Vec<Fault>) {
    if !value.is_finite() || value <= 0.0 {
        refuse(field, value, "it must be above 0", faults);
    }
}

/// Records a fault if the number is outside [0, 1), the range for the decay of a moving average.
pub(super) fn expect_decay(field: &str, value: f64, faults: &mut Vec<Fault>) {
    if !(0.0..1.0).contains(&value) {
        refuse(field, value, "it must be 0 or above, and below 1", faults);
    }
}

/// Records a fault if the number is outside (-1, 1). Outside that range, the velocity would not decay.
pub(super) fn expect_momentum(field: &str, value: f64, faults: &mut Vec<Fault>) {
    if !(value > -1.0 && value < 1.0) {
        refuse(field, value, "it must be above -1, and below 1", faults);
    }
}

/// Records a fault if τ² does not fit into float32.
pub(super) fn expect_tau(tau: f64, faults: &mut Vec<Fault>) {
    if !(1e-12..=1e6).contains(&tau) {
        refuse("tau", tau, "it must lie between 1e-12 and 1e6; use 1e-3 for most tasks", faults);
    }
}

/// Records a fault if there are no clients.
pub(super) fn expect_clients(clients: u64, faults: &mut Vec<Fault>) {
    if clients == 0 {
        refuse(
            "clients",
            0.0,
            "it must be at least 1: the number of clients that take part over the whole task",
            faults,
        );
    }
}

/// Records that the field's value is invalid.
pub(super) fn refuse(field: &str, value: f64, remedy: &str, faults: &mut Vec<Fault>) {
    faults.push(Fault::new(&format!("finalizer.{field}"), format!("it is {value}"), remedy));
}
