package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/internal/cli/ui"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
)

// The sizes of files that push reads, in bytes. Package registry has limits too.
const (
	maxText    = 64 << 20
	maxProgram = 512 << 20
)

// pushCall has the values of the flags of push.
type pushCall struct {
	registry    registry.Options
	tags        cli.StringSlice
	annotations cli.StringSlice
	platforms   cli.StringSlice
	pin         bool
	output      outputCall
	sign        bool
	signing     signCall
}

func (e *env) pushCommand() *cli.Command {
	p := &pushCall{signing: signCall{pushing: true}}
	return &cli.Command{
		Name: "push", Args: true, ArgsUsage: "REF [FILE...]",
		Usage: "publish a catalog, a function definition, a Starlark script or a program",
		Description: `REF is oci://HOST/REPOSITORY:TAG, or oci-layout://DIR:TAG for a directory on disk. FILE decides what is
published: YAML with a Catalog or a KRMFunctionDefinition ("-" reads it from stdin), or .star files
(the first is the entry point, which reaches the others with load("name.star")). Programs are given
with --platform. The same files always have the same digest, which is printed.`,
		Flags: slices.Concat(grouped(groupInput,
			&cli.StringSliceFlag{Name: "platform", Usage: "a program and its platform, `OS/ARCH=FILE`", Destination: &p.platforms},
			&cli.BoolFlag{Name: "pin", Usage: "write the digest of every program into the pushed catalog; push programs and scripts of this machine beside it", Destination: &p.pin},
			&cli.StringSliceFlag{Name: "tag", Aliases: []string{"t"}, Usage: "another `TAG` for it", Destination: &p.tags},
			&cli.StringSliceFlag{Name: "annotation", Aliases: []string{"a"}, Usage: "annotation of the artifact, `KEY=VALUE`", Destination: &p.annotations},
		), p.output.flags(ui.Data()), grouped(groupSigning,
			&cli.BoolFlag{Name: "sign", Usage: "sign what was pushed, as krmcat sign does; --" + keyName + " implies it", Destination: &p.sign},
		), p.signing.keyFlags(), grouped(groupSigning,
			&cli.StringSliceFlag{Name: "sign-annotation", Usage: "sign this annotation too, `KEY=VALUE`", Destination: &p.signing.annotations},
		), connectionFlags(&p.registry)),
		Action: func(c *cli.Context) error { return e.push(c, p) },
	}
}

// pushed is the result of a push.
type pushed struct {
	Ref    string      `json:"ref"` // with its digest
	Digest string      `json:"digest"`
	Kind   string      `json:"kind"`
	Tags   []string    `json:"tags,omitempty"`
	Signed []signedRow `json:"signed,omitempty"`
	Notes  []string    `json:"notes,omitempty"`
	Beside []besideRow `json:"beside,omitempty"` // what --pin published beside it
}

func (e *env) push(c *cli.Context, p *pushCall) error {
	if c.NArg() == 0 {
		return usage(c, "%s needs a reference and files", c.Command.HelpName)
	}
	to, err := pushPlace(c, p)
	if err != nil {
		return err
	}
	client, err := e.client(p.registry)
	if err != nil {
		return err
	}
	bundle, along, err := e.bundle(c, p, destination{to, client})
	if err != nil {
		return err
	}
	var who signing
	if c.IsSet("sign") && !p.sign && p.signing.key != "" {
		return usage(c, "--sign=false and --%s contradict each other", keyName)
	}
	if p.sign || p.signing.key != "" { // a wrong password is reported before the push
		if who, err = e.signer(c, &p.signing, p.registry); err != nil {
			return err
		}
	} else if flag := p.signing.stray(); flag != "" {
		return usage(c, "--%s is for signing: add --sign or --%s FILE", flag, keyName)
	}
	a, rows, err := e.publish(c, p, destination{to, client}, bundle, along)
	if err != nil {
		return err
	}
	e.sayFiles(a)
	var signed signedView
	if who.signer != nil {
		signed, err = signArtifact(c.Context, client, who, a)
		if err != nil {
			return fmt.Errorf("%s was pushed and is not signed: %w", a.Pinned(), err)
		}
	}
	return e.showPushed(c, p, a, signed, rows)
}

