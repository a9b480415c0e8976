package script

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/krmcat/krmcat/e2e/internal/program"
	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/internal/filetest"
	"github.com/krmcat/krmcat/internal/regtest"
)

// TestMain runs krmcat, or a function that scripts call, if the executable was started under its
// name.
func TestMain(m *testing.M) {
	commands := functions()
	commands["krmcat-official"] = official
	commands["krmcat-machine"] = onMachine
	program.Main(m, commands)
}

// TestScripts runs testdata/script: the real program on real files, command line by command line.
func TestScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, scripts+"/script")
}

// TestKustomize runs testdata/kustomize. docs/kustomize.md has a row for each script: what differs
// from kustomize, and why.
func TestKustomize(t *testing.T) {
	t.Parallel()
	runScripts(t, scripts+"/kustomize")
}

// scripts is the directory of the files that are run.
const scripts = "../../testdata"

func runScripts(t *testing.T, dir string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the scripts' functions are shell scripts")
	}
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		Setup:               func(e *testscript.Env) error { return setup(t, e) },
		Cmds:                commands(t),
		Condition:           condition,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// commands returns the commands of scripts that testscript itself does not have.
func commands(t *testing.T) map[string]func(*testscript.TestScript, bool, []string) {
	list := map[string]func(*testscript.TestScript, bool, []string){
		"exit":     exit,
		"says":     says,
		"verdict":  verdict,
		"web":      web,
		"asked":    asked,
		"image":    image,
		"function": func(ts *testscript.TestScript, _ bool, args []string) { function(t, ts, args) },
		"shell":    func(ts *testscript.TestScript, _ bool, args []string) { shell(t, ts, args) },
		"rewrite":  rewrite,
		"replace":  replace,
		"digest":   readDigest,
		"forge":    forge,
		"appears":  appears,
		"gone":     gone,
		"registry": func(ts *testscript.TestScript, _ bool, args []string) { startRegistry(t, ts, args) },
		"serve":    func(ts *testscript.TestScript, _ bool, args []string) { serve(t, ts, args) },
		"ends": func(ts *testscript.TestScript, _ bool, args []string) {
			ts.Value(stops{}).(map[string]func())[args[0]]()
		},
		"sigstore": func(ts *testscript.TestScript, _ bool, args []string) { sigstore(t, ts, args) },
		"secret":   secret,
	}
	for _, program := range neighbours() {
		list[program] = neighbour(program)
	}
	return list
}

// setup gives each script a cache of its own, and puts programs first on its PATH that krmcat must
// never run. The end of each script checks that none of them was run.
func setup(t *testing.T, e *testscript.Env) error {
	// testscript removes the directory of all scripts only if -run excludes none.
	t.Cleanup(func() { _ = os.Remove(filepath.Dir(e.WorkDir)) })
	trap := filepath.Join(e.WorkDir, ".tripwires")
	sprung := filepath.Join(e.WorkDir, ".sprung")
	if err := os.Mkdir(trap, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"docker", "podman", "nerdctl", "git", "helm"} {
		script := "#!/bin/sh\necho " + name + " \"$@\" >>'" + sprung + "'\nexit 97\n"
		if err := filetest.WriteProgram(filepath.Join(trap, name), []byte(script)); err != nil {
			return err
		}
	}
	filetest.Settle() // wait until the programs among the script's files can be started
	if err := os.Mkdir(filepath.Join(e.WorkDir, ".home"), 0o755); err != nil {
		return err
	}
	name := filepath.Base(e.WorkDir)
	e.Values[stops{}], e.Values[webs{}] = map[string]func(){}, map[string]*requests{}
	e.Defer(func() {
		if data, err := os.ReadFile(sprung); err == nil {
			t.Errorf("%s: a program was run that must never run: %s", name, data)
		}
	})
	kep, err := filepath.Abs("../../catalog/testdata/kep-2906")
	if err != nil {
		return err
	}
	bin, err := programs(e.WorkDir)
	if err != nil {
		return err
	}
	e.Setenv("BIN", bin)
	e.Setenv("PATH", strings.Join([]string{trap, bin, e.Getenv("PATH")}, string(filepath.ListSeparator)))
	e.Setenv("KRMCAT_CACHE_DIR", filepath.Join(e.WorkDir, ".cache"))
	e.Setenv("HOME", filepath.Join(e.WorkDir, ".home"))
	e.Setenv("OS", runtime.GOOS)
	e.Setenv("ARCH", runtime.GOARCH)
	e.Setenv("KEP", kep)
	podman, err := enginetest.PodmanConfig(e.WorkDir)
	if err != nil {
		return err
	}
	e.Setenv("CONTAINERS_CONF", podman)
	for _, name := range []string{"DOCKER_HOST", "CONTAINERS_STORAGE_CONF"} { // how to reach the engines
		if value := os.Getenv(name); value != "" {
			e.Setenv(name, value)
		}
	}
	e.Values[madeKey{}] = &made{t: t}
	e.Setenv("GOCOVERDIR", e.WorkDir) // without it a binary built for coverage writes a warning to stderr
	return nil
}

