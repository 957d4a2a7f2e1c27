//! `room --driver COMMAND`: the command is a server; another program talks to it from the other end of the link.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use dyno_room::{Furnishing, Outcome, PeerOptions, Room, ServerOptions, SubjectOptions, addresses};

use super::arguments::{Arguments, ServerArguments};
use super::conclude::conclude;
use super::files::Files;
use super::last_line::with_last_line;
use super::link;
use super::program::{create, listening_at, standard_error, standard_output, words};
use crate::progress::{Done, Progress};

/// What stands for the server's URL among the arguments of a driver.
const URL_PLACE: &str = "{server_url}";
/// The variable that tells a driver the server's URL.
const URL_VARIABLE: &str = "SERVER_URL";

/// A server's driver, before there is a room.
pub struct Drive {
    argv: Vec<OsString>,
    url: String,
    port: u16,
    ready_timeout: Duration,
    output: Option<PathBuf>,
}

impl Drive {
    /// What drives the command, if it is a server.
    pub fn read(asked: &ServerArguments) -> Result<Option<Self>> {
        let Some(command) = &asked.driver else {
            return Ok(None);
        };
        let (host, port) = (addresses::SUBJECT_V4.address, asked.listen_port);
        let url = format!("http://{host}:{port}");
        let argv = words("--driver", &command.replace(URL_PLACE, &url))?;
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

    /// The server, which is told where to listen, whatever else it was told.
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

/// Makes the room, has the server driven in it, reports; the status is zero when all is known of the server, however it fared.
pub fn run(arguments: &Arguments, drive: &Drive) -> Result<u8> {
    let files = Files::open(arguments)?;
    let server = drive.options(arguments)?;
    let mut progress = Progress::new(arguments.progress)?;
    progress.preparing();
    let mut room = Room::enter(&arguments.room_options()?)?;
    // From here on there may be threads.
    room.furnish(&Furnishing {
        trust_files: arguments.trust_files.clone(),
        ..Furnishing::default()
    })?;
    if !link::hold(&arguments.link, &mut room)? {
        let ending = room.refuse(arguments.argv.clone())?;
        return conclude(arguments, ending, None, None);
    }
    let running = room.start(drive.server(files, arguments))?;
    let watch = progress.watch(Done::default);
    let mut ending = running.serve(&server)?;
    watch.end();
    if matches!(ending.outcome, Outcome::NeverListened | Outcome::Died) {
        let printed = arguments.stderr.as_deref();
        ending.reason = ending.reason.map(|reason| with_last_line(reason, printed));
    }
    conclude(arguments, ending, None, None)
}
