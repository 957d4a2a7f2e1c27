//! One command in a room, sealed or on the machine's own network, from start to report.

use anyhow::Result;
use dyno_room::{NamesAndTrust, Room};

use super::arguments::Arguments;
use super::conclude::conclude;
use super::files::Files;
use super::link;
use super::peer::{self, Peer};
use super::web::RoomWeb;
use crate::progress::Progress;

/// Prepares the room, refuses a wrong link, and runs the command; returns the command's status.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let peer = Peer::read(arguments)?;
    let has_web = peer.is_none() && arguments.network.is_none();
    let web = has_web.then(|| arguments.web.load()).transpose()?;
    let scripts = arguments.scripts.load(None)?;
    let files = Files::open(arguments)?;
    let mut progress = Progress::new(arguments.progress)?;
    progress.preparing();
    let options = arguments.room_options()?;
    let mut room = Room::enter(&options)?;
    // Threads may start from here on; sockets belong to the peer's network, if there is a peer.
    let web = web
        .map(|web| {
            let log_arrivals = arguments.arrivals.is_some();
            RoomWeb::start(web, &room, &options, log_arrivals, scripts.clone())
        })
        .transpose()?;
    room.install_names_and_trust(&NamesAndTrust {
        authorities: web.iter().map(RoomWeb::authority).collect(),
        trust_files: arguments.trust_files.clone(),
        ..NamesAndTrust::default()
    })?;
    if let Some(peer) = peer
        && let Some(reason) = peer.start(&mut room)?
    {
        let ending = room.give_up_peer(arguments.argv.clone(), reason)?;
        return conclude(arguments, ending, None, None);
    }
    match (&web, &arguments.stdin) {
        (Some(web), Some(list)) => progress.expect(Some(web.prepare(list, arguments.timeout)?)),
        (Some(_), None) => {}
        (None, _) => progress.expect(files.answered().listed),
    }
    if !link::verify(&arguments.link, &mut room)? {
        let ending = room.refuse(arguments.argv.clone())?;
        let origin = web.map(RoomWeb::stop).transpose()?;
        return conclude(arguments, ending, origin.as_ref(), None);
    }
    let status = measure(arguments, room, web, files, progress)?;
    arguments.scripts.write_transcripts(scripts.as_deref())?;
    Ok(status)
}

/// Runs the command in a prepared room.
fn measure(
    arguments: &Arguments,
    room: Room,
    web: Option<RoomWeb>,
    files: Files,
    progress: Progress,
) -> Result<u8> {
    let answered = files.answered();
    let (subject, supply) = files.subject(arguments);
    if let Some(web) = &web {
        web.begin();
    }
    let running = room.start(subject)?;
    let running_supply = supply.map(|supply| supply.start(running.stopper()));
    let watch = match &web {
        Some(web) => progress.watch(web.watcher()),
        None => progress.watch(answered.watcher()),
    };
    let mut ending = running.wait()?;
    peer::mark_lost_peer(&mut ending, arguments);
    let fed = running_supply.and_then(|running_supply| running_supply.end(&mut ending));
    watch.end();
    let origin = web.map(RoomWeb::stop).transpose()?;
    if let (Some(path), Some(origin)) = (&arguments.arrivals, &origin) {
        origin.write_arrivals(path)?;
    }
    conclude(arguments, ending, origin.as_ref(), fed)
}
