package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// runtimesOf is the number of functions of the signed catalog. Each has a runtime of its own.
const runtimesOf = 5

// password sets the password of the keys.
const password = "COSIGN_PASSWORD=bench"

// trust measures the cost of verification, compared with the cosign CLI or with a render that
// verifies nothing.
type trust struct{ render, own bool }

func (t trust) String() string {
	switch {
	case t.own:
		return fmt.Sprintf("render that verifies a catalog and %d runtimes with signatures of their own", runtimesOf)
	case t.render:
		return fmt.Sprintf("render that verifies a catalog and the %d runtimes that it pins", runtimesOf)
	}
	return "verify one artifact by key"
}

func (t trust) measure(ctx context.Context, o options, dir string) (row, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return row{}, err
	}
	host, stop, err := startRegistry(ctx, o.registry, dir)
	if err != nil {
		return row{}, err
	}
	defer stop()
	s := &shop{options: o, dir: dir, host: host}
	if err := s.fill(ctx); err != nil {
		return row{}, err
	}
	if t.render {
		return t.renders(ctx, s)
	}
	ours := program{dir: dir, argv: []string{o.krmcat, "verify", "--key", "cosign.pub", "oci://" + s.catalog}, cold: true}
	theirs := program{dir: dir, argv: []string{o.cosign, "verify", "--key", "cosign.pub", "--insecure-ignore-tlog=true", s.catalog}}
	took, err := inTurn(ctx, o.rounds, ours, theirs)
	if err != nil {
		return row{}, err
	}
	r := comparison{what: t.String() + ", compared with cosign v2", within: 0.5}.row(took[0], took[1])
	return r, nil
}

// extra is the time that verification may add to a render.
const extra = 40 * time.Millisecond

func (t trust) renders(ctx context.Context, s *shop) (row, error) {
	plain := []string{s.krmcat, "render", "--trusted-catalog", "oci://" + s.catalog, "app"}
	checked := slices.Concat(plain, []string{"--key", "cosign.pub"})
	if t.own {
		checked = slices.Concat(plain, []string{"--policy", "policy.yaml"})
	}
	ours, without := program{dir: s.dir, argv: checked}, program{dir: s.dir, argv: plain}
	if err := alike(ctx, ours, without); err != nil {
		return row{}, err
	}
	took, err := inTurn(ctx, s.rounds, ours, without)
	if err != nil {
		return row{}, err
	}
	more := took[0] - took[1]
	return row{
		what: t.String() + ", compared with one that does not verify", krmcat: milliseconds(took[0]), neighbour: milliseconds(took[1]),
		ratio: milliseconds(more) + " more", target: "≤ " + milliseconds(extra) + " more", missed: more > extra,
	}, nil
}

// shop is a registry with a signed catalog of signed scripts.
type shop struct {
	options
	dir, host, catalog string
}

func (s *shop) fill(ctx context.Context) error {
	var functions, catalog strings.Builder
	catalog.WriteString("apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\nmetadata: {name: bench}\nspec:\n  krmFunctions:\n")
	files := map[string]string{"policy.yaml": trustPolicy}
	for i := range runtimesOf {
		files[fmt.Sprintf("fn-%d.star", i)] = fmt.Sprintf("# %d\n%s", i, script)
		files[fmt.Sprintf("app/fn-%d.yaml", i)] = fmt.Sprintf("apiVersion: bench.krmcat.dev/v1\nkind: Touch%d\nmetadata: {name: fn-%d}\n", i, i)
		fmt.Fprintf(&functions, "- fn-%d.yaml\n", i)
		fmt.Fprintf(&catalog, "  - group: bench.krmcat.dev\n    names: {kind: Touch%d}\n    versions:\n    - name: v1\n      runtime: {starlark: 'oci://%s/fn-%d:v1'}\n", i, s.host, i)
	}
	files["catalog.yaml"] = catalog.String()
	files["app/resources.yaml"] = string(input{resources: 10}.manifests())
	files["app/kustomization.yaml"] = "resources: [resources.yaml]\ncatalogs: ['oci://" + s.host + "/catalog:v1']\ntransformers:\n" + functions.String()
	for name, text := range files {
		path := filepath.Join(s.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return s.publish(ctx)
}

// publish signs everything with a new key, in the form that cosign v2 verifies without a trusted
// root.
func (s *shop) publish(ctx context.Context) error {
	if _, err := s.run(ctx, "keygen"); err != nil {
		return err
	}
	for i := range runtimesOf {
		name := fmt.Sprintf("fn-%d", i)
		if _, err := s.run(ctx, "push", "--sign", "--key", "cosign.key", "--signature-format", "legacy", "oci://"+s.host+"/"+name+":v1", name+".star"); err != nil {
			return err
		}
	}
	ref, err := s.run(ctx, "push", "--pin", "--sign", "--key", "cosign.key", "--signature-format", "legacy", "oci://"+s.host+"/catalog:v1", "catalog.yaml")
	s.catalog = strings.TrimPrefix(strings.TrimSpace(string(ref)), "oci://")
	if i := strings.Index(s.catalog, ":v1@"); i > 0 {
		s.catalog = s.catalog[:i] + s.catalog[i+len(":v1"):]
	}
	return err
}

func (s *shop) run(ctx context.Context, args ...string) ([]byte, error) {
	return program{dir: s.dir, argv: append([]string{"env", password, s.krmcat}, args...)}.run(ctx)
}

// trustPolicy requires signatures of everything, although the catalog pins its runtimes.
const trustPolicy = `apiVersion: krmcat.dev/v1alpha1
kind: TrustPolicy
metadata: {name: bench}
spec:
  rules:
  - match: '**'
    catalogs:
      cosign: &key {keys: [{path: cosign.pub}], insecureIgnoreTlog: true}
    runtimes:
      ownSignature: true
      cosign: *key
`

// startRegistry starts a registry on a free port of the loopback interface. It runs until stop is
// called.
func startRegistry(ctx context.Context, binary, dir string) (host string, stop func(), err error) {
	conf := filepath.Join(dir, "registry.yml")
	text := fmt.Sprintf("version: 0.1\nlog: {level: info, accesslog: {disabled: true}}\nstorage:\n  filesystem: {rootdirectory: %q}\nhttp: {addr: '127.0.0.1:0', secret: bench}\n", filepath.Join(dir, "storage"))
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(ctx, binary, "serve", conf)
	cmd.Env = append(os.Environ(), "OTEL_TRACES_EXPORTER=none")
	logs, err := cmd.StderrPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("starting the registry: %w", err)
	}
	listening := regexp.MustCompile(`listening on (127\.0\.0\.1:[0-9]+)`)
	var said bytes.Buffer
	lines := bufio.NewScanner(logs)
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			go func() {
				for lines.Scan() { // read on, or the registry blocks on a full pipe
				}
			}()
			return m[1], func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }, nil
		}
	}
	_ = cmd.Wait()
	return "", nil, errors.New("the registry ended: " + said.String())
}

// startWithin limits krmcat's start relative to kustomize's. The part that verifies signatures does
// not start with it.
const startWithin = 1.5
