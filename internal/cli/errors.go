package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/container"
	"github.com/krmcat/krmcat/internal/cachedir"
	"github.com/krmcat/krmcat/internal/cli/ui"
	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/internal/scratch"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/pipeline"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/render"
	"github.com/krmcat/krmcat/sandbox"
	"github.com/krmcat/krmcat/verify"
	"github.com/krmcat/krmcat/verify/cosign"
)

// The exit codes: docs of the design, and the help.
const (
	codeDone        = 0
	codeUnexpected  = 1
	codeUsage       = 2
	codeFunction    = 3
	codeUntrusted   = 4
	codeDenied      = 5
	codeNotFound    = 6
	codeUnreachable = 7
	codeInterrupted = CodeInterrupted
)

// CodeInterrupted is the exit code where a signal ended a command.
const CodeInterrupted = 130

// rule says what a type of error means to the user.
type rule struct {
	code  int
	match func(error) bool
	hint  func(error) string // one command or flag, "" for none
}

// rules is the table: error → exit code → hint. Its order is that of precedence: where an
// error is several things, and where several errors are reported, the first rule wins.
func rules() []rule {
	return []rule{
		{codeUsage, is[*usageError], hint(func(e *usageError) string { return e.command + " --help" })},
		{codeUsage, is[*ui.FormatError], nil},
		{codeUsage, otherKey, nil},
		{codeUsage, is[*placeError], hint(func(e *placeError) string { return e.variable + "=DIR, an absolute path" })},
		{codeUsage, is[*cachedir.NotCacheError], nil},
		{codeUsage, is[*container.NotComparedError], hint(notComparedHint)},
		{codeDenied, is[*sandbox.DeniedError], hint(deniedHint)},
		{codeUnreachable, func(err error) bool { return hint(engineHint)(err) != "" }, hint(engineHint)},
		{codeNotFound, is[*container.NoEngineError], hint(noEngineHint)},
		{codeDenied, is[*sandbox.UnconfinedError], hint(unconfinedHint)},
		{codeDenied, is[*sandbox.MountError], nil},
		{codeDenied, func(err error) bool { return is[*ownfile.InTheWayError](err) || is[*ownfile.BeyondError](err) }, nil},
		{codeDenied, is[*registry.BlobError], hint(func(e *registry.BlobError) string { return e.Of.String() })},
		{codeDenied, is[*hidesError], hint(func(*hidesError) string { return "--" + signatureFormatName + " bundle" })},
		{codeDenied, func(err error) bool { return hint((*pipeline.SyntaxError).Flag)(err) != "" }, hint((*pipeline.SyntaxError).Flag)},
		{codeDenied, is[*pipeline.RestrictedError], hint((*pipeline.RestrictedError).Flag)},
		{codeDenied, marked(failure.NotPermitted), nil},
		{codeUntrusted, is[*verify.UntrustedError], hint(untrustedHint)},
		{codeUntrusted, is[*standingError], hint(func(e *standingError) string { return e.try })},
		{codeUntrusted, hostile, hint(roleHint)},
		{codeUntrusted, exchanged, hint(func(*scratch.Error) string { return tempVariable() + "=DIR, a directory of your own" })},
		{codeUntrusted, marked(failure.Untrusted), nil},
		{codeUntrusted, is[*cachedir.ForeignError], hint(func(*cachedir.ForeignError) string { return cacheHint })},
		{codeNotFound, is[*container.NoCacheError], hint(func(*container.NoCacheError) string { return cacheHint })},
		{codeUntrusted, func(err error) bool { return is[*container.ImageError](err) || is[*container.ImageLimitError](err) }, nil},
		{codeUntrusted, engineKind(container.Refused), nil},
		{codeUntrusted, is[*container.ChangedError], hint(func(*container.ChangedError) string { return notHereHint(nil) })},
		{codeNotFound, is[*registry.NotFoundError], nil},
		{codeNotFound, is[*catalog.NotFoundError], nil},
		{codeNotFound, is[*registry.PlatformError], hint(platformHint)},
		{codeNotFound, is[*sandbox.NotFoundError], nil},
		{codeNotFound, is[*fnexec.ProgramError], nil},
		{codeNotFound, is[*container.UnfitError], nil},
		{codeNotFound, is[*container.NotHereError], hint(notHereHint)},
		{codeNotFound, engineKind(container.NoImage, container.NoUser, container.NoProgram, container.Unfit), nil},
		{codeNotFound, engineKind(container.NoInit), hint(noInitHint)},
		{codeNotFound, engineKind(container.NoIDs), hint(func(*container.EngineError) string { return "--user 0, or --" + runtimeName + " native" })},
		{codeNotFound, is[*sandbox.UserError], nil},
		{codeNotFound, is[*scratch.Error], hint(func(*scratch.Error) string { return tempVariable() + "=DIR, a directory that can be written to" })},
		{codeNotFound, is[*sandbox.OtherUserError], nil},
		{codeNotFound, is[*notListedError], hint(func(*notListedError) string { return "krmcat config view" })},
		{codeNotFound, is[*noSchemeError], hint(func(e *noSchemeError) string { return e.flag + e.scheme + "://" + e.ref })},
		{codeNotFound, is[*ownfile.KindError], nil},
		{codeNotFound, func(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOEXEC) }, nil}, // or nothing that starts
		{codeUnreachable, is[*registry.UnreachableError], hint(unreachableHint)},
		{codeUnreachable, func(err error) bool { return is[*cosign.RefusedError](err) || is[*registry.LocalError](err) }, nil},
		{codeUnreachable, engineKind(container.NoTLS), hint(noTLSHint)},
		{codeUnreachable, is[*container.EngineError], nil},
		{codeUnreachable, is[*registry.ConflictError], hint(func(*registry.ConflictError) string { return "the same again, when nobody else signs it" })},
		{codeUnreachable, is[*uncheckedError], nil},
		{codeFunction, is[*fnexec.TimeoutError], hint(timeoutHint)},
		{codeFunction, is[*fnexec.ItemLimitError], hint(itemsHint)},
		{codeFunction, is[*fnexec.FunctionError], hint(functionHint)},
		{codeFunction, is[*pipeline.OutputError], nil},
		{codeUsage, mistaken, hint(keyTypeHint)},
		{codeUnexpected, func(error) bool { return true }, nil},
	}
}

