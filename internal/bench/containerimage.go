package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// images is a registry, and the program that pushes images to it.
type images struct {
	host, dir, crane string
	filler           string // a program whose bytes fill large images
	stop             func()
}

func startImages(ctx context.Context, o options, dir string) (*images, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	host, stop, err := startRegistry(ctx, o.registry, dir)
	if err != nil {
		return nil, err
	}
	return &images{host: host, dir: dir, crane: o.crane, filler: o.krmcat, stop: stop}, nil
}

// push makes an image FROM scratch with a program and a layer of about size bytes, or of the
// smallest size if size is 0. It returns the image's reference with the digest.
func (i *images) push(ctx context.Context, name, function string, size int) (string, error) {
	layer := filepath.Join(i.dir, name+".tar.gz")
	if err := i.layer(layer, function, size); err != nil {
		return "", fmt.Errorf("making an image: %w", err)
	}
	ref := i.host + "/bench/" + name + ":v1"
	if _, err := i.run(ctx, "append", "--oci-empty-base", "-f", layer, "-t", ref); err != nil {
		return "", err
	}
	out, err := i.run(ctx, "mutate", "--entrypoint", "/function", "--set-platform", platform(), "-t", ref, ref)
	if err != nil {
		return "", err
	}
	_, digest, found := strings.Cut(strings.TrimSpace(string(out)), "@")
	if !found {
		return "", fmt.Errorf("crane mutate printed no digest: %q", out)
	}
	return i.host + "/bench/" + name + "@" + digest, nil
}

func (i *images) run(ctx context.Context, args ...string) ([]byte, error) {
	return program{dir: i.dir, argv: append([]string{i.crane}, args...)}.run(ctx)
}

// layer writes a layer with the program, and with the user that kustomize runs the program as.
func (i *images) layer(file, function string, size int) error {
	data, err := os.ReadFile(function)
	if err != nil {
		return err
	}
	filler, err := os.ReadFile(i.filler)
	if err != nil {
		return err
	}
	packed, err := zipped(data)
	// A program runs even if other bytes follow its end.
	for at, step := 0, 1<<20; err == nil && size > 0 && len(packed) < size && at < len(filler); at += step {
		data = append(data, filler[at:min(at+step, len(filler))]...)
		packed, err = zipped(data)
	}
	if err != nil {
		return err
	}
	if len(packed) < size {
		return fmt.Errorf("%s is too small to fill %d bytes with", i.filler, size)
	}
	return os.WriteFile(file, packed, 0o600)
}

// zipped returns a compressed layer.
func zipped(function []byte) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	passwd := []byte("nobody:x:65534:65534::/:\n")
	for _, f := range []struct {
		header tar.Header
		data   []byte
	}{
		{tar.Header{Name: "etc/", Typeflag: tar.TypeDir, Mode: 0o755}, nil},
		{tar.Header{Name: "etc/passwd", Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(passwd))}, passwd},
		{tar.Header{Name: "function", Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(function))}, function},
	} {
		if err := w.WriteHeader(&f.header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	for _, c := range []io.Closer{w, z} {
		if err := c.Close(); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}
