//! Algorithms through the coordinator, in a virtual world, against the same algorithms by hand.

mod clusters;
mod components;
mod contributions;
mod convex;
mod drift;
mod drift_rules;
mod elastic;
mod functions;
mod guided;
mod local_training;
mod newton;
mod objective;
mod personal;
mod personal_training;
mod sophia;
mod widths;