// cacheHint is what helps where images cannot be kept.
const cacheHint = "KRMCAT_CACHE_DIR=DIR, a directory of your own"

// exchanged matches what others have exchanged, and a place for temporary files where they could.
func exchanged(err error) bool {
	return is[*sandbox.ExchangedError](err) || is[*scratch.Error](err) && is[*ownfile.ForeignError](err)
}

// hostile matches what is served, or lies in a layout, and is refused as it is.
func hostile(err error) bool {
	return is[*registry.DigestError](err) || is[*registry.TooLargeError](err) || is[*registry.TooManyError](err) ||
		is[*registry.ManifestError](err) || is[*registry.RoleError](err) || is[*registry.TitleError](err)
}

func is[T error](err error) bool {
	var t T
	return errors.As(err, &t)
}

// marked matches errors that are, or carry, a sentinel.
func marked(as error) func(error) bool {
	return func(err error) bool { return errors.Is(err, as) }
}

// engineKind matches an engine that failed for one of these.
func engineKind(kinds ...container.FailureKind) func(error) bool {
	return func(err error) bool {
		var failed *container.EngineError
		return errors.As(err, &failed) && slices.Contains(kinds, failed.Kind)
	}
}

func hint[T error](f func(T) string) func(error) string {
	return func(err error) string {
		var t T
		if !errors.As(err, &t) {
			return ""
		}
		return f(t)
	}
}

func deniedHint(e *sandbox.DeniedError) string {
	var flags []string
	for _, r := range e.Refusals {
		if r.Flag == "" {
			return "" // no flag helps
		}
		if !slices.Contains(flags, r.Flag) { // what two mounts need
			flags = append(flags, r.Flag)
		}
	}
	return strings.Join(flags, " ")
}

