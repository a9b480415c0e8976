package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/internal/cli/ui"
	"github.com/krmcat/krmcat/pipeline"
	"github.com/krmcat/krmcat/sandbox"
)

// managedByVariable is kustomize's variable for --enable-managedby-label: its value is "on".
const managedByVariable = "KUSTOMIZE_ENABLE_MANAGEDBY_LABEL"

const (
	restrictorName = "load-restrictor"

	rootOnly = "LoadRestrictionsRootOnly"
	anywhere = "LoadRestrictionsNone"
)

// kustomizeFlags returns the flags of `kustomize build`.
func (r *renderCall) kustomizeFlags() []cli.Flag {
	t := &r.Target
	return grouped(groupKustomize,
		r.restrictorFlag(),
		&choiceFlag{
			StringFlag: &cli.StringFlag{Name: "reorder", Usage: "`ORDER` of the resources: legacy or none (default: legacy, unless sortOptions says otherwise)", Destination: &r.reorder},
			values:     []string{string(pipeline.ReorderLegacy), string(pipeline.ReorderNone)},
		},
		&cli.BoolFlag{Name: "enable-managedby-label", Usage: "label resources with app.kubernetes.io/managed-by", Destination: &t.ManagedBy},
		&cli.BoolFlag{Name: "enable-helm", Usage: "let kustomize run helm, which is not confined", Destination: &t.Helm.Enabled},
		&cli.StringFlag{Name: "helm-command", Value: "helm", Usage: "the helm `PROGRAM`", Destination: &t.Helm.Command},
		&cli.StringSliceFlag{Name: "helm-api-versions", Usage: "Kubernetes API `VERSION` for helm's Capabilities", Destination: &r.apis},
		&cli.StringFlag{Name: "helm-kube-version", Usage: "Kubernetes `VERSION` for helm's Capabilities", Destination: &t.Helm.KubeVersion},
		&cli.BoolFlag{Name: "helm-debug", Usage: "let helm print more", Destination: &t.Helm.Debug},
		&cli.StringFlag{Name: "network-name", Usage: "`NAME` of a network; ignored, as kustomize ignores it: --network allows the network"},
		&cli.BoolFlag{Name: "stack-trace", Usage: "ignored: errors name the file and the line"},
	)
}

// restrictorFlag returns the flag that decides which files a target may name.
func (r *renderCall) restrictorFlag() cli.Flag {
	return &choiceFlag{
		StringFlag: &cli.StringFlag{Name: restrictorName, Value: rootOnly, Usage: "`WHICH` files may be read: " + rootOnly + ", those in or below the target, or " + anywhere, Destination: &r.restrictor},
		values:     []string{rootOnly, anywhere},
		empty:      true, // as in kustomize
	}
}

// trustedFlag returns the flag that names trusted catalogs.
func (r *renderCall) trustedFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "trusted-catalog", Usage: "trust the catalog at `REF`, which the target declares; REF@sha256:… pins it", Destination: &r.trusted}
}

// permissionFlags returns the flags that permit something to functions.
func (r *renderCall) permissionFlags() []cli.Flag {
	return grouped(groupPermission,
		&cli.BoolFlag{Name: "network", Usage: "allow the network to functions that request it", Destination: &r.Allow.Network},
		&cli.StringSliceFlag{Name: "mount", Usage: "allow storage to functions that request it, a `MOUNT` like type=bind,src=DIR,dst=/DIR[,rw=true]; src is relative to the target", Destination: &r.mounts},
		&cli.BoolFlag{Name: "mount-anywhere", Usage: "allow mounts whose sources are absolute paths or outside of the target", Destination: &r.Allow.MountAnywhere},
		&cli.StringSliceFlag{Name: "env", Aliases: []string{"e"}, Usage: "pass `KEY[=VALUE]` to every function; without a value the one of this environment", Destination: &r.env},
		&cli.BoolFlag{Name: "enable-alpha-plugins", Usage: "allow runtimes that a function's config names itself", Destination: &r.EnableAlphaPlugins},
		&cli.BoolFlag{Name: "enable-exec", Usage: "allow programs of this machine that a function's config names itself; needs --enable-alpha-plugins", Destination: &r.EnableExec},
		&cli.StringFlag{Name: "user", Usage: "run container functions as `UID[:GID]` (default: nobody)", Destination: &r.Allow.User},
		&cli.BoolFlag{Name: "as-current-user", Usage: "run container functions as the current user, and programs of this machine as root if krmcat runs as root (default: as nobody)", Destination: &r.Allow.AsCurrentUser},
	)
}

func (r *renderCall) outputFlags() []cli.Flag {
	return grouped(groupOutput, slices.Concat([]cli.Flag{
		&cli.StringFlag{Name: outputName, Aliases: []string{"o"}, Usage: "write to `PATH` (default: -, which is stdout); an existing directory gets one file for each resource", Destination: &r.output.place},
		&choiceFlag{
			StringFlag: &cli.StringFlag{Name: formatName, Usage: "print in this `FORM`: " + ui.Resources().String() + " (default: yaml); a plan also as table (default: table)", Destination: &r.output.format},
			values:     ui.Data(), check: r.checkForm,
		},
		&cli.BoolFlag{Name: "plan", Usage: "show what would run and what it may access, and run nothing", Destination: &r.plan},
	}, r.results.flags())...)
}

