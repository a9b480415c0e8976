// This file replaces the file of its name in kustomize's api module, for a test run. Kustomizer.Run
// builds in memory there. Here programs build from files.

package krusty

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// The variables that name the programs. The test gets the output of the program. If there is a
// reference, both build, and the test fails unless they agree. They also agree if both refuse, in
// any words.
const (
	programVariable   = "KRUSTY_PROGRAM"
	referenceVariable = "KRUSTY_REFERENCE"
)

// Kustomizer has the methods of kustomize's Kustomizer.
type Kustomizer struct {
	options     *Options
	depProvider *provider.DepProvider
}

// MakeKustomizer makes a Kustomizer for each build.
func MakeKustomizer(o *Options) *Kustomizer {
	return &Kustomizer{options: o, depProvider: provider.NewDepProvider()}
}

// Run writes the files to a directory, unless they are on disk already, and builds there.
func (b *Kustomizer) Run(fSys filesys.FileSystem, path string) (resmap.ResMap, error) {
	dir, err := os.MkdirTemp("", "krusty-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	at := place{arg: path}
	if reflect.TypeOf(fSys) == reflect.TypeOf(filesys.MakeFsInMemory()) {
		at.dir = filepath.Join(dir, "root")
		if err := unpack(fSys, at.dir); err != nil {
			return nil, fmt.Errorf("writing the files of the test: %w", err)
		}
		if fSys.Exists(path) {
			if at.arg, err = filepath.Rel(string(filepath.Separator), filepath.Join(string(filepath.Separator), path)); err != nil {
				return nil, err
			}
		}
	}
	out, err := b.both(at)
	if err != nil {
		return nil, err
	}
	m, err := resmap.NewFactory(b.depProvider.GetResourceFactory()).NewResMapFromBytes(out)
	if err != nil {
		m = resmap.New()
	}
	return printed{m, out}, nil
}

// both returns the output of the program, and an error if the reference does not agree.
func (b *Kustomizer) both(at place) ([]byte, error) {
	program, reference := os.Getenv(programVariable), os.Getenv(referenceVariable)
	if program == "" {
		panic(programVariable + " names no program")
	}
	out, err := b.call(program, at)
	if reference == "" {
		return out, err
	}
	want, refused := b.call(reference, at)
	switch {
	case refused != nil && err != nil:
		fmt.Fprintf(os.Stderr, "both refuse.\n%s: %v\n%s: %v\n", reference, refused, program, err)
		return nil, refused // the tests expect the words of the reference
	case refused == nil && err == nil && !bytes.Equal(want, out):
		return nil, fmt.Errorf("the programs do not agree\n--- %s\n%s\n--- %s\n%s", reference, want, program, out)
	}
	return out, err
}

// place is what is built: an argument, and the directory that it is relative to.
type place struct{ dir, arg string }

// call builds with one program.
func (b *Kustomizer) call(program string, at place) ([]byte, error) {
	cmd := exec.Command(program, append(append([]string{"build"}, b.flags()...), at.arg)...)
	cmd.Dir = at.dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err == nil {
		return stdout.Bytes(), nil
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() < 0 {
		panic(fmt.Sprintf("%s: %v\n%s", cmd, err, stderr.String()))
	}
	if strings.Contains(stderr.String(), "goroutine ") {
		panic(fmt.Sprintf("%s panicked:\n%s", cmd, stderr.String()))
	}
	text := stderr.String()
	if i := strings.Index("\n"+text, "\nError: "); i >= 0 { // skip warnings
		text = text[i+len("Error: "):]
	}
	if at.dir != "" { // in the memory of the test the directory is the root
		text = strings.ReplaceAll(strings.ReplaceAll(text, at.dir+"/", "/"), at.dir, "/")
	}
	return nil, errors.New(strings.TrimSuffix(text, "\n"))
}

// flags returns the options as flags.
func (b *Kustomizer) flags() []string {
	o := b.options
	var flags []string
	on := func(yes bool, flag string) {
		if yes {
			flags = append(flags, flag)
		}
	}
	with := func(flag, value string) { on(value != "", flag+"="+value) }
	if o.Reorder != ReorderOptionUnspecified {
		with("--reorder", string(o.Reorder))
	}
	on(o.AddManagedbyLabel, "--enable-managedby-label")
	on(o.LoadRestrictions == types.LoadRestrictionsNone, "--load-restrictor=LoadRestrictionsNone")
	p := o.PluginConfig
	if p == nil {
		return flags
	}
	plugins := p.PluginRestrictions == types.PluginRestrictionsNone
	on(plugins, "--enable-alpha-plugins")
	h := p.HelmConfig
	on(h.Enabled, "--enable-helm")
	with("--helm-command", h.Command)
	with("--helm-kube-version", h.KubeVersion)
	on(h.Debug, "--helm-debug")
	for _, v := range h.ApiVersions {
		with("--helm-api-versions", v)
	}
	f := p.FnpLoadingOptions
	on(f.EnableExec, "--enable-exec")
	on(f.Network, "--network")
	with("--network-name", f.NetworkName)
	// Tests write programs to directories of their own. krmcat runs functions of root as another
	// user, who cannot read those.
	on(f.AsCurrentUser || f.EnableExec && os.Getuid() == 0, "--as-current-user")
	for _, m := range f.Mounts {
		with("--mount", m)
	}
	for _, e := range f.Env {
		with("--env", e)
	}
	return flags
}

// unpack writes the files in a test's memory below a directory, which stands for the root. In
// memory the directory above the root is the root again: links imitate this.
func unpack(fSys filesys.FileSystem, to string) error {
	if err := write(fSys, to); err != nil {
		return err
	}
	entries, err := os.ReadDir(to)
	for _, e := range entries {
		err = errors.Join(err, os.Symlink(filepath.Join(to, e.Name()), filepath.Join(filepath.Dir(to), e.Name())))
	}
	return err
}

func write(fSys filesys.FileSystem, to string) error {
	return fSys.Walk(string(filepath.Separator), func(path string, info fs.FileInfo, err error) error {
		if err != nil {
			return err
		}
		at := filepath.Join(to, path)
		if info.IsDir() {
			return os.MkdirAll(at, 0o755)
		}
		data, err := fSys.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		return os.WriteFile(at, data, 0o755)
	})
}

// printed are resources whose YAML is exactly what a program printed.
type printed struct {
	resmap.ResMap
	text []byte
}

// AsYaml returns the bytes that were printed. The tests know no version.
func (p printed) AsYaml() ([]byte, error) {
	version := regexp.MustCompile(`(app\.kubernetes\.io/managed-by: kustomize-)v\d+\.\d+\.\d+\n`)
	return version.ReplaceAll(p.text, []byte("${1}(test)\n")), nil
}
