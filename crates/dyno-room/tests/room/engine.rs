//! A small engine for tests: enters a room, runs a subject, writes the ending as JSON.

use std::ffi::OsString;
use std::io::Write;
use std::net::{IpAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::exit;
use std::time::Duration;

use dyno_link::Link;
use dyno_room::{
    Authority, CpuSet, Ending, Environment, LinkOptions, NamesAndTrust, PeerOptions, Result, Room,
    RoomOptions, ServerOptions, SubjectOptions, Surroundings,
};

use crate::stage::PATIENCE;

/// Options of the test engine, before `--`.
#[derive(Debug, Default)]
struct Arguments {
    report: Option<PathBuf>,
    deadline: Option<Duration>,
    memory_limit_bytes: Option<u64>,
    clean: bool,
    authority: Option<PathBuf>,
    trust_files: Vec<PathBuf>,
    directory: Option<PathBuf>,
    peer: Vec<OsString>,
    driver: Vec<OsString>,
    ready_timeout: Duration,
    steer: bool,
    cpu: Option<usize>,
    link: Option<Link>,
    link_seed: u64,
    link_check: bool,
    /// A file to wait for before the subject starts.
    pause: Option<PathBuf>,
    /// Names on this machine's own network, which the subject then uses, too.
    hosts: Vec<(String, IpAddr)>,
    argv: Vec<OsString>,
}

impl Arguments {
    fn parse(arguments: &[OsString]) -> Self {
        let mut parsed = Self {
            ready_timeout: PATIENCE,
            ..Self::default()
        };
        let mut rest = arguments.iter();
        while let Some(name) = rest.next() {
            let name = name.to_str().expect("the tests write UTF-8");
            if name == "--" {
                break;
            }
            if name == "--clean" {
                parsed.clean = true;
                continue;
            }
            let value = rest.next().expect("every option has a value");
            let text = value.to_str().expect("the tests write UTF-8");
            let number = || text.parse::<u64>().expect("a number");
            match name {
                "--report" => parsed.report = Some(value.into()),
                "--deadline-ms" => parsed.deadline = Some(Duration::from_millis(number())),
                "--memory" => parsed.memory_limit_bytes = Some(number()),
                "--authority" => parsed.authority = Some(value.into()),
                "--trust-file" => parsed.trust_files.push(value.into()),
                "--directory" => parsed.directory = Some(value.into()),
                "--peer" => parsed.peer = ["sh", "-c", text].map(OsString::from).to_vec(),
                "--peer-program" => parsed.peer = vec![value.clone()],
                "--driver" => parsed.driver = ["sh", "-c", text].map(OsString::from).to_vec(),
                "--driver-program" => parsed.driver = vec![value.clone()],
                "--ready-ms" => parsed.ready_timeout = Duration::from_millis(number()),
                "--steer" => parsed.steer = text == "on",
                "--link" => parsed.link = Some(text.parse().expect("a link")),
                "--link-seed" => parsed.link_seed = number(),
                "--link-check" => parsed.link_check = text == "on",
                "--subject-cpu" => parsed.cpu = usize::try_from(number()).ok(),
                "--host" => parsed.hosts.push((text.to_owned(), [127, 0, 0, 1].into())),
                "--pause-until" => parsed.pause = Some(value.into()),
                other => panic!("unknown option {other}"),
            }
        }
        parsed.argv = rest.cloned().collect();
        parsed
    }
}

impl Arguments {
    fn environment(&self) -> Environment {
        if self.clean {
            Environment::Clean(vec![])
        } else {
            Environment::Inherited(vec![])
        }
    }

    fn program(&self, argv: &[OsString], output: OwnedFd) -> PeerOptions {
        PeerOptions {
            argv: argv.to_vec(),
            environment: self.environment(),
            directory: None,
            output,
            error: duplicate(std::io::stderr()),
        }
    }
}

/// Run as an engine and exit.
pub fn main(arguments: &[OsString]) -> ! {
    let arguments = Arguments::parse(arguments);
    match run(&arguments) {
        Ok(ending) => {
            if let Some(report) = &arguments.report {
                let file = std::fs::File::create(report).expect("the report can be written");
                serde_json::to_writer(file, &ending).expect("an ending is JSON");
            }
            exit(ending.exit_status().into());
        }
        Err(error) => {
            eprintln!("engine: {error}");
            exit(125);
        }
    }
}

fn run(arguments: &Arguments) -> Result<Ending> {
    let cpus: Vec<usize> = CpuSet::allowed()?.iter().collect();
    let subject_cpu = arguments.cpu.unwrap_or(cpus[cpus.len() - 1]);
    let mut room = Room::enter(&RoomOptions {
        engine_cpus: CpuSet::from([cpus[0]]),
        subject_cpus: CpuSet::from([subject_cpu]),
        memory_limit_bytes: arguments.memory_limit_bytes,
        hostname: "subject".to_owned(),
        surroundings: if arguments.hosts.is_empty() {
            Surroundings::Sealed
        } else {
            Surroundings::Machine
        },
        link: arguments.link.map(|link| LinkOptions {
            link,
            seed: arguments.link_seed,
            cpu: None,
        }),
        receive_steering: arguments.steer,
        filters_system_calls: true,
    })?;
    let authorities = arguments.authority.iter().map(|stem| Authority {
        pem: std::fs::read_to_string(stem.with_extension("pem")).expect("a PEM file"),
        der: std::fs::read(stem.with_extension("der")).expect("a DER file"),
    });
    room.install_names_and_trust(&NamesAndTrust {
        authorities: authorities.collect(),
        trust_files: arguments.trust_files.clone(),
        hosts: arguments.hosts.clone(),
    })?;
    if arguments.hosts.is_empty() {
        serve();
    }
    if !arguments.peer.is_empty() {
        room.start_peer(arguments.program(&arguments.peer, duplicate(std::io::stderr())))?;
    }
    if let Some(file) = &arguments.pause {
        while !file.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    if arguments.link_check
        && let Some(check) = room.check_link()?
    {
        eprintln!("{}", check.line);
        if check.reason.is_some() {
            return room.refuse(arguments.argv.clone());
        }
    }
    let running = room.start(SubjectOptions {
        argv: arguments.argv.clone(),
        environment: arguments.environment(),
        directory: arguments.directory.clone(),
        stdin: duplicate(std::io::stdin()),
        stdout: duplicate(std::io::stdout()),
        stderr: duplicate(std::io::stderr()),
        deadline: arguments.deadline,
    })?;
    if arguments.driver.is_empty() {
        return running.wait();
    }
    running.serve(&ServerOptions {
        port: 8080,
        ready_timeout: arguments.ready_timeout,
        driver: arguments.program(&arguments.driver, duplicate(std::io::stdout())),
    })
}

fn duplicate(stream: impl AsFd) -> OwnedFd {
    rustix::io::dup(stream).expect("a standard stream")
}

/// A minimal origin: greets every connection to port 80, at every address, and answers every name with NXDOMAIN.
fn serve() {
    let listener = TcpListener::bind("[::]:80").or_else(|_| TcpListener::bind("0.0.0.0:80"));
    let listener = listener.expect("port 80 is free in a namespace of its own");
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.expect("a connection");
            let local = connection.local_addr().expect("an address");
            let greeting = format!("{}\n", local.ip().to_canonical());
            let _ = connection.write_all(greeting.as_bytes());
        }
    });
    let names =
        UdpSocket::bind("198.18.0.1:53").expect("port 53 is free in a namespace of its own");
    std::thread::spawn(move || {
        let mut buffer = [0; 512];
        while let Ok((length, from)) = names.recv_from(&mut buffer) {
            let answer = &mut buffer[..length];
            answer[2] |= 0x80;
            answer[3] = 3;
            let _ = names.send_to(answer, from);
        }
    });
}
