#!/bin/sh
# Becomes the server. The size of .NET's thread pool is a setting of the runtime, read before any code of the program
# runs; the program itself can only set at least as many threads as CPUs. In hexadecimal; Settings.cs reports invalid
# numbers.
case "${THREADS:-}" in
'' | *[!0-9]*) ;;
*)
    DOTNET_ThreadPool_ForceMaxWorkerThreads=$(printf '%x' "$THREADS")
    export DOTNET_ThreadPool_ForceMaxWorkerThreads
    # The pool begins with a thread for each CPU, and never has fewer.
    if [ "$THREADS" -lt "$(nproc)" ]; then
        export DOTNET_ThreadPool_ForceMinWorkerThreads="$DOTNET_ThreadPool_ForceMaxWorkerThreads"
    fi
    ;;
esac
exec dotnet target/dotnet-kestrel.dll
