#!/bin/sh
# Becomes the server. How many threads .NET's pool may have is a setting of the runtime's, read before any code of ours
# runs: a program can only ask for as many as it has CPUs, or more. In hexadecimal; Settings.cs says what is no number.
case "${THREADS:-}" in
'' | *[!0-9]*) ;;
*)
    DOTNET_ThreadPool_ForceMaxWorkerThreads=$(printf '%x' "$THREADS")
    export DOTNET_ThreadPool_ForceMaxWorkerThreads
    # The pool begins with a thread for each CPU, and has never fewer than it begins with.
    if [ "$THREADS" -lt "$(nproc)" ]; then
        export DOTNET_ThreadPool_ForceMinWorkerThreads="$DOTNET_ThreadPool_ForceMaxWorkerThreads"
    fi
    ;;
esac
exec dotnet target/dotnet-kestrel.dll
