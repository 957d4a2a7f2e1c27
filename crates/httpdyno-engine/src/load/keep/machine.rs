//! Description of the machine for the manifest, read from the kernel; unreadable values are absent.

use std::collections::BTreeMap;
use std::fs;

use rustix::system::{sysinfo, uname};
use serde::Serialize;

const SYSCTLS: [&str; 11] = [
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
];
const GOVERNOR: &str = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// The machine on which a run was made.
#[derive(Debug, Serialize)]
pub struct Machine {
    system: String,
    kernel: String,
    architecture: String,
    cpu: Option<String>,
    cpus: Option<usize>,
    memory_bytes: Option<u64>,
    virtualisation: Option<&'static str>,
    governor: Option<String>,
    clock_source: Option<String>,
    sysctls: BTreeMap<&'static str, String>,
}

impl Machine {
    /// Describes this machine.
    pub fn here() -> Self {
        let names = uname();
        let memory = sysinfo();
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let field = |key| field(&cpuinfo, key);
        let cpus = cpuinfo
            .lines()
            .filter(|line| line.starts_with("processor"))
            .count();
        let is_guest = field("flags")
            .is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"));
        let sysctls = SYSCTLS.into_iter().filter_map(|name| {
            let path = format!("/proc/sys/{}", name.replace('.', "/"));
            Some((name, text(&path)?))
        });
        Self {
            system: names.sysname().to_string_lossy().into_owned(),
            kernel: names.release().to_string_lossy().into_owned(),
            architecture: names.machine().to_string_lossy().into_owned(),
            cpu: field("model name")
                .or_else(|| field("Model"))
                .map(str::to_owned),
            cpus: (cpus > 0).then_some(cpus),
            memory_bytes: Some(memory.totalram * u64::from(memory.mem_unit)),
            virtualisation: is_guest.then_some("hypervisor"),
            governor: text(GOVERNOR),
            clock_source: text(CLOCK_SOURCE),
            sysctls: sysctls.collect(),
        }
    }
}

fn text(path: &str) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).trim().to_owned())
}

fn field<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let fields = text.lines().filter_map(|line| line.split_once(':'));
    let mut values = fields.filter(|(name, _)| name.trim() == key);
    values.next().map(|(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_the_first_with_its_name() {
        let text = "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n\nprocessor\t: 1\nmodel name\t: Other\n";
        assert_eq!(field(text, "model name"), Some("Some CPU @ 2 GHz"));
        assert_eq!(field(text, "Model"), None);
        let here = Machine::here();
        assert_eq!(here.system, "Linux");
        assert!(here.memory_bytes > Some(1 << 20));
    }
}
