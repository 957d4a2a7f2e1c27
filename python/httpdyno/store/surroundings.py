"""What a manifest says about where a run was made: the machine, the checkout, the lockfiles."""

import hashlib
import os
import platform
import subprocess
from pathlib import Path
from typing import Final

from httpdyno.store.manifest import GitState, Machine

__all__ = ["describe_git", "describe_machine", "lockfile_digests"]

_SYSCTLS: Final = (
    "net.core.rmem_max",
    "net.core.somaxconn",
    "net.core.wmem_max",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_wmem",
    "kernel.sched_autogroup_enabled",
    "vm.swappiness",
)
_LOCKFILES: Final = (
    "Cargo.lock",
    "Gemfile.lock",
    "bun.lock",
    "composer.lock",
    "deno.lock",
    "go.sum",
    "gradle.lockfile",
    "mix.lock",
    "package-lock.json",
    "packages.lock.json",
    "pnpm-lock.yaml",
    "requirements.txt",
    "uv.lock",
    "yarn.lock",
)
_GIT_TIMEOUT_S: Final = 10


def describe_machine() -> Machine:
    """Describe the machine from what the kernel shows; never fails, what cannot be read is None."""
    cpuinfo = _text(Path("/proc/cpuinfo")) or ""
    sysctls = {name: _text(Path("/proc/sys", *name.split("."))) for name in _SYSCTLS}
    return Machine(
        system=platform.system(),
        kernel=platform.release(),
        architecture=platform.machine(),
        cpu=_cpuinfo(cpuinfo, "model name") or _cpuinfo(cpuinfo, "Model"),
        cpus=os.cpu_count(),
        memory_bytes=_memory_bytes(),
        virtualisation="hypervisor" if "hypervisor" in (_cpuinfo(cpuinfo, "flags") or "").split() else None,
        governor=_text(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        clock_source=_text(Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        sysctls={name: value for name, value in sysctls.items() if value is not None},
    )


def describe_git(folder: Path) -> GitState | None:
    """Describe the checkout that a folder lies in; None when it lies in none, or there is no git."""
    commit = _git(folder, "rev-parse", "HEAD")
    status = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return None if commit is None or status is None else GitState(commit.strip(), bool(status.strip()))


def lockfile_digests(folder: Path) -> dict[str, str]:
    """SHA-256 of the lockfiles that stand in a subject's folder, by file name."""
    files = [folder / name for name in _LOCKFILES]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.is_file()}


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        # Without optional locks, looking at a checkout cannot get in the way of a commit at the same time.
        argv = ["git", "--no-optional-locks", *arguments]
        done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=_GIT_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _cpuinfo(text: str, key: str) -> str | None:
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return None


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return None
