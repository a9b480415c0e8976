package sandbox

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// always lists the variables of the host that every process gets. Without the Windows
// ones a process there cannot even find its temporary directory.
func always() []string {
	names := []string{"PATH", "HOME", "TMPDIR", "LANG"}
	if runtime.GOOS == "windows" {
		names = append(names, "SYSTEMROOT", "TEMP", "TMP", "USERPROFILE", "PATHEXT")
	}
	return names
}

// internalName tells the variables through which krmcat and kustomize talk to
// themselves: a function that saw them could pose as a plugin.
func internalName(name string) bool {
	name = strings.ToUpper(name)
	return name == "KUSTOMIZE_PLUGIN_HOME" || strings.HasPrefix(name, "KRMCAT_")
}

func validName(name string) bool {
	return name != "" && !strings.ContainsAny(name, "= \t\r\n\x00*?")
}

// CheckEnv says what is wrong with KEY or KEY=VALUE where no function can get it.
func CheckEnv(asked string) error {
	name, value, _ := strings.Cut(asked, "=")
	switch {
	case !validName(name) || strings.ContainsRune(value, 0):
		return fmt.Errorf("%q is no name of a variable: write KEY or KEY=VALUE", name) // the value may be a secret
	case internalName(name):
		return fmt.Errorf("%s is between krmcat and kustomize, and no function gets it", name)
	}
	return nil
}

// env divides what a function asks for into what is left to set, KEY=VALUE, and what is
// refused. A bare KEY is the user's to hand over, by that name: what the host's variables
// hold is not the function's to choose. The user's own word for it, which every function
// gets, is then all there is to say.
func (a Allow) env(asked []string) (set []string, refused []Refusal) {
	for _, e := range asked {
		name, _, given := strings.Cut(e, "=")
		switch {
		case CheckEnv(e) != nil:
			refused = append(refused, Refusal{Wants: fmt.Sprintf("the environment variable %q", name)})
		case given:
			set = append(set, e)
		case !slices.ContainsFunc(a.Env, func(u string) bool { n, _, _ := strings.Cut(u, "="); return sameName(n, name) }):
			refused = append(refused, Refusal{Wants: "this machine's environment variable " + name, Flag: "--env " + shellWord(name)})
		}
	}
	return set, refused
}

// Asked returns, as KEY=VALUE, the variables that the user and the function asked for,
// in that order: the last of a name wins.
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

// resolveEnv keeps KEY=VALUE as it is, whatever the value holds, and looks a bare KEY up
// in the host's environment.
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

// sameName reports whether two names are of one variable.
func sameName(a, b string) bool {
	return a == b || runtime.GOOS == "windows" && strings.EqualFold(a, b)
}