// checkForm checks a format: only a plan has a table.
func (r *renderCall) checkForm(format string) error {
	if r.plan {
		return ui.Data().Check(format)
	}
	err := ui.Resources().Check(format)
	if err != nil && ui.Data().Check(format) == nil {
		return fmt.Errorf("%w, or --plan, which has a table", err)
	}
	return err
}

// failOnName is the flag for the severity of results that fail a render.
const failOnName = "fail-on"

// renderTarget sets the directory of the target, and reports whether it is a kpt package.
func (e *env) renderTarget(c *cli.Context, r *renderCall) (isKpt bool, err error) {
	named := "."
	if c.NArg() == 1 {
		named = c.Args().First()
	}
	if c.NArg() == 1 && named == toStdout {
		return false, e.stream(c, r)
	}
	if c.NArg() < 2 {
		if r.Dir, err = e.kptDir(c, r, named); err != nil || r.Dir != "" {
			return true, err
		}
	}
	return false, r.target(c)
}

// target sets the directory of the target.
func (r *renderCall) target(c *cli.Context) error {
	if c.NArg() > 1 {
		return usage(c, "%s takes one directory, not %d arguments", c.Command.HelpName, c.NArg())
	}
	r.Dir = "."
	if c.NArg() == 1 {
		r.Dir = c.Args().First()
	}
	if file := fileOnWay(r.Dir); file != "" {
		return usage(c, "%s takes a directory, and %s is a file: name %s", c.Command.HelpName, file, filepath.Dir(file))
	}
	return nil
}

// renderOptions sets the options that flags do not bind to. Dir is set.
func (e *env) renderOptions(c *cli.Context, r *renderCall) error {
	r.kpt.options(&r.Options)
	r.Target.Reorder = pipeline.Reorder(r.reorder)
	r.Target.ManagedBy = r.Target.ManagedBy || e.getenv(managedByVariable) == "on"
	r.Target.Executable = e.Executable
	r.Target.Helm.APIVersions = r.apis.Value()
	r.Target.Helm.Path, r.Target.Helm.Missing = e.helmPath(r.Target.Helm.Command)
	return e.functionOptions(c, r)
}

// stream makes the resources on stdin the target: no Kustomization is built, and no package.
func (e *env) stream(c *cli.Context, r *renderCall) error {
	forStream := []string{restrictorName, allowExecName, allowNetworkName}
	for _, f := range slices.Concat(r.kustomizeFlags(), r.kpt.flags()) {
		if name := f.Names()[0]; !slices.Contains(forStream, name) && c.IsSet(name) {
			return usage(c, "--%s is for a directory, and %s - reads resources", name, c.Command.HelpName)
		}
	}
	r.Dir, r.Load = ".", e.loadStream
	return nil
}

// functionOptions sets the options of every command that runs functions. Dir is set.
func (e *env) functionOptions(c *cli.Context, r *renderCall) error {
	r.Target.LoadAnywhere = r.restrictor == anywhere
	if r.Allow.Limits.Timeout <= 0 {
		return usage(c, "--timeout must be greater than 0, not %s", r.Allow.Limits.Timeout)
	}
	for _, text := range r.mounts.Value() {
		m, err := parseMount(text)
		if err != nil {
			return usage(c, "--mount %s: %v", text, err)
		}
		r.Allow.Mounts = append(r.Allow.Mounts, m)
	}
	if i := slices.IndexFunc(r.env.Value(), mangled); i >= 0 {
		key, _, _ := strings.Cut(r.env.Value()[i], "=")
		return usage(c, "--env %s is not valid UTF-8, or contains U+FFFD: without a value it is the one of this environment, with all its bytes", key)
	}
	if err := trustedPlaces(c, r.trusted.Value()); err != nil {
		return err
	}
	r.Trusted, r.WorkDir, r.Official = r.trusted.Value(), e.Dir, e.Official
	u, policy, err := e.trust(c, &r.trust)
	if err != nil {
		return err
	}
	r.ConfigTrusted, r.Policy = u.catalogs, policy
	r.FailOn = fnexec.FailOn(first(r.failOn, u.failOn)) // the flag overrides the user's config
	r.Allow.Env, r.Allow.Host = r.env.Value(), e.Environ
	return e.confinement(c, r, u)
}

// helmPath returns the path of helm. If there is none, the target that needs helm reports it.
func (e *env) helmPath(command string) (string, error) {
	if strings.ContainsRune(filepath.ToSlash(command), '/') {
		command = e.abs(command)
	}
	return sandbox.FindProgram(command, e.Environ)
}

// parseMount parses a mount as docker and kustomize write it.
func parseMount(text string) (sandbox.Mount, error) {
	var m sandbox.Mount
	for part := range strings.SplitSeq(text, ",") {
		key, value, given := strings.Cut(part, "=")
		switch key {
		case "type":
			m.Type = value
		case "src", "source":
			m.Src = value
		case "dst", "destination", "target":
			m.Dst = value
		case "readonly", "ro":
			if given && value != "true" {
				return m, fmt.Errorf("%s is true, or rw=true instead", key)
			}
		case "rw":
			rw, err := strconv.ParseBool(value)
			if err != nil {
				return m, fmt.Errorf("rw is true or false, not %q", value)
			}
			m.RW = rw
		default:
			return m, fmt.Errorf("unknown field %q: use type, src, dst or rw", key)
		}
	}
	if m.Type == "" {
		m.Type = "bind"
	}
	return m, m.Check()
}
