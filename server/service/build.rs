//! Rebuilds the package when the console's build output changes, because its files are embedded in the program.

fn main() {
    println!("cargo:rerun-if-changed=../console/dist");
}
