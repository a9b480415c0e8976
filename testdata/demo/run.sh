#!/bin/sh
# The demo: from two functions on disk to rendered resources. It needs Go and krmcat, no
# network and no registry: what is published goes to an OCI image layout, a directory.
# Every command is shown before it runs. What it prints is compared with demo.golden.
set -eu
cd "$(dirname "$0")/../.."
: "${GO:=go}" "${KRMCAT:=bin/krmcat}"
case $KRMCAT in /*) ;; *) KRMCAT=$PWD/$KRMCAT ;; esac
if [ -z "${DEMO:-}" ]; then
	DEMO=bin/demo
	rm -rf "$DEMO"
fi
mkdir -p "$DEMO"
export CGO_ENABLED=0

krmcat() { "$KRMCAT" "$@"; }
show() { # name of the command, the command…
	shown=$1
	shift
	printf '$ %s\n' "$shown"
	"$@"
	echo
}
run() { show "$*" "$@"; }

platform=$("$GO" env GOOS)/$("$GO" env GOARCH)

show "go build -trimpath -o bin/demo/memory-limit ./testdata/demo/function" \
	"$GO" build -trimpath -buildvcs=false -o "$DEMO/memory-limit" ./testdata/demo/function
show "cp -R testdata/demo/files/. bin/demo" cp -R testdata/demo/files/. "$DEMO"
show "cd bin/demo" cd "$DEMO"
# Whoever runs it may have a policy, and catalogs that are trusted anyway.
export XDG_CONFIG_HOME="$PWD/config"
mkdir -m 700 config

run krmcat push oci-layout://store:team-label team-label.star
run krmcat push oci-layout://store:memory-limit --platform "$platform=memory-limit"
run krmcat push oci-layout://store:catalog catalog.yaml --pin
run krmcat view catalog oci-layout://store:catalog
run krmcat render kustomization --trusted-catalog oci-layout://store:catalog --plan
run krmcat render kustomization --trusted-catalog oci-layout://store:catalog
run krmcat render composition --trusted-catalog oci-layout://store:catalog

# The password of the key: it would be asked for.
export COSIGN_PASSWORD=demo
run krmcat keygen
run krmcat push oci-layout://store:catalog catalog.yaml --pin --sign --key cosign.key
run krmcat verify oci-layout://store:catalog --key cosign.pub
run krmcat render kustomization --trusted-catalog oci-layout://store:catalog --key cosign.pub --output rendered.yaml
