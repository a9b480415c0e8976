#!/bin/sh
# What oras makes of programs that are pushed one by one and put together in an index, as an
# OCI image layout beside this script. Made with oras 1.3.3:
#
#   sh make.sh ORAS
set -eu
oras=$1
cd "$(dirname "$0")"
rm -rf layout
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=$PWD
cd "$work"
printf '#!/bin/sh\ncat\n' >amd64
printf '#!/bin/sh\ncat; true\n' >arm64
layer=application/vnd.cncf.kubernetes.krm-func-runtime-exec.layer.v1
artifact=application/vnd.cncf.kubernetes.krm-func-runtime-exec.v1
created=org.opencontainers.image.created=2026-01-01T00:00:00Z
for arch in amd64 arm64; do
	# Nothing but the type of the layer: nowhere a platform.
	"$oras" push --oci-layout -a $created layout:plain-$arch $arch:$layer
	# The platform stands in a config, which is that of an image.
	"$oras" push --oci-layout -a $created --artifact-platform linux/$arch layout:platform-$arch $arch:$layer
	"$oras" push --oci-layout -a $created --artifact-platform linux/$arch --artifact-type $artifact layout:typed-$arch $arch:$layer
done
for kind in plain platform; do
	"$oras" manifest index create --oci-layout layout:$kind $kind-amd64 $kind-arm64
done
"$oras" manifest index create --oci-layout --artifact-type $artifact layout:typed typed-amd64 typed-arm64
rm -rf layout/ingest
mv layout "$here/layout"
