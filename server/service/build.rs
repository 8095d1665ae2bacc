//! Builds the package anew when the console was built: its files are part of the program.

fn main() {
    println!("cargo:rerun-if-changed=../console/dist");
}
