//! Packets with the header of a TUN device: counted, and cut into pieces that together equal the whole.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/dyno-room/src/link/cut.rs"]
mod cut;
#[path = "../../crates/dyno-room/src/link/virtio.rs"]
mod virtio;

use virtio::{HEADER_BYTES, OnWire, SuperPacket};

fuzz_target!(|input: (u8, &[u8])| {
    let (stride, buffer) = input;
    let on_wire = OnWire::of(buffer);
    assert!(on_wire.burst.packets >= 1);
    assert!(on_wire.burst.bytes as usize >= buffer.len().saturating_sub(HEADER_BYTES));
    let _ = virtio::is_for_a_group(buffer);
    let Some(whole) = SuperPacket::of(buffer) else {
        assert!(!on_wire.is_super_packet());
        return;
    };
    let headers = HEADER_BYTES + whole.headers;
    let mut content = Vec::new();
    let mut first = 0;
    while first < whole.segments() {
        let count = usize::from(stride).clamp(1, whole.segments() - first);
        let mut room = vec![0; buffer.len()];
        let length = cut::cut(buffer, whole, first, count, &mut room);
        content.extend_from_slice(&room[headers..length]);
        first += count;
    }
    assert_eq!(content, buffer[headers..]);
});
