# krmcat in a container: `make image`. The context is the directory that holds the program.
# BASE brings what a job needs beside krmcat: a shell, and the certificates of registries.
ARG BASE=docker.io/library/alpine:3.22
FROM ${BASE}
COPY krmcat /usr/local/bin/krmcat
ENTRYPOINT ["/usr/local/bin/krmcat"]
