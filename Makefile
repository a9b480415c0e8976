# Go and make are enough, except where a note says otherwise.
#
#   make build     bin/krmcat, one static binary
#   make test      all tests, compared with stored output of other programs
#   make live      the tests that run other programs, with these programs and bin/krmcat
#   make demo      publish, view and render, from an empty directory to resources
#   make bench     krmcat compared with the kustomize CLI, in one run
#   make krusty    kustomize's own tests, run with krmcat instead of kustomize
#   make check     everything that a change must pass; .ci/run calls it
#   make image     a container image with krmcat
#   make release   an archive for each system, into dist
#   make tools     the pinned tools, into bin/tools
#   make stages lint vet fmt fuzz race cross    the parts, one at a time

MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := build

GO      ?= go
# How long each fuzz function runs.
FUZZTIME ?= 10s
# The packages of a race run: those with goroutines of their own.
RACE     ?= ./registry/... ./catalog/... ./fnexec/... ./sandbox/... ./verify/... ./openapi/... ./pipeline/... ./render/...

# krmcat does not use kustomize's plugin loader, which needs cgo, nor urfave/cli's printer of man
# pages, which takes time at every start.
TAGS    := kustomize_disable_go_plugin_support,urfave_cli_no_docs
# Go takes the version from git. A checkout that git refuses to read (of another owner, or no
# repository) is built without a version.
VCS     := $(shell git status --porcelain >/dev/null 2>&1 && echo true || echo false)
# A catalog that this build searches first and trusts: oci://…; none by default.
OFFICIAL_CATALOG ?=
# The directory of the machine's policy; by default the system's directory for such files.
MACHINE_DIR ?=
LDFLAGS := -s -w -X main.officialCatalog=$(OFFICIAL_CATALOG) -X main.machineDir=$(MACHINE_DIR)
FLAGS   := -tags $(TAGS) -buildvcs=$(VCS) -ldflags "$(LDFLAGS)"
# The directory of the built programs.
BIN     ?= bin
export CGO_ENABLED ?= 0
# The same flags for all targets, so that they share the cache of compiled packages.
export GOFLAGS := $(GOFLAGS) -trimpath

TOOLS   := kustomize registry golangci-lint cosign-v2 cosign-v3 crane nerdctl
# The programs that krmcat is compared with, and the tests that run them. The other tests that need a
# registry use the real one in make race.
NEIGHBOURS := bin/tools/kustomize bin/tools/registry bin/tools/cosign-v2 bin/tools/cosign-v3 bin/tools/crane
LIVE    := ./e2e/script ./fnexec/container/internal/image ./internal/likeness ./internal/pages ./internal/regtest ./internal/sigtest ./registry ./verify/cosign
# The tests that store the output of these programs.
STORED  := ./e2e/script ./fnexec/container/internal/image ./internal/likeness
# The time limit for the tests of one package. On an idle machine they take some minutes.
TIMEOUT ?= 30m
SYSTEMS := linux/amd64 darwin/arm64 windows/amd64
RELEASE := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

.PHONY: stages build man test live live-update demo bench krusty lint vet fmt fmt-check fuzz race races cross archtest check release image tools clean

# The small program that krmcat starts inside a sandbox, for the systems that have sandboxes. krmcat
# embeds it (internal/shim/built), so it is built first. Its build is reproducible.
STAGES := amd64 arm64
stages:
	@set -e; for a in $(STAGES); do \
		GOOS=linux GOARCH=$$a CGO_ENABLED=0 GOFLAGS=-trimpath $(GO) build -buildvcs=false -ldflags "-s -w" -o bin/stage-$$a.$$$$ ./internal/shim/stage; \
		mv -f bin/stage-$$a.$$$$ internal/shim/built/linux_$$a/stage; done

# joined OUT: krmcat for linux/amd64 contains the program that judges signatures as a separate part,
# so that commands which judge none do not load it (docs/adr/0027). On other systems it is linked in.
# Unfinished parts have the number of the process in their names, so that two builds can share BIN.
HOST    := $(shell $(GO) env GOOS)/$(shell $(GO) env GOARCH)
joined   = GOOS=linux GOARCH=amd64 $(GO) build -tags $(TAGS) -buildvcs=false -ldflags "-s -w -T 0x40001000" -o $(BIN)/krmcat-judge.$$$$ ./verify/cosign/judge/program && \
	GOOS=linux GOARCH=amd64 $(GO) build -tags $(TAGS),krmcat_joined -buildvcs=$(VCS) -ldflags "$(LDFLAGS) -E krmcat_entry" -o $(BIN)/krmcat-alone.$$$$ . && \
	GOOS=linux GOARCH=amd64 $(GO) build -buildvcs=false -ldflags "-s -w -T 0x50001000" -o $(BIN)/krmcat-stage.$$$$ ./internal/shim/stage && \
	$(GO) run -tags $(TAGS) ./internal/join $(1) $(BIN)/krmcat-alone.$$$$ $(BIN)/krmcat-judge.$$$$ $(BIN)/krmcat-stage.$$$$ && \
	for n in alone judge stage; do mv -f $(BIN)/krmcat-$$n.$$$$ $(BIN)/krmcat-$$n || exit 1; done

# The parts of a joined program.
PARTS   := $(BIN)/krmcat-alone $(BIN)/krmcat-judge $(BIN)/krmcat-stage

# The manual page, from the help of every command.
man:
	@mkdir -p bin
	$(GO) run -tags $(TAGS) ./internal/man >bin/krmcat.1

