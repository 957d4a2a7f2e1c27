//! One end of an emulated link: a network device whose packets are read and written here.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

use crate::error::{Result, Step};
use crate::netlink::Device;

/// Where the kernel gives out such devices.
pub(crate) const MAKER: &str = "/dev/net/tun";

// What the reader of a device can do for its sender.
const CHECKSUMS: u32 = libc::TUN_F_CSUM;
const TCP_SEGMENTATION: u32 = libc::TUN_F_TSO4 | libc::TUN_F_TSO6;
/// Since Linux 6.2.
const UDP_SEGMENTATION: u32 = libc::TUN_F_USO4 | libc::TUN_F_USO6;

/// A TUN device, which lives as long as its network namespace: until the last process in it has ended, also when it is killed.
#[derive(Debug)]
pub(crate) struct Tun(OwnedFd);

impl Tun {
    /// Makes a device in the calling thread's network namespace, with this name and number.
    ///
    /// Every packet comes with its virtio header, checksums left to whoever receives it; with `super_packets` also TCP and UDP
    /// segments that are still in one piece.
    pub(crate) fn make(name: &str, device: Device, super_packets: bool) -> Result<Self> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let descriptor = open(MAKER, flags, Mode::empty())
            .step(|| format!("opening {MAKER}, which an emulated link needs"))
            .map_err(|error| error.with_cure(cure()))?;
        let tun = Self(descriptor);
        tun.configure(name, device, super_packets)
            .step(|| format!("making the TUN device `{name}` of an emulated link"))
            .map_err(|error| error.with_cure(cure()))?;
        Ok(tun)
    }

    fn configure(&self, name: &str, device: Device, super_packets: bool) -> io::Result<()> {
        let flags = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
        let mut request = libc::ifreq {
            ifr_name: [0; libc::IFNAMSIZ],
            ifr_ifru: libc::__c_anonymous_ifr_ifru {
                ifru_flags: libc::c_short::try_from(flags).map_err(io::Error::other)?,
            },
        };
        // The last byte stays zero.
        for (to, from) in request.ifr_name[..libc::IFNAMSIZ - 1]
            .iter_mut()
            .zip(name.bytes())
        {
            *to = libc::c_char::from_ne_bytes([from]);
        }
        let number = device.0;
        // SAFETY: the kernel reads an int through the pointer, which is to a live one.
        check(unsafe { libc::ioctl(self.0.as_raw_fd(), libc::TUNSETIFINDEX, &raw const number) })?;
        // SAFETY: the kernel reads and writes one ifreq through the pointer, which is to a live one that nobody else knows.
        check(unsafe { libc::ioctl(self.0.as_raw_fd(), libc::TUNSETIFF, &raw mut request) })?;
        // The kernel takes a device away with its namespace, on its own time; with its descriptor it would keep us waiting for a tenth
        // of a second.
        // SAFETY: the argument of this request is a number.
        check(unsafe {
            libc::ioctl(
                self.0.as_raw_fd(),
                libc::TUNSETPERSIST,
                libc::c_ulong::from(1_u32),
            )
        })?;
        if super_packets {
            let all = CHECKSUMS | TCP_SEGMENTATION | UDP_SEGMENTATION;
            // Kernels that do not know segments of UDP refuse the whole.
            self.take_over(all)
                .or_else(|_| self.take_over(CHECKSUMS | TCP_SEGMENTATION))
        } else {
            self.take_over(CHECKSUMS)
        }
    }

    /// Says what the reader of this device can do for its sender.
    fn take_over(&self, offloads: u32) -> io::Result<()> {
        let offloads = libc::c_ulong::from(offloads);
        // SAFETY: the argument of this request is a number.
        check(unsafe { libc::ioctl(self.0.as_raw_fd(), libc::TUNSETOFFLOAD, offloads) })
    }

    /// Reads the next packet that the namespace has sent, its virtio header first; none when there is none now.
    pub(crate) fn read(&self, into: &mut [u8]) -> Option<usize> {
        rustix::io::read(&self.0, into).ok()
    }

    /// Has the namespace receive a packet, if it will: what a device does not take is lost, as on any link.
    pub(crate) fn write(&self, packet: &[u8]) {
        while rustix::io::write(&self.0, packet) == Err(Errno::INTR) {}
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn check(status: libc::c_int) -> io::Result<()> {
    if status < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// What to do where no device is to be had.
pub(crate) fn cure() -> &'static str {
    if std::path::Path::new(MAKER).exists() {
        "as root: chmod 666 /dev/net/tun (in a container, start it with --device /dev/net/tun)"
    } else {
        "as root: modprobe tun (in a container, start it with --device /dev/net/tun)"
    }
}
