# Everything here runs with Go and make alone, but what the notes say otherwise.
#
#   make build     bin/krmcat, one static binary
#   make test      every test, beside what other programs made when it was stored
#   make live      the tests that other programs take part in, with those programs and bin/krmcat
#   make demo      publish, view and render, from an empty folder to resources
#   make bench     krmcat against the kustomize CLI, in one run
#   make krusty    kustomize's own tests, with krmcat in the place of kustomize
#   make check     everything that a change has to pass: what .ci/run calls
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
# The sets of a race run: packages with goroutines of their own.
RACE     ?= ./registry/... ./catalog/... ./fnexec/... ./sandbox/... ./verify/... ./openapi/... ./pipeline/... ./render/...

# Kustomize has a plugin loader that needs cgo, and urfave/cli a printer of man pages that
# takes time at every start; krmcat has no use for either.
TAGS    := kustomize_disable_go_plugin_support,urfave_cli_no_docs
# Go stamps the version from git. A checkout that git refuses to look at (another
# owner's, or no repository) is built without.
VCS     := $(shell git status --porcelain >/dev/null 2>&1 && echo true || echo false)
# A catalog that this build searches first and trusts: oci://…, none unless it is given.
OFFICIAL_CATALOG ?=
# Where the policy of a machine stands: the system's place for such files unless it is given.
MACHINE_DIR ?=
LDFLAGS := -s -w -X main.officialCatalog=$(OFFICIAL_CATALOG) -X main.machineDir=$(MACHINE_DIR)
FLAGS   := -tags $(TAGS) -buildvcs=$(VCS) -ldflags "$(LDFLAGS)"
# Where krmcat goes.
BIN     ?= bin
export CGO_ENABLED ?= 0
# The same flags for everything, so that what one target compiled the next one finds.
export GOFLAGS := $(GOFLAGS) -trimpath

TOOLS   := kustomize registry golangci-lint cosign-v2 cosign-v3 crane nerdctl
# The real programs that krmcat has to agree with, and the tests in which they take part. The
# others that need a registry have the real one in make race.
NEIGHBOURS := bin/tools/kustomize bin/tools/registry bin/tools/cosign-v2 bin/tools/cosign-v3 bin/tools/crane
LIVE    := ./e2e/script ./fnexec/container/internal/image ./internal/likeness ./internal/pages ./internal/regtest ./internal/sigtest ./registry ./verify/cosign
# What stores the answers of the real programs anew.
STORED  := ./e2e/script ./fnexec/container/internal/image ./internal/likeness
# How long the tests of a package may take: some minutes on a machine that does nothing else.
TIMEOUT ?= 30m
SYSTEMS := linux/amd64 darwin/arm64 windows/amd64
RELEASE := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

.PHONY: stages build man test live live-update demo bench krusty lint vet fmt fmt-check fuzz race races cross archtest check release image tools clean

# The small program that krmcat starts inside a sandbox, for the systems that have sandboxes:
# what is built after it embeds it (internal/shim/built). It is the same whoever builds it.
STAGES := amd64 arm64
stages:
	@set -e; for a in $(STAGES); do \
		GOOS=linux GOARCH=$$a CGO_ENABLED=0 GOFLAGS=-trimpath $(GO) build -buildvcs=false -ldflags "-s -w" -o bin/stage-$$a.$$$$ ./internal/shim/stage; \
		mv -f bin/stage-$$a.$$$$ internal/shim/built/linux_$$a/stage; done

# krmcat for linux/amd64 has what judges signatures as a part of its own, which no command
# starts with that judges none (docs/adr/0027): joined OUT. Elsewhere it is linked in. The parts
# have names of their own until they are whole, so that two can build in one BIN.
HOST    := $(shell $(GO) env GOOS)/$(shell $(GO) env GOARCH)
joined   = GOOS=linux GOARCH=amd64 $(GO) build -tags $(TAGS) -buildvcs=false -ldflags "-s -w -T 0x40001000" -o $(BIN)/krmcat-judge.$$$$ ./verify/cosign/judge/program && \
	GOOS=linux GOARCH=amd64 $(GO) build -tags $(TAGS),krmcat_joined -buildvcs=$(VCS) -ldflags "$(LDFLAGS) -E krmcat_entry" -o $(BIN)/krmcat-alone.$$$$ . && \
	GOOS=linux GOARCH=amd64 $(GO) build -buildvcs=false -ldflags "-s -w -T 0x50001000" -o $(BIN)/krmcat-stage.$$$$ ./internal/shim/stage && \
	$(GO) run -tags $(TAGS) ./internal/join $(1) $(BIN)/krmcat-alone.$$$$ $(BIN)/krmcat-judge.$$$$ $(BIN)/krmcat-stage.$$$$ && \
	for n in alone judge stage; do mv -f $(BIN)/krmcat-$$n.$$$$ $(BIN)/krmcat-$$n || exit 1; done

# What a joined program is made of.
PARTS   := $(BIN)/krmcat-alone $(BIN)/krmcat-judge $(BIN)/krmcat-stage

# The go command knows what is out of date better than make does.
# The manual page, from the help of every command.
man:
	@mkdir -p bin
	$(GO) run -tags $(TAGS) ./internal/man >bin/krmcat.1

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

# Tests of kustomize's api module, patched to build with programs: internal/krusty.
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

# How often krmcat is called while somebody exchanges its programs: 8 times in make test.
races: stages
	KRMCAT_TEST_RACES=500 $(GO) test -tags $(TAGS) -count=1 -timeout 60m -run '^TestExchangedPrograms$$' ./e2e/process

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

# One of each system; release builds all six.
cross: stages
	@set -e; for p in $(SYSTEMS); do \
		echo "building $$p"; GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build $(FLAGS) -o bin/cross/krmcat-$${p%/*} .; done

# An archive for each system, the checksums of all, and the modules that each program was built of:
# a joined program has several parts, and go version -m reads the modules of the first alone. The
# files belong to root: tar, run by root, would give them to whoever has the number of the builder.
OWNER = --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX
release: stages
	@set -e; rm -rf dist; mkdir -p dist; for p in $(RELEASE); do \
		os=$${p%/*}; name=krmcat_$${os}_$${p#*/}; ext=; [ $$os = windows ] && ext=.exe; mkdir dist/$$name; out=dist/$$name/krmcat$$ext; parts=$$out; \
		echo "building dist/$$name.tar.gz"; if [ $$p = linux/amd64 ]; then $(call joined,$$out) || exit 1; parts="$(PARTS)"; else \
		GOOS=$$os GOARCH=$${p#*/} $(GO) build $(FLAGS) -o $$out .; fi; \
		$(GO) version -m $$parts >dist/$$name.modules.txt; cp LICENSE dist/$$name/; \
		tar $(OWNER) -C dist/$$name -czf dist/$$name.tar.gz krmcat$$ext LICENSE; rm -r dist/$$name; done; \
	cd dist && sha256sum *.tar.gz *.modules.txt > SHA256SUMS && cat SHA256SUMS

# A container image with krmcat in it, by docker or another ENGINE.
ENGINE ?= docker
BASE   ?= docker.io/library/alpine:3.22
image: build
	@mkdir -p $(BIN)/image && cp $(BIN)/krmcat $(BIN)/image/
	$(ENGINE) build --build-arg BASE=$(BASE) -t krmcat:latest -f Dockerfile $(BIN)/image

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
