package pages

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/sandbox"
)

const (
	containersPage = "docs/containers.md"
	sandboxPage    = "docs/sandbox.md"
)

// confined skips a test if krmcat's own namespaces do not work here. The pages show these.
func confined(t *testing.T, h home) {
	t.Helper()
	host := sandbox.NewHost(sandbox.HostOptions{Self: h.krmcat, Engines: []sandbox.Engine{sandbox.Native}})
	if _, _, err := host.Engine(t.Context()); err != nil {
		enginetest.Missing(t, "%v", err)
	}
}

// layOut writes the files of a page. It replaces the reference of each image by the one with its
// digest.
func (h home) layOut(t *testing.T, name string, images map[string]string) {
	t.Helper()
	unpinned := regexp.MustCompile(`registry\.example\.com/(\S+?):v1@sha256:…`)
	for _, b := range blocks(page(t, name)) {
		_, file, ok := strings.Cut(b.info, "file=")
		if !ok {
			continue
		}
		text := unpinned.ReplaceAllStringFunc(b.text, func(ref string) string {
			return images[unpinned.FindStringSubmatch(ref)[1]]
		})
		h.write(t, "shop/"+file, strings.ReplaceAll(text, "registry.example.com", h.host))
		mode := os.FileMode(0o644) // krmcat of root runs functions as user nobody, who must be able to read it
		if strings.HasSuffix(file, ".sh") {
			mode = 0o755
		}
		if err := os.Chmod(filepath.Join(h.dir, "shop", filepath.FromSlash(file)), mode); err != nil {
			t.Fatal(err)
		}
	}
}

func TestContainersPageRuns(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	confined(t, h)
	h.host = regtest.Start(t, regtest.Options{}).Host
	images := map[string]string{}
	for name, script := range map[string]string{
		"fns/whoami":   "id=$(id)\nif touch /file 2>/dev/null; then w=yes; else w=no; fi\ndata=\"{id: '$id', mayWriteHere: '$w'}\"",
		"fns/readfile": "text=$(cat $1) || exit\ndata=\"{text: '$text'}\"",
	} {
		image := enginetest.Shell(t, enginetest.Layer{"bin/function": {Data: []byte("#!/bin/sh\n" + script + `
echo "apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: answer}, data: $data}"
`)}})
		image.Config.Entrypoint = []string{"/bin/function"}
		pushed := enginetest.Push(t, h.host+"/"+name+":v1", image)
		_, digest, _ := strings.Cut(pushed, "@")
		images[name] = h.host + "/" + name + ":v1@" + digest
	}
	h.layOut(t, containersPage, images)
	h.runPage(t, containersPage, 6)
}

func TestSandboxPageRuns(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	confined(t, h)
	h.path = "/usr/bin:/bin"
	h.write(t, ".docker/config.json", "{}")
	h.layOut(t, sandboxPage, nil)
	h.runPage(t, sandboxPage, 2)
	for _, b := range blocks(page(t, sandboxPage)) {
		var pod map[string]any
		if b.info != "yaml pod" {
			continue
		}
		if err := yaml.UnmarshalStrict([]byte(b.text), &pod); err != nil || pod["kind"] != "Pod" {
			t.Errorf("line %d: the block is no Pod: %v", b.line, err)
		}
	}
}