// publish pushes what the catalog names, and then the artifact. Errors that need no registry are
// reported before anything is pushed.
func (e *env) publish(c *cli.Context, p *pushCall, d destination, b registry.Bundle, along *beside) (registry.Artifact, []besideRow, error) {
	defer e.Leave.Hold()() // so that a layout stays complete, without temporary files
	a, err := d.client.Pack(d.to, b)
	var rows []besideRow
	if err == nil {
		rows, err = along.push(c.Context, e, d.client)
	}
	if err == nil {
		a, err = d.client.Push(c.Context, d.to, b, p.tags.Value()...)
	}
	var ref *reference.Error
	if errors.As(err, &ref) {
		return a, rows, usage(c, "%v", ref)
	}
	return a, rows, err
}

// destination is the target of a push.
type destination struct {
	to     reference.Locator
	client *registry.Client
}

// pushPlace parses the target of a push.
func pushPlace(c *cli.Context, p *pushCall) (reference.Locator, error) {
	text := c.Args().First()
	if registry.LikeRegistry(text) {
		return reference.Locator{}, usage(c, "reference %q: nothing can be pushed to a path: for a registry write oci://%s", text, text)
	}
	to, err := place(c, text)
	if err != nil {
		return to, err
	}
	if to.Scheme != reference.SchemeOCI && to.Scheme != reference.SchemeLayout {
		return to, usage(c, "reference %q: krmcat cannot push there: use oci:// or oci-layout://", to.Display())
	}
	if file := fileOnWay(to.Name); to.Scheme == reference.SchemeLayout && file != "" {
		return to, usage(c, "reference %q: %s is a file, and an OCI layout is a directory", to.Display(), file)
	}
	for _, t := range p.tags.Value() {
		// A layout allows any tag.
		if l, err := reference.Parse("oci-layout://dir:" + t); err != nil || l.Tag != t || l.Digest != "" {
			return to, usage(c, "--tag: %q is not a tag", t)
		}
	}
	return to, nil
}

func (e *env) showPushed(c *cli.Context, p *pushCall, a registry.Artifact, signed signedView, rows []besideRow) error {
	out := pushed{
		a.Pinned().String(), a.Root.Digest.String(), string(a.Role), unique(append([]string{a.From.Tag}, p.tags.Value()...)),
		signed.Signed, signed.Notes, rows,
	}
	if len(out.Tags) == 0 {
		e.warn(untagged(a.From))
	}
	if p.output.format == "table" { // the only line, for scripts
		e.tellSigned(signed)
		return e.put(p.output.place, []byte(out.Ref+"\n"))
	}
	return e.show(c, &p.output, out)
}

// untagged is the warning about an artifact that was pushed without a tag.
func untagged(to reference.Locator) string {
	if to.Scheme == reference.SchemeLayout {
		return "no tag is given: once the layout has another artifact, this one can be found by its digest only"
	}
	return "no tag is given: the artifact can be found by its digest only"
}

// bundle reads the files, and returns the artifact and what is pushed beside it.
func (e *env) bundle(c *cli.Context, p *pushCall, d destination) (registry.Bundle, *beside, error) {
	var b registry.Bundle
	var along *beside
	var err error
	if b.Annotations, err = annotations(c, "annotation", p.annotations.Value()); err != nil {
		return b, nil, err
	}
	files, programs := c.Args().Tail(), p.platforms.Value()
	scripts := 0
	for _, f := range files {
		if filepath.Ext(f) == ".star" {
			scripts++
		}
	}
	switch {
	case len(files) == 0 && len(programs) == 0:
		return b, nil, usage(c, "%s needs files to push", c.Command.HelpName)
	case len(files) > 0 && len(programs) > 0:
		return b, nil, usage(c, "%s cannot be pushed with programs: give each program with --platform OS/ARCH=FILE, and nothing else", files[0])
	case p.pin && (len(programs) > 0 || scripts > 0):
		return b, nil, usage(c, "--pin is for catalogs")
	case len(programs) > 0:
		b.Role = mediatypes.RoleExec
		b.Files, err = e.programs(c, programs)
	case scripts == len(files):
		b.Role = mediatypes.RoleStarlark
		if b.Files, err = e.scripts(files); err == nil {
			err = checkScripts(b.Files)
		}
	case scripts > 0:
		return b, nil, usage(c, "Starlark scripts and other files cannot be one artifact: push one of them; push CATALOG --pin also pushes the scripts that a catalog names")
	case len(files) > 1:
		return b, nil, usage(c, "a catalog or definition is one file, not %d", len(files))
	default:
		b.Role, b.Files, along, err = e.catalogFile(c, p, files[0], d)
	}
	return b, along, err
}

