//! Passes the locked version of tide to the program, which prints it for `--version`.

use std::fs;

fn main() {
    println!("cargo:rerun-if-changed=Cargo.lock");
    let lock = fs::read_to_string("Cargo.lock").expect("cargo build --locked has a lock file");
    let version = lock
        .split("[[package]]")
        .find(|package| package.contains("\nname = \"tide\"\n"))
        .and_then(|package| package.split("version = \"").nth(1))
        .and_then(|rest| rest.split('"').next())
        .expect("Cargo.lock names tide");
    println!("cargo:rustc-env=FRAMEWORK_VERSION={version}");
}
