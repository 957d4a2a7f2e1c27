#!/bin/sh
# Runs a server until SIGTERM, then removes the folder of its configuration: serve.sh FOLDER COMMAND...
# A shell, because it runs as long as the server and is measured with it: it takes a fraction of a
# megabyte.
folder=$1
shift
server=
stop=
trap 'stop=1; [ -z "$server" ] || kill -TERM "$server" 2>/dev/null' TERM INT
"$@" &
server=$!
# A signal may have come before the server was started.
[ -z "$stop" ] || kill -TERM "$server" 2>/dev/null
wait "$server"
status=$?
# A signal ends a wait early: the status is then not that of the server.
while [ "$status" -gt 128 ] && [ -n "$stop" ]; do
    stop=
    wait "$server"
    status=$?
done
rm -rf "$folder"
exit "$status"
