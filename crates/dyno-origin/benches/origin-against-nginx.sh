#!/bin/bash
# The origin against nginx on loopback: requests per second, and per CPU second of the server.
#
# Both serve from CPU 0, wrk asks from CPU 1, in turns, so that what disturbs the machine disturbs both.
# Needs nginx and wrk: apt-get install nginx-light wrk
# Usage: origin-against-nginx.sh [RUNS] [SECONDS]
set -euo pipefail

runs=${1:-5} seconds=${2:-4}
for command in nginx wrk cargo python3; do
    command -v "$command" >/dev/null || { echo "needs $command: apt-get install nginx-light wrk" >&2; exit 3; }
done
folder=$(mktemp -d)
serving=()
clean() { for process in "${serving[@]}"; do kill "$process" 2>/dev/null || true; done; wait; rm -rf "$folder"; }
trap clean EXIT

cd "$(dirname "$0")/.."
origin=$(cargo bench --bench serve --no-run --message-format=json 2>/dev/null |
    python3 -c 'import json, sys
lines = (json.loads(line) for line in sys.stdin)
print(next(line["executable"] for line in lines if line.get("target", {}).get("name") == "serve" and line.get("executable")))')

mkdir -p "$folder/www" "$folder/logs"
printf 'Hello, World!' >"$folder/www/plain"
head -c 16384 /dev/zero | tr '\0' 'x' >"$folder/www/json"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=127.0.0.1 \
    -keyout "$folder/key.pem" -out "$folder/leaf.pem" 2>/dev/null
cat >"$folder/nginx.conf" <<CONF
worker_processes 1;
daemon off;
master_process off;
pid $folder/nginx.pid;
error_log $folder/logs/error.log crit;
events { worker_connections 4096; multi_accept on; }
http {
    access_log off;
    sendfile on;
    tcp_nopush on;
    tcp_nodelay on;
    keepalive_requests 1000000000;
    open_file_cache max=100;
    client_body_temp_path $folder/body; proxy_temp_path $folder/proxy; fastcgi_temp_path $folder/fastcgi;
    uwsgi_temp_path $folder/uwsgi; scgi_temp_path $folder/scgi;
    default_type text/plain;
    server {
        listen 127.0.0.1:18080 backlog=4096;
        listen 127.0.0.1:18443 ssl backlog=4096;
        ssl_certificate $folder/leaf.pem; ssl_certificate_key $folder/key.pem;
        root $folder/www;
    }
}
CONF

taskset -c 0 nginx -p "$folder" -c "$folder/nginx.conf" 2>/dev/null &
nginx_process=$!
serving+=("$nginx_process")
mkfifo "$folder/stop"
sleep infinity >"$folder/stop" &
serving+=("$!")
"$origin" 0 18081 18444 <"$folder/stop" >"$folder/origin.out" &
origin_process=$!
serving+=("$origin_process")
until grep -q ready "$folder/origin.out"; do sleep 0.1; done
until (exec 3<>/dev/tcp/127.0.0.1/18080) 2>/dev/null; do sleep 0.1; done

# User and system time of a process, in clock ticks.
ticks() { awk '{print $14 + $15}' "/proc/$1/stat"; }

measure() { # server, process, URL, case
    local before after
    before=$(ticks "$2")
    taskset -c 1 wrk -t1 -c64 -d"${seconds}s" "$3" >"$folder/wrk.out"
    after=$(ticks "$2")
    grep -q 'Non-2xx\|Socket errors' "$folder/wrk.out" && { cat "$folder/wrk.out" >&2; exit 1; }
    echo "$4 $1 $(awk '/requests in/ {print $1, $4}' "$folder/wrk.out" | sed 's/s,$//') $((after - before))" >>"$folder/results"
}

for run in $(seq "$runs"); do
    echo "run $run of $runs" >&2
    for case in "http plain 18080 18081" "http json 18080 18081" "https plain 18443 18444" "https json 18443 18444"; do
        read -r scheme path nginx_port origin_port <<<"$case"
        measure nginx "$nginx_process" "$scheme://127.0.0.1:$nginx_port/$path" "$scheme-$path"
        measure origin "$origin_process" "$scheme://127.0.0.1:$origin_port/$path" "$scheme-$path"
    done
done

python3 - "$folder/results" "$(getconf CLK_TCK)" <<'PYTHON'
import statistics
import sys

rows = [line.split() for line in open(sys.argv[1])]
ticks_per_s = float(sys.argv[2])


def seconds(text):
    return float(text[:-1]) * 60 if text.endswith("m") else float(text.rstrip("s"))


def spread(values):
    return f"{statistics.median(values):10.2f}  [{min(values):.2f} - {max(values):.2f}]"


for case in dict.fromkeys(row[0] for row in rows):
    measured = {}
    for server in ("nginx", "origin"):
        mine = [row for row in rows if row[:2] == [case, server]]
        per_s = [int(row[2]) / seconds(row[3]) for row in mine]
        per_cpu_s = [int(row[2]) / (int(row[4]) / ticks_per_s) for row in mine]
        measured[server] = (per_s, per_cpu_s)
        print(f"{case:12} {server:6}  requests/s {spread(per_s)}   requests/CPU s {spread(per_cpu_s)}")
    for place, name in enumerate(("requests/s", "requests/CPU s")):
        pairs = zip(measured["origin"][place], measured["nginx"][place])
        print(f"{case:12} origin/nginx {name:15} {spread([ours / theirs for ours, theirs in pairs])}")
PYTHON
