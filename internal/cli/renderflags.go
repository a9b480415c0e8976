package cli

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/internal/cli/ui"
	"github.com/krmcat/krmcat/pipeline"
	"github.com/krmcat/krmcat/sandbox"
)

// managedByVariable is kustomize's way to ask for --enable-managedby-label: it is "on".
const managedByVariable = "KUSTOMIZE_ENABLE_MANAGEDBY_LABEL"

const (
	rootOnly = "LoadRestrictionsRootOnly"
	anywhere = "LoadRestrictionsNone"
)

// targetFlags are those of `kustomize build`.
func (r *renderCall) targetFlags() []cli.Flag {
	t := &r.Target
	return []cli.Flag{
		&choiceFlag{
			StringFlag: &cli.StringFlag{Name: "load-restrictor", Value: rootOnly, Usage: "`WHICH` files may be read: " + rootOnly + ", those in or below the kustomization, or " + anywhere, Destination: &r.restrictor},
			values:     []string{rootOnly, anywhere},
		},
		&choiceFlag{
			StringFlag: &cli.StringFlag{Name: "reorder", Usage: "`ORDER` of the resources: legacy or none (default: legacy, unless sortOptions says otherwise)", Destination: &r.reorder},
			values:     []string{string(pipeline.ReorderLegacy), string(pipeline.ReorderNone)},
		},
		&cli.BoolFlag{Name: "enable-managedby-label", Usage: "label resources with app.kubernetes.io/managed-by", Destination: &t.ManagedBy},
		&cli.BoolFlag{Name: "enable-helm", Usage: "let kustomize run helm, unconfined", Destination: &t.Helm.Enabled},
		&cli.StringFlag{Name: "helm-command", Value: "helm", Usage: "the helm `PROGRAM`", Destination: &t.Helm.Command},
		&cli.StringSliceFlag{Name: "helm-api-versions", Usage: "a Kubernetes API `VERSION` for helm's Capabilities (repeatable)", Destination: &r.apis},
		&cli.StringFlag{Name: "helm-kube-version", Usage: "the Kubernetes `VERSION` for helm's Capabilities", Destination: &t.Helm.KubeVersion},
		&cli.BoolFlag{Name: "helm-debug", Usage: "let helm print more", Destination: &t.Helm.Debug},
		&cli.StringFlag{Name: "network-name", Usage: "accepted because kustomize has it, and ignored, as kustomize ignores it: the `NAME` of a network; --network allows the network"},
		&cli.BoolFlag{Name: "stack-trace", Usage: "accepted because kustomize has it, and ignored: errors name the file and the line"},
	}
}

// functionFlags say what functions are trusted and how far they reach.
func (r *renderCall) functionFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "trusted-catalog", Usage: "trust the catalog at `REF`, written as the target declares it or in another way for the same place; REF@sha256:… pins it (repeatable)", Destination: &r.trusted},
		&cli.BoolFlag{Name: "enable-alpha-plugins", Usage: "allow runtimes that a function's config names itself", Destination: &r.EnableAlphaPlugins},
		&cli.BoolFlag{Name: "enable-exec", Usage: "allow programs of this machine that a function's config names itself, beside --enable-alpha-plugins", Destination: &r.EnableExec},
		&cli.BoolFlag{Name: "network", Usage: "allow the network to functions that ask for it", Destination: &r.Allow.Network},
		&cli.StringSliceFlag{Name: "mount", Usage: "allow storage to functions that ask for it, a `MOUNT` like type=bind,src=DIR,dst=/DIR[,rw=true]; src is relative to the target (repeatable)", Destination: &r.mounts},
		&cli.StringSliceFlag{Name: "env", Aliases: []string{"e"}, Usage: "hand `KEY[=VALUE]` to every function; without a value the one of this environment (repeatable)", Destination: &r.env},
		&cli.BoolFlag{Name: "as-current-user", Usage: "run container functions as the current user, and programs of this machine as root where krmcat is run by root (default: as nobody)", Destination: &r.Allow.AsCurrentUser},
		&choiceFlag{StringFlag: &cli.StringFlag{Name: failOnName, Usage: "fail the render where a function reports a result of this `SEVERITY` or a worse one: " + orList(fnexec.FailOns()) + ", which counts none (default: what the config says, else error for validators, and never for others). A function that exits with another code than 0 always fails it", Destination: &r.failOn}, values: fnexec.FailOns()},
		&cli.DurationFlag{Name: "timeout", Value: defaultTimeout, Usage: "the longest `TIME` that one call of a function may take", Destination: &r.Allow.Limits.Timeout},
	}
}