# The go command, not make, decides what is out of date.
build: stages
ifeq ($(HOST),linux/amd64)
	$(call joined,$(BIN)/krmcat)
else
	$(GO) build $(FLAGS) -o $(BIN)/krmcat .
endif

test: stages
	$(GO) test -timeout $(TIMEOUT) -tags $(TAGS) ./...

live: build $(NEIGHBOURS)
	KRMCAT_LIVE=1 KRMCAT_BIN=$(CURDIR)/bin/krmcat $(GO) test -timeout $(TIMEOUT) -tags $(TAGS) $(LIVE)

live-update: stages $(NEIGHBOURS)
	KRMCAT_LIVE=1 UPDATE_GOLDEN=1 $(GO) test -count=1 -timeout $(TIMEOUT) -tags $(TAGS) -run 'Like|TestRandomPipelines|TestKustomize|TestScripts' $(STORED)

demo: build
	@KRMCAT=bin/krmcat GO="$(GO)" sh testdata/demo/run.sh

bench: build $(NEIGHBOURS)
	$(GO) run -tags $(TAGS) ./internal/bench -krmcat bin/krmcat -kustomize bin/tools/kustomize

# The tests of kustomize's api module, patched to run a program (internal/krusty).
krusty: build bin/tools/kustomize
	$(GO) run -tags $(TAGS) ./internal/krusty -krmcat bin/krmcat -kustomize bin/tools/kustomize

archtest:
	$(GO) test -tags $(TAGS) -count=1 ./internal/archtest

# Every fuzz function, one after the other: go test takes one at a time.
fuzz:
	@GO="$(GO)" TAGS=$(TAGS) FUZZTIME=$(FUZZTIME) sh .ci/fuzz

# The race detector needs a C compiler.
race: stages $(NEIGHBOURS)
	KRMCAT_LIVE=1 CGO_ENABLED=1 GORACE=atexit_sleep_ms=0 $(GO) test -race -timeout $(TIMEOUT) -tags $(TAGS) $(RACE)

# Calls krmcat 500 times while its programs are exchanged; make test does it 8 times.
races: stages
	KRMCAT_TEST_RACES=500 $(GO) test -tags $(TAGS) -count=1 -timeout 60m -run '^TestReplacedPrograms$$' ./e2e/process

lint: bin/tools/golangci-lint
	bin/tools/golangci-lint run --build-tags $(TAGS)

vet:
	@set -e; for p in $(SYSTEMS); do \
		echo "vetting for $$p"; GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) vet -tags $(TAGS) ./...; done

fmt:
	$(GO) fmt ./...

fmt-check:
	@unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	if [ -n "$$unformatted" ]; then echo "run make fmt, these differ:"; echo "$$unformatted"; exit 1; fi; echo "gofmt: clean"

# One program for each system; release builds all six.
cross: stages
	@set -e; for p in $(SYSTEMS); do \
		echo "building $$p"; GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build $(FLAGS) -o bin/cross/krmcat-$${p%/*} .; done

# An archive for each system, the checksums of all archives, and a list of modules for each program:
# go version -m reads only the first part of a joined program. The files in the archives belong to
# root, because tar, if run by root, would give them to the user with the uid of the builder.
OWNER = --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX
release: stages
	@set -e; rm -rf dist; mkdir -p dist; for p in $(RELEASE); do \
		os=$${p%/*}; name=krmcat_$${os}_$${p#*/}; ext=; [ $$os = windows ] && ext=.exe; mkdir dist/$$name; out=dist/$$name/krmcat$$ext; parts=$$out; \
		echo "building dist/$$name.tar.gz"; if [ $$p = linux/amd64 ]; then $(call joined,$$out) || exit 1; parts="$(PARTS)"; else \
		GOOS=$$os GOARCH=$${p#*/} $(GO) build $(FLAGS) -o $$out .; fi; \
		$(GO) version -m $$parts >dist/$$name.modules.txt; cp LICENSE dist/$$name/; \
		tar $(OWNER) -C dist/$$name -czf dist/$$name.tar.gz krmcat$$ext LICENSE; rm -r dist/$$name; done; \
	cd dist && sha256sum *.tar.gz *.modules.txt > SHA256SUMS && cat SHA256SUMS

# A container image with krmcat for linux in it, by docker or another ENGINE.
ENGINE ?= docker
BASE   ?= docker.io/library/alpine:3.22
IMAGE  ?= krmcat:latest
image: build
	@mkdir -p $(BIN)/image
ifeq ($(HOST),linux/amd64)
	@cp $(BIN)/krmcat $(BIN)/image/
else
	GOOS=linux $(GO) build $(FLAGS) -o $(BIN)/image/krmcat .
endif
	$(ENGINE) build --build-arg BASE=$(BASE) -t $(IMAGE) -f Dockerfile $(BIN)/image

check: tools
	@MAKE="$(MAKE)" sh .ci/check

# Each tool is a module of its own, so that versions do not mix, and none enters go.mod.
# A tool is rebuilt when its go.mod or go.sum changes.
tools: $(TOOLS:%=bin/tools/%)

$(TOOLS:%=bin/tools/%): bin/tools/%: internal/tools/%/go.mod internal/tools/%/go.sum
	@mkdir -p bin/tools
	@echo "building $@"
	@cd internal/tools/$* && GOWORK=off GOFLAGS=-mod=readonly $(GO) build -trimpath -buildvcs=false -o ../../../$@.new $$(sed -n 's/^tool //p' go.mod)
	@mv $@.new $@

clean:
	rm -rf bin/krmcat bin/krmcat-* bin/cross dist internal/shim/built/linux_*/stage
