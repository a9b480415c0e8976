package sandbox

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/krmcat/krmcat/internal/failure"
)

// always lists the variables of the host that every process gets. A process on Windows needs
// the additional ones to find its temporary directory.
func always() []string {
	names := []string{"PATH", "HOME", "TMPDIR", "LANG"}
	if runtime.GOOS == "windows" {
		names = append(names, "SYSTEMROOT", "TEMP", "TMP", "USERPROFILE", "PATHEXT")
	}
	return names
}

// internalName reports whether a variable is for krmcat and kustomize. A function that got it
// could pretend to be a plugin.
func internalName(name string) bool {
	name = strings.ToUpper(name)
	return name == "KUSTOMIZE_PLUGIN_HOME" || strings.HasPrefix(name, "KRMCAT_")
}

func validName(name string) bool {
	return name != "" && !strings.ContainsAny(name, "= \t\r\n\x00*?")
}

// CheckEnv returns why no function can get KEY or KEY=VALUE; nil if one can.
func CheckEnv(asked string) error {
	name, value, _ := strings.Cut(asked, "=")
	switch {
	case !validName(name) || strings.ContainsRune(value, 0):
		return fmt.Errorf("%q is not the name of a variable: write KEY or KEY=VALUE", name) // the value may be a secret
	case internalName(name):
		return fmt.Errorf("%s is reserved for krmcat and kustomize: no function gets it", name)
	}
	return nil
}

// env divides what a function requests into variables to set, as KEY=VALUE, and refusals. A
// bare KEY requests a value of the host, which the user has to allow by that name with --env.
// It is left out of set then: every function gets what --env names.
func (a Allow) env(asked []string) (set []string, refused []Refusal) {
	for _, e := range asked {
		name, _, given := strings.Cut(e, "=")
		switch {
		case CheckEnv(e) != nil:
			refused = append(refused, Refusal{Wants: fmt.Sprintf("the environment variable %q", name)})
		case given:
			set = append(set, e)
		case !slices.ContainsFunc(a.Env, func(u string) bool { n, _, _ := strings.Cut(u, "="); return sameName(n, name) }):
			refused = append(refused, Refusal{Wants: "this machine's environment variable " + name, Flag: "--env " + failure.ShellWord(name)})
		}
	}
	return set, refused
}

// Asked returns the variables that the user and the function request, as KEY=VALUE, in that
// order. The last one of a name wins.
func (g Grant) Asked() []string {
	if g.g == nil {
		return nil
	}
	return resolveEnv(g.g.allow.Host, slices.Concat(g.g.allow.Env, g.g.request.Env))
}

// Environ returns the whole environment of a function's process, as KEY=VALUE.
func (g Grant) Environ() []string {
	if g.g == nil {
		return nil
	}
	env := resolveEnv(g.g.allow.Host, always())
	env = append(env, "LOG_TO_STDERR=true", "STRUCTURED_RESULTS=true")
	return append(env, g.Asked()...)
}

// resolveEnv keeps each KEY=VALUE, and replaces a bare KEY by its value in the host's
// environment.
func resolveEnv(host, asked []string) []string {
	var env []string
	for _, e := range asked {
		name, _, given := strings.Cut(e, "=")
		if CheckEnv(e) != nil {
			continue
		}
		if given {
			env = append(env, e)
			continue
		}
		if v, ok := lookup(host, name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

func lookup(env []string, name string) (string, bool) {
	for i := len(env) - 1; i >= 0; i-- {
		k, v, ok := strings.Cut(env[i], "=")
		if ok && sameName(k, name) {
			return v, true
		}
	}
	return "", false
}

// sameName reports whether two names mean one variable. Windows ignores case.
func sameName(a, b string) bool {
	return a == b || runtime.GOOS == "windows" && strings.EqualFold(a, b)
}