func untrustedHint(e *verify.UntrustedError) string {
	if e.Flag == "" && e.Write != "" {
		return "writing " + e.Write
	}
	return e.Flag
}

func unreachableHint(e *registry.UnreachableError) string {
	l, err := reference.Parse(e.Ref)
	if err != nil || l.Scheme != reference.SchemeOCI {
		return ""
	}
	host, _, _ := strings.Cut(l.Name, "/")
	switch {
	case e.Status == 401 || e.Status == 403:
		return "krmcat login " + host
	case e.Status == 400 && l.Internal():
		// A registry on loopback is spoken to without TLS, which one with TLS answers so.
		return "--ca-file FILE or --insecure"
	}
	return ""
}

// roleHint is for an artifact that was pushed without the type that says what it is.
func roleHint(e *registry.RoleError) string {
	if e.Got != mediatypes.RoleUnknown || e.Want.Artifact() == "" {
		return ""
	}
	file := "FILE"
	if e.Want == mediatypes.RoleExec {
		file = "--platform OS/ARCH=FILE"
	}
	return "krmcat push REF " + file + ", or oras push --artifact-type " + e.Want.Artifact()
}

// platformHint is for an index that was made of programs without their platforms.
func platformHint(e *registry.PlatformError) string {
	if e.Silent == 0 || len(e.Have) > 0 {
		return ""
	}
	return "krmcat push --platform OS/ARCH=FILE, once for each program, or oras push --artifact-platform OS/ARCH before oras manifest index create"
}

// engineHint is for the engine that was asked for and does not answer, "" for none such.
func engineHint(e *container.NoEngineError) string {
	if !e.Unreachable() {
		return ""
	}
	return e.Runtime + " version, until it answers, or --" + runtimeName + " " + container.Auto
}

func notHereHint(*container.NotHereError) string {
	return "--" + pullName + " " + string(container.PullIfNotPresent)
}

// notComparedHint is for who wants layers compared and none fetched.
func notComparedHint(*container.NotComparedError) string {
	return fmt.Sprintf("--%s %s, or --%s=false", pullName, container.PullIfNotPresent, verifyCacheName)
}

func noTLSHint(e *container.EngineError) string {
	if e.Engine == container.Podman {
		return "insecure = true for the registry in /etc/containers/registries.conf, or --" + runtimeName + " native"
	}
	return "the registry among insecure-registries in /etc/docker/daemon.json, or --" + runtimeName + " native"
}

// triedLatest says what was looked for where a reference has neither tag nor digest.
func triedLatest(e *registry.NotFoundError) string {
	l, err := reference.Parse(e.Ref)
	if err != nil || l.Scheme != reference.SchemeOCI || l.Tag != "" || l.Digest != "" || e.Digest != "" || e.Reason != "" {
		return ""
	}
	return ": it names no tag, so latest was tried"
}

func timeoutHint(e *fnexec.TimeoutError) string {
	return "--timeout " + max(2*e.After, time.Second).String()
}

// itemsHint is the number that would have done so far.
func itemsHint(e *fnexec.ItemLimitError) string { return fmt.Sprintf("--%s %d", itemsName, e.Got) }

const verboseHint = "-v, which shows more of what it wrote to stderr"

// functionHint is for a function that wrote more than its error shows.
func functionHint(e *fnexec.FunctionError) string {
	if e.Full() == "" {
		return ""
	}
	return verboseHint
}

// problem is one error as it is shown.
type problem struct {
	what, where, try string
	full             string // what, where there is more to say of it
	rank             int    // of its rule
}

