#!/bin/sh
# Writes the answers of the libraries of kpt's starlark function into answers.txt.
set -eu
cd "$(dirname "$0")"
GOFLAGS=-mod=readonly go run . answers.txt
