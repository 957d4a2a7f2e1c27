//! `room --driver COMMAND`: the command is a server, and another program connects to it from the other end of the link.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use dyno_room::{
    NamesAndTrust, Outcome, PeerOptions, Room, ServerOptions, SubjectOptions, addresses,
};

use super::arguments::{Arguments, ServerArguments};
use super::conclude::conclude;
use super::files::Files;
use super::last_line::with_last_line;
use super::link;
use super::program::{create, listening_at, split_command, standard_error, standard_output};
use crate::progress::{Counters, Progress};

/// Placeholder of the server's URL in the arguments of a driver.
const URL_PLACE: &str = "{server_url}";
/// Variable with the server's URL.
const URL_VARIABLE: &str = "SERVER_URL";

/// The driver of a server.
pub struct Drive {
    argv: Vec<OsString>,
    url: String,
    port: u16,
    ready_timeout: Duration,
    output: Option<PathBuf>,
}

impl Drive {
    /// Reads the driver from the options, if the command is a server.
    pub fn read(asked: &ServerArguments) -> Result<Option<Self>> {
        let Some(command) = &asked.driver else {
            return Ok(None);
        };
        let (host, port) = (addresses::SUBJECT_V4.address, asked.listen_port);
        let url = format!("http://{host}:{port}");
        let argv = split_command("--driver", &command.replace(URL_PLACE, &url))?;
        Ok(Some(Self {
            argv,
            url,
            port,
            ready_timeout: asked.ready_timeout,
            output: asked.driver_output.clone(),
        }))
    }

    fn options(&self, arguments: &Arguments) -> Result<ServerOptions> {
        let output = match &self.output {
            Some(path) => create("--driver-output", path)?,
            None => standard_output()?,
        };
        let url = (URL_VARIABLE.into(), self.url.clone().into());
        Ok(ServerOptions {
            port: self.port,
            ready_timeout: self.ready_timeout,
            driver: PeerOptions {
                argv: self.argv.clone(),
                environment: arguments.environment(vec![url]),
                directory: None,
                output,
                error: standard_error()?,
            },
        })
    }

    /// The options of the server; its HOST and PORT override variables of the command line.
    fn server(&self, files: Files, arguments: &Arguments) -> SubjectOptions {
        let host = addresses::SUBJECT_V4.address.to_string();
        let variables = [arguments.variables.clone(), listening_at(&host, self.port)];
        let (subject, _) = files.subject(arguments);
        SubjectOptions {
            environment: arguments.environment(variables.concat()),
            ..subject
        }
    }
}

/// Creates the room, runs server and driver in it, writes the report; returns 0 if the server was measured, whatever
/// the result.
pub fn run(arguments: &Arguments, drive: &Drive) -> Result<u8> {
    let files = Files::open(arguments)?;
    let server = drive.options(arguments)?;
    let mut progress = Progress::new(arguments.progress)?;
    progress.preparing();
    let mut room = Room::enter(&arguments.room_options()?)?;
    // Threads may start from here on.
    room.install_names_and_trust(&NamesAndTrust {
        trust_files: arguments.trust_files.clone(),
        ..NamesAndTrust::default()
    })?;
    if !link::verify(&arguments.link, &mut room)? {
        let ending = room.refuse(arguments.argv.clone())?;
        return conclude(arguments, ending, None, None);
    }
    let running = room.start(drive.server(files, arguments))?;
    let watch = progress.watch(Counters::default);
    let mut ending = running.serve(&server)?;
    watch.end();
    if matches!(ending.outcome, Outcome::NeverListened | Outcome::Died) {
        let printed = arguments.stderr.as_deref();
        ending.reason = ending.reason.map(|reason| with_last_line(reason, printed));
    }
    conclude(arguments, ending, None, None)
}
