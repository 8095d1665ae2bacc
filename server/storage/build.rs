//! Builds again when a migration is added: `sqlx::migrate!` notices only those that it has seen.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
}
