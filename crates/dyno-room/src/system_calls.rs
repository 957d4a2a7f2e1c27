//! A filter of system calls: `EPERM` for calls that no subject needs, or that reach the kernel shared by all rooms.
//!
//! The filter is an additional layer: without it (`--no-seccomp`) the room is just as closed. Subjects may trace other processes
//! and mount file systems; they stay within their namespaces.

use std::io;

use libc::{sock_filter, sock_fprog};

/// `struct seccomp_data`: the number of the call, the architecture, the low half of the second argument.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const SECOND_ARGUMENT: u32 = 24;

/// A program for another instruction set uses other numbers.
#[cfg(target_arch = "x86_64")]
const NATIVE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const NATIVE: u32 = 0xc000_00b7;
/// System call numbers of x32, the third instruction set of these machines, have this bit.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;
/// i386, whose programs the kernel may run, too.
#[cfg(target_arch = "x86_64")]
const I386: u32 = 0x4000_0003;

/// BPF programs, kernel modules, kexec, performance counters, keys.
const REFUSED: [libc::c_long; 10] = [
    libc::SYS_bpf,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_perf_event_open,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
];
/// The same on i386, where `kexec_file_load` does not exist (`arch/x86/entry/syscalls/syscall_32.tbl`).
#[cfg(target_arch = "x86_64")]
const REFUSED_I386: [u32; 9] = [357, 283, 128, 350, 129, 336, 288, 286, 287];
#[cfg(target_arch = "x86_64")]
const IOCTL_I386: u32 = 54;
/// Requests that insert input into a terminal.
const REFUSED_IOCTLS: [u32; 2] = [0x5412, 0x541c];

/// Instructions, as numbered by the kernel (`linux/bpf_common.h`): load a word, skip unless equal, return, mask.
const LOAD: u16 = 0x20;
const IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;
const AND: u16 = 0x54;
const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const REFUSE: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;

/// Refuse these calls to this process and its descendants.
pub(crate) fn refuse() -> io::Result<()> {
    let filter = filter();
    let program = sock_fprog {
        len: u16::try_from(filter.len()).map_err(io::Error::other)?,
        filter: filter.as_ptr().cast_mut(),
    };
    // SAFETY: the program and its instructions live until the call returns; the kernel copies both.
    let result = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            0,
            &raw const program,
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Return the program: by architecture, then by call number; `ioctl` by its request.
fn filter() -> Vec<sock_filter> {
    let native: Vec<u32> = REFUSED.iter().map(|call| number(*call)).collect();
    let mut program = vec![instruction(LOAD, ARCHITECTURE)];
    let mut part = calls(&native, number(libc::SYS_ioctl));
    program.push(unless_equal(NATIVE, part.len()));
    program.append(&mut part);
    #[cfg(target_arch = "x86_64")]
    {
        let mut part = calls(&REFUSED_I386, IOCTL_I386);
        program.push(unless_equal(I386, part.len()));
        program.append(&mut part);
    }
    program.push(instruction(RETURN, ALLOW));
    program
}

/// Return instructions that decide every call.
fn calls(refused: &[u32], ioctl: u32) -> Vec<sock_filter> {
    let mut part = vec![instruction(LOAD, NUMBER)];
    #[cfg(target_arch = "x86_64")]
    part.push(instruction(AND, !X32));
    for call in refused {
        part.push(unless_equal(*call, 1));
        part.push(instruction(RETURN, REFUSE));
    }
    // Any other call than ioctl is allowed.
    part.push(unless_equal(ioctl, 1 + 2 * REFUSED_IOCTLS.len()));
    part.push(instruction(LOAD, SECOND_ARGUMENT));
    for request in REFUSED_IOCTLS {
        part.push(unless_equal(request, 1));
        part.push(instruction(RETURN, REFUSE));
    }
    part.push(instruction(RETURN, ALLOW));
    part
}

fn number(call: libc::c_long) -> u32 {
    u32::try_from(call).expect("a system call has a small number")
}

const fn instruction(code: u16, k: u32) -> sock_filter {
    sock_filter {
        code,
        jt: 0,
        jf: 0,
        k,
    }
}

/// Skip so many instructions unless the loaded word equals `k`.
fn unless_equal(k: u32, skipped: usize) -> sock_filter {
    sock_filter {
        code: IF_EQUAL,
        jt: 0,
        jf: u8::try_from(skipped).expect("a part is short"),
        k,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulate the kernel's decision (with the four instructions in use).
    fn decision(architecture: u32, number: u32, request: u32) -> u32 {
        let program = filter();
        let (mut place, mut loaded) = (0, 0);
        loop {
            let one = program[place];
            place += 1;
            match one.code {
                LOAD => {
                    loaded = match one.k {
                        NUMBER => number,
                        ARCHITECTURE => architecture,
                        _ => request,
                    }
                }
                AND => loaded &= one.k,
                IF_EQUAL => place += usize::from(if loaded == one.k { one.jt } else { one.jf }),
                _ => return one.k,
            }
        }
    }

    #[test]
    fn only_calls_that_reach_the_kernel_are_refused() {
        for call in REFUSED {
            assert_eq!(decision(NATIVE, number(call), 0), REFUSE, "{call}");
        }
        for call in [
            libc::SYS_read,
            libc::SYS_ptrace,
            libc::SYS_mount,
            libc::SYS_ioctl,
        ] {
            assert_eq!(decision(NATIVE, number(call), 0), ALLOW, "{call}");
        }
        for request in REFUSED_IOCTLS {
            assert_eq!(decision(NATIVE, number(libc::SYS_ioctl), request), REFUSE);
            assert_eq!(decision(NATIVE, number(libc::SYS_read), request), ALLOW);
        }
        assert_eq!(decision(7, number(libc::SYS_bpf), 0), ALLOW);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn other_instruction_sets_do_not_bypass_the_filter() {
        assert_eq!(decision(NATIVE, X32 | number(libc::SYS_bpf), 0), REFUSE);
        assert_eq!(decision(I386, 357, 0), REFUSE);
        assert_eq!(decision(I386, IOCTL_I386, REFUSED_IOCTLS[0]), REFUSE);
        assert_eq!(decision(I386, number(libc::SYS_bpf), 0), ALLOW);
    }
}
