package cli

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/container"
	"github.com/krmcat/krmcat/sandbox"
)

// The flags and variables for the runtime and the confinement of functions.
const (
	runtimeName = "runtime"
	confineName = "confine"
	pullName    = "image-pull-policy"
	memoryName  = "memory"
	tempName    = "temp"
	itemsName   = "max-items"

	verifyCacheName  = "verify-cache"
	verifyCacheField = "verifyCache" // of the config

	// The variables of kpt and kustomize for docker, podman or nerdctl.
	krmRuntimeVariable = "KRM_FN_RUNTIME"
	kptRuntimeVariable = "KPT_FN_RUNTIME"
)

// functions has the settings for running functions.
type functions struct {
	runtime string               // "" for container.Auto
	asked   string               // the flag, variable or file that sets runtime; "" for none
	pulls   container.PullPolicy // "" for the default
	whole   bool                 // programs are not run from memory

	verifyCache string        // the flag or file that has images compared with their layers; "" for none
	machine     *sandbox.Host // nil until first used
	say         func(string)  // for -v; may be nil
	caution     func(string)  // for warnings; may be nil
}

// sandboxCall has the values of these flags.
type sandboxCall struct {
	runtime, confine, pull, memory, temp string
	verifyCache                          bool
}

// executionFlags returns flags that bind to s and, if the library has a field, to r.
func executionFlags(s *sandboxCall, r *renderCall) []cli.Flag {
	a := &r.Allow
	return grouped(groupExecution,
		&choiceFlag{StringFlag: &cli.StringFlag{Name: runtimeName, Usage: "run container functions with `ENGINE`: " + strings.Join(container.Runtimes(), ", ") + " (default: what " + krmRuntimeVariable + ", " + kptRuntimeVariable + " or the config says, else " + container.Auto + ", the first that works)", Destination: &s.runtime}, values: container.Runtimes(), check: func(string) error { return nil }}, // confinement checks it
		&choiceFlag{StringFlag: &cli.StringFlag{Name: confineName, Usage: "`HOW` to confine programs of this machine: auto, as far as this machine can; require, fully, or refuse to run them; off, not at all (default: what the config says, else auto)", Destination: &s.confine}, values: confines()},
		&choiceFlag{StringFlag: &cli.StringFlag{Name: pullName, Usage: "`WHEN` to fetch images: " + orList(pullPolicies()) + " (default: " + string(container.PullIfNotPresent) + ")", Destination: &s.pull}, values: pullPolicies()},
		&cli.BoolFlag{Name: verifyCacheName, Usage: "compare unpacked images with their layers, which are fetched again, before they run", Destination: &s.verifyCache},
		&choiceFlag{StringFlag: &cli.StringFlag{Name: failOnName, Usage: "fail the render if a function reports a result of this `SEVERITY` or worse: " + orList(fnexec.FailOns()) + " (default: what the config says, else error for validators and never for others); an exit code other than 0 always fails it", Destination: &r.failOn}, values: fnexec.FailOns()},
		&cli.DurationFlag{Name: "timeout", Value: defaultTimeout, Usage: "`TIME` that one call of a function may take", Destination: &a.Limits.Timeout},
		&cli.StringFlag{Name: memoryName, Usage: "memory that a function may use, a `SIZE` like 512M: all of its processes together where krmcat can make control groups, as root can, else each of them (default: 2G)", Destination: &s.memory},
		&cli.StringFlag{Name: tempName, Usage: "`SIZE` like 1G of a function's /tmp, and of its /dev/shm; both are memory (default: 256M)", Destination: &s.temp},
		&cli.IntFlag{Name: "processes", Usage: "`NUMBER` of processes and threads that a function may have", Value: sandbox.DefaultProcesses, Destination: &a.Limits.Processes},
		&cli.IntFlag{Name: itemsName, Usage: "`NUMBER` of resources that a function may return, and that all functions of a render may add", Value: sandbox.DefaultItems, Destination: &a.Limits.Items},
	)
}

func pullPolicies() []string {
	return []string{string(container.PullAlways), string(container.PullIfNotPresent), string(container.PullNever)}
}