// programs returns the directory with krmcat and the functions of scripts: testscript's own
// directory, or one with the krmcat that KRMCAT_BIN names.
func programs(work string) (dir string, err error) {
	own, _, _ := strings.Cut(os.Getenv("PATH"), string(filepath.ListSeparator))
	if program.Built() == "" {
		return own, nil
	}
	dir = filepath.Join(work, ".bin")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	list, err := os.ReadDir(own)
	for _, entry := range list {
		to := filepath.Join(own, entry.Name())
		if entry.Name() == "krmcat" {
			to = program.Built()
		}
		err = errors.Join(err, os.Symlink(to, filepath.Join(dir, entry.Name())))
	}
	return dir, err
}

// exit CODE PROGRAM ARG… runs a program and requires an exit code. Unless the code is 0, stdout
// must be empty: a command that failed prints no data.
func exit(ts *testscript.TestScript, neg bool, args []string) {
	verdict(ts, neg, args)
	if out := ts.ReadFile("stdout"); args[0] != "0" && out != "" {
		ts.Fatalf("it failed, but wrote to stdout: %s", out)
	}
}

// says LINE… requires that the last command wrote exactly these lines to stderr. * stands for any
// text within a line.
func says(ts *testscript.TestScript, _ bool, args []string) {
	got := strings.TrimSuffix(ts.ReadFile("stderr"), "\n")
	want := strings.ReplaceAll(regexp.QuoteMeta(strings.Join(args, "\n")), `\*`, ".*")
	if !regexp.MustCompile("^" + want + "$").MatchString(got) {
		ts.Fatalf("stderr is:\n%s\nwant:\n%s", got, strings.Join(args, "\n"))
	}
}

// replace FILE OLD NEW replaces a text in a file, which must contain OLD. Both texts may contain
// \n.
func replace(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: replace FILE OLD NEW")
	}
	text, lines := ts.ReadFile(args[0]), strings.NewReplacer(`\n`, "\n")
	before, after := lines.Replace(args[1]), lines.Replace(args[2])
	if !strings.Contains(text, before) {
		ts.Fatalf("%s does not contain %q", args[0], before)
	}
	text = strings.ReplaceAll(text, before, after)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}

// digest VAR sets a variable to the digest that the last command printed to stdout.
func readDigest(ts *testscript.TestScript, _ bool, args []string) {
	_, after, ok := strings.Cut(ts.ReadFile("stdout"), "@sha256:")
	if !ok || len(after) < 64 {
		ts.Fatalf("no digest was printed")
	}
	ts.Setenv(args[0], after[:64])
}

// forge LAYOUT FILE changes a letter in the middle of a blob in an OCI layout. The file contains
// the digest of the blob.
func forge(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(filepath.Join(args[0], "blobs", "sha256", strings.TrimSpace(ts.ReadFile(args[1]))))
	data, err := os.ReadFile(path)
	ts.Check(err)
	data[len(data)/2] ^= 1
	ts.Check(os.Chmod(path, 0o644))
	ts.Check(os.WriteFile(path, data, 0o644))
}

const patience = 30 * time.Second // far longer than anything takes

// appears FILE waits for a file that a background command writes.
func appears(ts *testscript.TestScript, _ bool, args []string) {
	until(ts, "no "+args[0]+" appeared", func() bool {
		data, err := os.ReadFile(ts.MkAbs(args[0]))
		return err == nil && strings.HasSuffix(string(data), "\n")
	})
}

// gone FILE waits until the process whose id is in a file has ended.
func gone(ts *testscript.TestScript, _ bool, args []string) {
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	until(ts, "process "+strconv.Itoa(pid)+" still runs", func() bool { return !alive(pid) })
}

func until(ts *testscript.TestScript, complaint string, done func() bool) {
	for end := time.Now().Add(patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("%s", complaint)
		}
	}
}

// stops is the key of the functions that stop the registries of a script, by variable.
type stops struct{}

// registry VAR [login] [tls] starts the real distribution registry and puts its host into a
// variable. VAR_CA is the file with its certificate authority, and VAR_LOGIN a directory with a
// config.json of Docker that logs in. `ends VAR` stops the registry.
func startRegistry(t *testing.T, ts *testscript.TestScript, args []string) {
	o := regtest.Options{Logins: slices.Contains(args[1:], "login"), TLS: slices.Contains(args[1:], "tls")}
	r := regtest.Start(t, o)
	ts.Value(stops{}).(map[string]func())[args[0]] = r.Stop
	ts.Setenv(args[0], r.Host)
	ts.Setenv(args[0]+"_CA", r.CAFile)
	ts.Setenv(args[0]+"_LOGIN", regtest.DockerConfig(t, r.Host))
}