// report prints an error and gives the exit code.
func (e *env) report(ctx context.Context, err error) int {
	e.shown.Done()
	if errors.Is(context.Cause(ctx), ErrInterrupted) {
		_, _ = fmt.Fprintln(e.errs, "Error: interrupted")
		return codeInterrupted
	}
	table := rules()
	best := len(table) - 1
	said := map[problem]bool{} // of what is named several times, the same is wrong each time
	found := slices.DeleteFunc(problems(err), func(p problem) bool {
		again := said[p]
		said[p] = true
		return again
	})
	for i, p := range found {
		best = min(best, p.rank)
		if p.full != "" && e.verbose {
			p.what, p.try = p.full, strings.TrimPrefix(p.try, verboseHint)
		}
		_, _ = fmt.Fprintln(e.errs, "Error: "+ui.Held(p.what))
		if p.where != "" {
			_, _ = fmt.Fprintln(e.errs, "Where: "+ui.Held(p.where))
		}
		// What helps against the next one too is said once.
		if p.try != "" && (i+1 == len(found) || found[i+1].try != p.try) {
			_, _ = fmt.Fprintln(e.errs, "Try: "+ui.Held(p.try))
		}
	}
	return table[best].code
}

// problems takes joined errors apart.
func problems(err error) []problem {
	if list := joined(err); list != nil {
		var out []problem
		for _, one := range list {
			out = append(out, problems(one)...)
		}
		return out
	}
	var step *render.StepError
	if errors.As(err, &step) && err == error(step) { //nolint:errorlint // only the outermost
		out := problems(step.Err)
		for i := range out {
			out[i].where = strings.TrimSuffix(step.Where+": "+step.Name, ": ") + comma(out[i].where)
		}
		return out
	}
	return []problem{single(err)}
}

func comma(s string) string {
	if s == "" {
		return ""
	}
	return ", " + s
}

// joined is the parts of an error made by errors.Join, nil for any other: an error that
// merely has several causes has words of its own.
func joined(err error) []error {
	multi, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	var texts []string
	for _, one := range multi.Unwrap() {
		texts = append(texts, one.Error())
	}
	if err.Error() != strings.Join(texts, "\n") {
		return nil
	}
	return multi.Unwrap()
}

// single shows an error that is one.
func single(err error) problem {
	p := problem{what: err.Error()}
	var syntax *pipeline.SyntaxError
	var step *pipeline.OutputError
	var failed *fnexec.FunctionError
	var cat *catalog.SyntaxError
	var build *pipeline.BuildError
	var missing *registry.NotFoundError
	var policy *verify.PolicyError
	var conf *configError
	switch {
	case errors.As(err, &policy) && err == error(policy): //nolint:errorlint // only the outermost
		p.what, p.where = policy.Msg, policy.File
		if policy.Line > 0 {
			p.where = fmt.Sprintf("%s:%d", policy.File, policy.Line)
		}
	case errors.As(err, &conf) && err == error(conf): //nolint:errorlint // only the outermost
		p.what, p.where = conf.msg, conf.path
		if conf.line > 0 {
			p.where = fmt.Sprintf("%s:%d", conf.path, conf.line)
		}
	case errors.As(err, &missing) && err == error(missing): //nolint:errorlint // only the outermost
		p.what += triedLatest(missing)
	case errors.As(err, &syntax) && err == error(syntax): //nolint:errorlint // only the outermost
		p.where = syntax.Where
		p.what = strings.TrimPrefix(p.what, syntax.Where+": ")
	case errors.As(err, &step) && err == error(step): //nolint:errorlint // only the outermost
		p.what = "the function gave back what cannot be used: " + step.Msg
		p.where = step.Step.Where + ": " + step.Step.ID.Kind + " " + step.Step.Name
	case errors.As(err, &failed) && err == error(failed): //nolint:errorlint // only the outermost
		p.full = failed.Full()
	case errors.As(err, &build) && err == error(build) && !strings.Contains(p.what, build.Where): //nolint:errorlint // only the outermost
		p.where = build.Where
	case errors.As(err, &cat) && err == error(cat) && cat.File != "": //nolint:errorlint // only the outermost
		p.what, p.where = cat.Text(), cat.File
		if cat.Line > 0 {
			p.where = fmt.Sprintf("%s:%d", cat.File, cat.Line)
		}
	}
	for i, r := range rules() {
		if r.match(err) {
			p.rank = i
			if r.hint != nil {
				p.try = r.hint(err)
			}
			return p
		}
	}
	return p
}
