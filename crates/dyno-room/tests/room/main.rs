//! The room on a real kernel. This program is its own engine: run as `room engine ...` it plays one.

mod engine;

fn main() {
    let arguments: Vec<std::ffi::OsString> = std::env::args_os().collect();
    if arguments.get(1).is_some_and(|role| role == "engine") {
        engine::main(&arguments[2..]);
    }
}
