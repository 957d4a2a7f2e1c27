//! One end of an emulated link: a TUN device.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

use crate::error::{Result, Step};
use crate::netlink::Device;

/// The file that makes TUN devices.
pub(crate) const MAKER: &str = "/dev/net/tun";

// Offloads that the reader of a device accepts from its sender.
const CHECKSUMS: u32 = libc::TUN_F_CSUM;
const TCP_SEGMENTATION: u32 = libc::TUN_F_TSO4 | libc::TUN_F_TSO6;
/// Since Linux 6.2.
const UDP_SEGMENTATION: u32 = libc::TUN_F_USO4 | libc::TUN_F_USO6;

/// A TUN device. It lives as long as its network namespace: until the last process in it has ended, even by SIGKILL.
#[derive(Debug)]
pub(crate) struct Tun(OwnedFd);

impl Tun {
    /// Make a device in the calling thread's network namespace, with this name and number.
    ///
    /// Every packet has a virtio header; the receiver computes checksums. With `super_packets`, TCP and UDP segments come
    /// unsegmented.
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
        // SAFETY: the kernel reads and writes one ifreq through the pointer, which is to a live local one.
        check(unsafe { libc::ioctl(self.0.as_raw_fd(), libc::TUNSETIFF, &raw mut request) })?;
        // The kernel removes a device asynchronously with its namespace; removal with its descriptor would block for a tenth of a
        // second.
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
            // Kernels without UDP segmentation refuse the combination.
            self.take_over(all)
                .or_else(|_| self.take_over(CHECKSUMS | TCP_SEGMENTATION))
        } else {
            self.take_over(CHECKSUMS)
        }
    }

    /// Set the offloads that the reader of this device accepts.
    fn take_over(&self, offloads: u32) -> io::Result<()> {
        let offloads = libc::c_ulong::from(offloads);
        // SAFETY: the argument of this request is a number.
        check(unsafe { libc::ioctl(self.0.as_raw_fd(), libc::TUNSETOFFLOAD, offloads) })
    }

    /// Read the next packet that the namespace sent, with its virtio header; none if none is waiting.
    pub(crate) fn read(&self, into: &mut [u8]) -> Option<usize> {
        rustix::io::read(&self.0, into).ok()
    }

    /// Send a packet to the namespace. The device may refuse it; it is then lost, as on any link.
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

/// Return the remedy if no device can be made.
pub(crate) fn cure() -> &'static str {
    if std::path::Path::new(MAKER).exists() {
        "as root: chmod 666 /dev/net/tun (in a container, start it with --device /dev/net/tun)"
    } else {
        "as root: modprobe tun (in a container, start it with --device /dev/net/tun)"
    }
}
