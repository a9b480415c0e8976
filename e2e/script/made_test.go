package script

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/krmcat/krmcat/internal/livetest"
)

// neighbours returns the programs that scripts call by name, as commands of their own.
func neighbours() []string { return []string{"kustomize", "cosign-v2", "cosign-v3"} }

// made is what the other programs made in one script: their output, files, and manifests in a
// registry. In `make check` the programs run, and their results are compared with those stored in
// testdata/made. In `make test` the stored results are used in their place.
type made struct {
	t       *testing.T
	results *livetest.Results
	calls   int
	inputs  map[string]string // files that are already stored, by path
}

// madeKey is the key of a script's value of type made.
type madeKey struct{}

// call is one call of another program.
type call struct {
	*made
	ts      *testscript.TestScript
	program string
	args    []string
	// name is the name of the call's result.
	name string
	// input is a hash of the program's input, "" if that is not known.
	input string
}

// neighbour returns the script command PROGRAM ARG…, which calls a program. `! PROGRAM` requires
// that it fails.
func neighbour(program string) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		m := ts.Value(madeKey{}).(*made)
		c := &call{made: m, ts: ts, program: program, args: args}
		if m.results == nil {
			m.inputs = map[string]string{}
			m.results = livetest.Open(m.t, filepath.Join("testdata", "made", ts.Name()+".txtar"))
		}
		if len(args) > 0 && args[0] == "verify" { // it makes nothing to store: only the real program can verify
			if livetest.On() {
				c.demand(neg, ts.Exec(livetest.Tool(m.t, program), args...) == nil)
			}
			return
		}
		m.calls++
		c.name, c.input = fmt.Sprintf("%02d/", m.calls), c.inputHash()
		if livetest.On() {
			c.demand(neg, c.run())
			return
		}
		c.demand(neg, c.replay())
	}
}

func (c *call) demand(neg, ok bool) {
	switch {
	case neg && ok:
		c.ts.Fatalf("%s accepted what it must refuse", c.program)
	case !neg && !ok:
		c.ts.Fatalf("%s failed", c.program)
	}
}

// loopback matches the registries and services of a test.
var loopback = regexp.MustCompile(`127\.0\.0\.1:[0-9]+`)

// pointer matches the memory addresses that kustomize prints.
var pointer = regexp.MustCompile(`0x[0-9a-f]+`)

// line returns the call in a form that is the same in every run.
func (c *call) line(ok bool) string {
	line := strings.ReplaceAll(strings.Join(append([]string{c.program}, c.args...), " "), c.ts.Getenv("WORK"), "$WORK")
	line = loopback.ReplaceAllString(line, "HOST")
	if !ok {
		line = "! " + line
	}
	return line + "\n" + c.input
}

// inputHash returns a hash of the input of kustomize, which is all files of the script. For cosign
// there is none: its keys and digests differ in every run.
func (c *call) inputHash() string {
	if c.program != "kustomize" {
		return ""
	}
	hash, files := sha256.New(), c.files()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(hash, "%q %q\n", path, loopback.ReplaceAllString(strings.ReplaceAll(files[path], c.ts.Getenv("WORK"), "$WORK"), "HOST"))
	}
	return hex.EncodeToString(hash.Sum(nil)[:8]) + "\n"
}

// run runs the program, and compares its result with the stored one.
func (c *call) run() (ok bool) {
	files, repo := c.files(), readRepository(c)
	ok = c.ts.Exec(livetest.Tool(c.t, c.program), c.args...) == nil
	parts := map[string][]byte{"call": []byte(c.line(ok))}
	compare := form
	if c.program == "kustomize" { // the same input gives the same output
		parts["stdout"] = []byte(c.ts.ReadFile("stdout"))
		parts["stderr"] = pointer.ReplaceAll([]byte(c.ts.ReadFile("stderr")), []byte("0x0"))
		compare = nil
	}
	for path, data := range c.files() {
		was, there := files[path]
		if there && was == data && (!c.isInput(path) || c.inputs[path] == data) {
			continue
		}
		c.inputs[path], parts["files/"+path] = data, []byte(data)
	}
	maps.Copy(parts, readRepository(c).since(repo))
	named := map[string][]byte{}
	for name, data := range parts {
		named[c.name+name] = []byte(strings.ReplaceAll(string(data), c.ts.Getenv("WORK"), "$WORK"))
	}
	c.ts.Check(c.results.Same(c.name, named, compare))
	return ok
}

