#!/bin/sh
# Runs every fuzz target for a while on a stable compiler: fuzz/smoke.sh [SECONDS] [SEED] [TARGET]
set -eu
cd "$(dirname "$0")"
exec cargo run --quiet --bin smoke -- "${1:-60}" "${2:-1}" ${3:+"$3"}