// mangled reports whether the value of a flag that may be repeated contains U+FFFD, and so may have
// been given without being UTF-8: the library of flags writes U+FFFD in place of such bytes.
func mangled(text string) bool { return strings.ContainsRune(text, utf8.RuneError) }

// annotations parses the values of a flag.
func annotations(c *cli.Context, flag string, list []string) (map[string]string, error) {
	out := map[string]string{}
	for _, text := range list {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return nil, usage(c, "--%s is KEY=VALUE, not %q", flag, text)
		}
		if mangled(text) {
			return nil, usage(c, "--%s %s is not valid UTF-8, or contains U+FFFD", flag, key)
		}
		if _, twice := out[key]; twice {
			return nil, usage(c, "--%s %s is given twice", flag, key)
		}
		out[key] = value
	}
	return out, nil
}

func (e *env) scripts(list []string) ([]registry.File, error) {
	var out []registry.File
	for _, path := range list {
		data, err := e.readFile(path, maxText)
		if err != nil {
			return nil, err
		}
		out = append(out, registry.File{Title: filepath.Base(path), Data: data})
	}
	return out, nil
}

// catalogFile reads a catalog or definition, pins it if --pin is set, and reports what lint finds.
// A malformed one is not pushed, nor one that no render could use.
func (e *env) catalogFile(c *cli.Context, p *pushCall, path string, d destination) (mediatypes.Role, []registry.File, *beside, error) {
	if path != "-" && !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
		return "", nil, nil, usage(c, "%s is neither YAML nor a .star file; give a program with --platform OS/ARCH=%s", path, path)
	}
	data, err := e.readFile(path, maxText)
	if err != nil {
		return "", nil, nil, err
	}
	cat, err := catalog.Decode(path, data)
	if err != nil {
		return "", nil, nil, err
	}
	check := &checker{file: path, dir: e.dirOf(path), to: d.to, runtimes: e.runtimes()}
	if p.pin {
		check.beside = e.newBeside(check.dir, d)
	}
	if err := check.check(cat); err != nil {
		return "", nil, nil, err
	}
	name := path
	if p.pin {
		if data, err = e.pin(c.Context, path, data, d.client, check.beside); err != nil {
			return "", nil, nil, err
		}
		name += " (pinned)"
	}
	if n := len(catalog.Lint(name, data)); n > 0 {
		e.warn(fmt.Sprintf("%s: %s, krmcat lint %s lists them", name, plural(n, "finding"), path))
	}
	role, title := mediatypes.RoleCatalog, filepath.Base(path)
	if cat.Kind == catalog.KindDefinition {
		role = mediatypes.RoleDefinition
	}
	if path == "-" {
		title = string(role) + ".yaml"
	}
	return role, []registry.File{{Title: title, Data: data}}, check.beside, nil
}

// dirOf returns the directory that paths in a catalog are relative to.
func (e *env) dirOf(path string) string {
	if path == "-" {
		return e.Dir
	}
	return filepath.Dir(e.abs(path))
}

// pin writes digests into a catalog, and for local files the references under which they are
// published.
func (e *env) pin(ctx context.Context, path string, data []byte, client *registry.Client, along *beside) ([]byte, error) {
	site := fnexec.Site{Dir: e.dirOf(path)}
	out, err := catalog.Rewrite(data, func(rt *catalog.Runtime, at catalog.FunctionID) error {
		for _, known := range e.runtimes() {
			if pinner, ok := known.(fnexec.Pinner); ok && known.Kind() == rt.Kind {
				resolve, err := along.resolver(known, *rt, at, client.Resolve)
				if err != nil {
					return err
				}
				return pinner.Pin(ctx, rt.Spec, site, resolve)
			}
		}
		return errors.New("krmcat does not know how to pin this runtime")
	})
	var at *catalog.SyntaxError
	if errors.As(err, &at) {
		at.File = path
	}
	return out, err
}
