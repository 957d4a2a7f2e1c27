#!/bin/sh
# Runs a server until SIGTERM, then removes the folder of its configuration: serve.sh FOLDER COMMAND...
# A shell, for it stays beside the server and is measured with it: it takes a fraction of a megabyte.
folder=$1
shift
server=
stop=
trap 'stop=1; [ -z "$server" ] || kill -TERM "$server" 2>/dev/null' TERM INT
"$@" &
server=$!
# A signal may have come before there was anyone to send it to.
[ -z "$stop" ] || kill -TERM "$server" 2>/dev/null
wait "$server"
status=$?
# A signal ends a wait early: the status was not that of the server then.
while [ "$status" -gt 128 ] && [ -n "$stop" ]; do
    stop=
    wait "$server"
    status=$?
done
rm -rf "$folder"
exit "$status"
