//! Configuration steps of the room's network namespaces.

use std::net::IpAddr;

use crate::addresses::{
    CLOSED_GATEWAY_V4, CLOSED_GATEWAY_V6, CLOSED_HOST_V4, CLOSED_HOST_V6, CLOSED_V4, CLOSED_V6,
    DEFAULT_V4, DEFAULT_V6, PEER_V4, PEER_V6, Prefix, SILENT_V4, SILENT_V6, SUBJECT_V4, SUBJECT_V6,
    WEB_V4, WEB_V6,
};
use crate::netlink::{
    Device, Hop, Message, Sending, Table, VethEnd, add_address, add_neighbour, add_route, bring_up,
    set_sending,
};

pub(crate) const TO_SUBJECT: VethEnd = VethEnd {
    name: "subject",
    device: Device(2),
    hardware_address: [2, 0, 198, 18, 0, 1],
};
pub(crate) const TO_PEER: VethEnd = VethEnd {
    name: "eth0",
    device: Device(2),
    hardware_address: [2, 0, 198, 18, 0, 2],
};
pub(crate) const TO_CLOSED: VethEnd = VethEnd {
    name: "closed",
    device: Device(3),
    hardware_address: [2, 0, 198, 18, 0, 5],
};
pub(crate) const FROM_CLOSED: VethEnd = VethEnd {
    name: "peer",
    device: Device(2),
    hardware_address: [2, 0, 198, 18, 0, 6],
};

/// One step of a namespace's configuration.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Setup {
    Sending(Device, Sending),
    Up(Device),
    Address(Device, Prefix),
    Neighbour(Device, Prefix, [u8; 6]),
    Route(Table, Prefix, Hop),
}

impl Setup {
    pub(crate) fn is_v4(&self) -> bool {
        match self {
            Self::Up(_) | Self::Sending(..) => true,
            Self::Address(_, prefix)
            | Self::Neighbour(_, prefix, _)
            | Self::Route(_, prefix, _) => prefix.address.is_ipv4(),
        }
    }

    /// Return whether this is a neighbour entry of this device, which only an Ethernet device needs.
    pub(crate) fn is_neighbour_on(&self, device: Device) -> bool {
        matches!(self, Self::Neighbour(on, ..) if *on == device)
    }

    pub(crate) fn message(&self) -> Message {
        match *self {
            Self::Sending(device, sending) => set_sending(device, sending),
            Self::Up(device) => bring_up(device),
            Self::Address(device, prefix) => add_address(device, prefix),
            Self::Neighbour(device, prefix, hardware_address) => {
                add_neighbour(device, prefix.address, hardware_address)
            }
            Self::Route(table, prefix, hop) => add_route(table, prefix, hop),
        }
    }
}

fn via(gateway: Prefix, end: VethEnd) -> Hop {
    let address: IpAddr = gateway.address;
    Hop::Via(address, end.device)
}

pub(crate) fn peer_plan() -> Vec<Setup> {
    use Setup::{Address, Neighbour, Route, Up};
    vec![
        Up(Device::LOOPBACK),
        Address(TO_SUBJECT.device, PEER_V4),
        Address(TO_SUBJECT.device, PEER_V6),
        Address(TO_CLOSED.device, CLOSED_GATEWAY_V4),
        Address(TO_CLOSED.device, CLOSED_GATEWAY_V6),
        Up(TO_SUBJECT.device),
        Up(TO_CLOSED.device),
        Neighbour(TO_SUBJECT.device, SUBJECT_V4, TO_PEER.hardware_address),
        Neighbour(TO_SUBJECT.device, SUBJECT_V6, TO_PEER.hardware_address),
        Neighbour(
            TO_CLOSED.device,
            CLOSED_HOST_V4,
            FROM_CLOSED.hardware_address,
        ),
        Neighbour(
            TO_CLOSED.device,
            CLOSED_HOST_V6,
            FROM_CLOSED.hardware_address,
        ),
        Route(Table::Local, WEB_V4, Hop::Local),
        Route(Table::Local, WEB_V6, Hop::Local),
        // These routes must also be in the table of local addresses: it is looked up first, and its longest prefix wins.
        Route(Table::Local, SILENT_V4, Hop::Blackhole),
        Route(Table::Local, SILENT_V6, Hop::Blackhole),
        Route(Table::Local, CLOSED_V4, via(CLOSED_HOST_V4, TO_CLOSED)),
        Route(Table::Local, CLOSED_V6, via(CLOSED_HOST_V6, TO_CLOSED)),
    ]
}

pub(crate) fn subject_plan() -> Vec<Setup> {
    use Setup::{Address, Neighbour, Route, Up};
    vec![
        Up(Device::LOOPBACK),
        Address(TO_PEER.device, SUBJECT_V4),
        Address(TO_PEER.device, SUBJECT_V6),
        Up(TO_PEER.device),
        Neighbour(TO_PEER.device, PEER_V4, TO_SUBJECT.hardware_address),
        Neighbour(TO_PEER.device, PEER_V6, TO_SUBJECT.hardware_address),
        Route(Table::Main, WEB_V4, via(PEER_V4, TO_PEER)),
        Route(Table::Main, WEB_V6, via(PEER_V6, TO_PEER)),
        // No default route: a stray connection fails at once, and the kernel counts it (`OutNoRoutes`).
    ]
}

pub(crate) fn closed_plan() -> Vec<Setup> {
    use Setup::{Address, Neighbour, Route, Up};
    let device = FROM_CLOSED.device;
    vec![
        Up(Device::LOOPBACK),
        Address(device, CLOSED_HOST_V4),
        Address(device, CLOSED_HOST_V6),
        Up(device),
        Neighbour(device, CLOSED_GATEWAY_V4, TO_CLOSED.hardware_address),
        Neighbour(device, CLOSED_GATEWAY_V6, TO_CLOSED.hardware_address),
        Route(Table::Local, CLOSED_V4, Hop::Local),
        Route(Table::Local, CLOSED_V6, Hop::Local),
        Route(Table::Main, DEFAULT_V4, via(CLOSED_GATEWAY_V4, FROM_CLOSED)),
        Route(Table::Main, DEFAULT_V6, via(CLOSED_GATEWAY_V6, FROM_CLOSED)),
    ]
}