// confinement sets the runtime and the confinement of functions. Flags override variables, and
// variables override the user's config.
func (e *env) confinement(c *cli.Context, r *renderCall, u *userConfig) error {
	s := &r.sandbox
	e.runtime, e.asked = e.askedRuntime(s, u)
	if slices.Contains(goneRuntimes(), e.runtime) {
		return usage(c, "%s: krmcat does not call %s itself any more: use %s, %s or %s, or an engine that calls it, %s or %s",
			e.asked, e.runtime, container.Auto, sandbox.Native, sandbox.Bubblewrap, container.Docker, container.Podman)
	}
	if !slices.Contains(container.Runtimes(), e.runtime) {
		return usage(c, "%s is one of %s, not %q", e.asked, strings.Join(container.Runtimes(), ", "), e.runtime)
	}
	a := &r.Allow
	a.Confine = sandbox.Confine(first(s.confine, u.confine, string(sandbox.ConfineAuto)))
	e.whole = u.stage == stageWhole
	e.pulls = container.PullPolicy(first(s.pull, string(container.PullIfNotPresent)))
	e.verifyCache = askedCompare(c, s, u)
	for _, size := range []struct {
		name, text string
		to         *int64
	}{{memoryName, s.memory, &a.Limits.Memory}, {tempName, s.temp, &a.Limits.Temp}} {
		if size.text == "" {
			continue
		}
		n, err := parseSize(size.text)
		if err != nil {
			return usage(c, "--%s: %v", size.name, err)
		}
		if size.name == memoryName && n < leastMemory {
			return usage(c, "--%s: %q is less than %dM, with which no process starts: write one like 512M or 2G", size.name, size.text, leastMemory>>20)
		}
		*size.to = n
	}
	if c.IsSet("processes") && a.Limits.Processes <= 0 {
		return usage(c, "--processes must be greater than 0, not %d", a.Limits.Processes)
	}
	if c.IsSet(itemsName) && a.Limits.Items <= 0 {
		return usage(c, "--%s must be greater than 0, not %d", itemsName, a.Limits.Items)
	}
	if err := checkUser(c, a); err != nil {
		return err
	}
	for _, v := range a.Env {
		if err := sandbox.CheckEnv(v); err != nil {
			return usage(c, "--env: %v", err)
		}
	}
	a.Target = e.abs(r.Dir)
	a.Volumes = slices.Contains(container.Engines(), e.runtime)
	a.On = e.host()
	return nil
}

// goneRuntimes lists values of --runtime of earlier versions (docs/adr/0018). A config may still
// contain one: it is an error only for commands that run functions.
func goneRuntimes() []string { return []string{"crun", "runc"} }

// askedRuntime returns the runtime of container functions, and the flag, variable or file that sets
// it.
func (e *env) askedRuntime(s *sandboxCall, u *userConfig) (runtime, by string) {
	for _, from := range []struct{ by, runtime string }{
		{"--" + runtimeName, s.runtime},
		{krmRuntimeVariable, e.getenv(krmRuntimeVariable)},
		{kptRuntimeVariable, e.getenv(kptRuntimeVariable)},
		{u.path, u.runtime},
	} {
		if from.runtime != "" {
			return from.runtime, from.by
		}
	}
	return container.Auto, ""
}

// askedCompare returns the flag or file that has images compared with their layers; "" for none.
// The flag overrides the file.
func askedCompare(c *cli.Context, s *sandboxCall, u *userConfig) string {
	switch {
	case c.IsSet(verifyCacheName) && s.verifyCache:
		return "--" + verifyCacheName
	case !c.IsSet(verifyCacheName) && u.verifyCache:
		return verifyCacheField + " of " + u.path
	}
	return ""
}

// checkUser returns an error for a value of --user that is not the name or number of a user.
func checkUser(c *cli.Context, a *sandbox.Allow) error {
	switch {
	case a.User == "":
		return nil
	case !regexp.MustCompile(`^\w[\w.-]*(:\w[\w.-]*)?$`).MatchString(a.User):
		return usage(c, "--user is UID, UID:GID or names in their place, not %q", a.User)
	case a.AsCurrentUser:
		return usage(c, "--user and --as-current-user contradict each other")
	}
	for id := range strings.SplitSeq(a.User, ":") {
		if _, err := strconv.ParseInt(id, 10, 32); errors.Is(err, strconv.ErrRange) {
			return usage(c, "--user %s: no user or group has a number above %d", a.User, math.MaxInt32)
		}
	}
	return nil
}

func confines() []string {
	return []string{string(sandbox.ConfineAuto), string(sandbox.ConfineRequire), string(sandbox.ConfineOff)}
}

// The values of the config for the program that a sandbox starts first.
const (
	stageInMemory = "memory"
	stageWhole    = "krmcat"
)

func stages() []string { return []string{stageInMemory, stageWhole} }

// first returns the first text that is not empty.
func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// leastMemory is less memory than the stage of a sandbox needs. A smaller value lacks a unit.
const leastMemory = 1 << 20

// parseSize parses a number of bytes: 1024, 512K, 2G, 1Gi.
func parseSize(text string) (int64, error) {
	number := strings.TrimRight(strings.ToUpper(text), "IB")
	shift := 0
	if n := len(number); n > 0 {
		if i := strings.IndexByte("KMGT", number[n-1]); i >= 0 {
			number, shift = number[:n-1], 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("%q is not a size: write one like 512M or 2G", text)
	}
	return n << shift, nil
}

// host returns the sandbox.Host that all functions of a command share.
func (e *env) host() *sandbox.Host {
	if e.machine == nil {
		o := sandbox.HostOptions{Environ: e.Environ, Self: e.Executable, Whole: e.whole, CacheDir: e.cacheDir()}
		if w := sandbox.Engine(e.runtime); slices.Contains(sandbox.AllEngines(), w) {
			// Without it images are refused. Programs are confined even so.
			others := slices.DeleteFunc(sandbox.AllEngines(), func(o sandbox.Engine) bool { return o == w })
			o.Engines = append([]sandbox.Engine{w}, others...)
		}
		e.machine = sandbox.NewHost(o)
	}
	return e.machine
}
