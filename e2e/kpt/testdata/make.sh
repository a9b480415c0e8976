#!/bin/sh
# Writes what kpt makes of each package here into its archive: testdata/make.sh /path/to/kpt
# The archives were made with kptdev/kpt at commit 23c57d7f (2026-08-07).
set -eu
KPT=$(realpath "$1")
cd "$(dirname "$0")/.."
export KPT UPDATE_GOLDEN=1
exec go test -count=1 -run 'TestGoldensAreOfKpt' .
