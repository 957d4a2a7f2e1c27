# Builds the native module and puts it beside main.js, under the name that Node loads such modules by.
set -eu
cargo build --release --locked
cp "${CARGO_TARGET_DIR:-target}/release/libnode_reqwest.so" reqwest.node