func (r *renderCall) outputFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: outputName, Aliases: []string{"o"}, Usage: "write to this `PATH` (default: -, which is stdout); an existing directory gets a file for each resource", Destination: &r.output.place},
		&choiceFlag{
			StringFlag: &cli.StringFlag{Name: formatName, Usage: "`FORM` of the resources: " + ui.Resources().String() + " (default: yaml); of the plan: table, or one of these (default: table)", Destination: &r.output.format},
			values:     ui.Data(), check: ui.Data().Check,
		},
		&cli.BoolFlag{Name: "plan", Usage: "find, verify and permit, show what would run, and run nothing", Destination: &r.plan},
		&cli.StringFlag{Name: resultsName, Usage: "write what functions reported to results.yaml and results-N.yaml in this `DIR`, on failure too", Destination: &r.results},
	}
}

// failOnName is the flag that says which results fail a render.
const failOnName = "fail-on"

// renderOptions fills in what does not bind by itself.
func (e *env) renderOptions(c *cli.Context, r *renderCall) error {
	if c.NArg() > 1 {
		return usage(c, "%s takes one directory, not %d arguments", c.Command.HelpName, c.NArg())
	}
	r.Dir = "."
	if c.NArg() == 1 {
		r.Dir = c.Args().First()
	}
	r.Target.LoadAnywhere = r.restrictor == anywhere
	r.Target.Reorder = pipeline.Reorder(r.reorder)
	if r.Allow.Limits.Timeout <= 0 {
		return usage(c, "--timeout must be more than nothing, not %s", r.Allow.Limits.Timeout)
	}
	for _, text := range r.mounts.Value() {
		m, err := parseMount(text)
		if err != nil {
			return usage(c, "--mount %s: %v", text, err)
		}
		r.Allow.Mounts = append(r.Allow.Mounts, m)
	}
	if err := trustedPlaces(c, r.trusted.Value()); err != nil {
		return err
	}
	r.Target.ManagedBy = r.Target.ManagedBy || e.getenv(managedByVariable) == "on"
	r.Target.Executable = e.Executable
	r.Target.Helm.APIVersions = r.apis.Value()
	r.Target.Helm.Path, r.Target.Helm.Missing = e.helmPath(r.Target.Helm.Command)
	r.Trusted, r.WorkDir, r.Official = r.trusted.Value(), e.Dir, e.Official
	u, policy, err := e.trust(c, &r.trust)
	if err != nil {
		return err
	}
	r.ConfigTrusted, r.Policy = u.catalogs, policy
	r.FailOn = fnexec.FailOn(first(r.failOn, u.failOn)) // the flag wins over the user's config
	r.Allow.Env, r.Allow.Host = r.env.Value(), e.Environ
	return e.confinement(c, r, u)
}

// helmPath is where helm is. Whoever needs it says that it is not there.
func (e *env) helmPath(command string) (string, error) {
	if strings.ContainsRune(filepath.ToSlash(command), '/') {
		command = e.abs(command)
	}
	return sandbox.FindProgram(command, e.Environ)
}

// parseMount reads a mount as docker and kustomize write it.
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
			return m, fmt.Errorf("%q is none of type, src, dst and rw", key)
		}
	}
	if m.Type == "" {
		m.Type = "bind"
	}
	return m, m.Check()
}