// replay replaces the call by its stored result.
func (c *call) replay() (ok bool) {
	stored, there := c.results.Get(c.name + "call")
	ok = !strings.HasPrefix(string(stored), "! ")
	if !there || string(stored) != c.line(ok) {
		c.ts.Fatalf("the result of this call of %s is not stored (try make live-update); stored is the call\n%sbut this is\n%s", c.program, stored, c.line(ok))
	}
	for part, to := range map[string]interface{ Write([]byte) (int, error) }{"stdout": c.ts.Stdout(), "stderr": c.ts.Stderr()} {
		text, _ := c.results.Get(c.name + part)
		_, err := to.Write([]byte(strings.ReplaceAll(string(text), "$WORK", c.ts.Getenv("WORK"))))
		c.ts.Check(err)
	}
	for name, data := range c.results.Below(c.name + "files/") {
		path := c.ts.MkAbs(strings.TrimPrefix(name, c.name+"files/"))
		c.ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
		c.ts.Check(os.WriteFile(path, data, 0o600))
	}
	if repo := c.repo(); repo != "" {
		c.ts.Check(pushParts(repo, c.name, c.results.Below(c.name)))
	}
	return ok
}

// isInput reports whether a file is stored although the program only read it: a key or a trusted
// root that belongs to what the program signed.
func (c *call) isInput(path string) bool {
	for i, arg := range c.args {
		value, isRoot := strings.CutPrefix(arg, "--trusted-root=")
		if isRoot && value == path {
			return true
		}
		stem := strings.TrimSuffix(arg, ".key")
		if i > 0 && c.args[i-1] == "--key" && (path == stem+".key" || path == stem+".pub") {
			return true
		}
	}
	return false
}

// files reads all files of a script. The keys are paths in the work directory.
func (c *call) files() map[string]string {
	all := map[string]string{}
	work := c.ts.Getenv("WORK")
	c.ts.Check(filepath.WalkDir(work, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(work, path)
		setup := strings.HasPrefix(rel, ".") && rel != "." // differs between machines
		switch {
		case err != nil:
			return err
		case d.IsDir() && (setup || rel == "tuf"):
			return fs.SkipDir
		case setup || !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		all[rel] = string(data)
		return err
	}))
	return all
}

var digestHex = regexp.MustCompile(`[0-9a-f]{64}`)

// form returns the part of a file that stays the same when something is signed again: names without
// digests, the fields and media types of JSON, and the kind of file.
func form(name string, data []byte) string {
	name = digestHex.ReplaceAllString(name, "DIGEST") + "\n"
	if strings.HasSuffix(name, "/call\n") {
		return name + string(data)
	}
	var v any
	if json.Unmarshal(data, &v) == nil {
		out, err := json.MarshalIndent(formOf("", v), "", " ")
		if err == nil {
			return name + string(out)
		}
	}
	if first, _, _ := strings.Cut(string(data), "\n"); strings.HasPrefix(first, "-----BEGIN ") || strings.HasPrefix(first, "#!") {
		return name + first
	}
	return name
}

func formOf(key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = formOf(k, v[k])
		}
		return v
	case []any:
		for i := range v {
			v[i] = formOf(key, v[i])
		}
		return v
	case string:
		if key != "mediaType" && key != "artifactType" && key != "predicateType" && key != "type" {
			return "text"
		}
	case float64:
		if key != "schemaVersion" {
			return 0
		}
	}
	return v
}
