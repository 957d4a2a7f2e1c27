# Builds the native module and puts it into the folder of main.js, under the name that Node expects.
set -eu
cargo build --release --locked
cp "${CARGO_TARGET_DIR:-target}/release/libnode_reqwest.so" reqwest.node
